"""Tables in files: every kind, compressed or not, damaged, and those that are refused."""

import bz2
import gzip
import io
import lzma
import pickle
import sys
import zipfile
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

from compsil_kit import prepare
from compsil_kit._data.files.readers import KINDS, kind_of, make_given, read_table


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame({"a": rng.normal(size=50), "b": rng.integers(9, size=50), "city": ["Rome", "Oslo"] * 25})


def as_bytes(frame, kind):
    buffer = io.BytesIO()
    if kind in (".parquet", ".pq"):
        frame.to_parquet(buffer)
    elif kind == ".feather":
        frame.to_feather(buffer)
    elif kind in (".jsonl", ".ndjson"):
        frame.to_json(buffer, orient="records", lines=True, double_precision=15)
    else:
        frame.to_csv(buffer, index=False, sep="\t" if kind == ".tsv" else ",")
    return buffer.getvalue()


def zipped(content):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("inside.csv", content)
    return buffer.getvalue()


COMPRESS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zip": zipped}


def put(folder, name, content):
    (folder / name).write_bytes(content)
    return str(folder / name)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind(frame, tmp_path, kind):
    found = read_table(put(tmp_path, f"data{kind}", as_bytes(frame, kind)))
    pd.testing.assert_frame_equal(found, frame, check_dtype=False)
    assert [dtype.kind for dtype in found.dtypes[:2]] == ["f", "i"]


@pytest.mark.parametrize("kind", [".csv", ".tsv", ".jsonl"])
@pytest.mark.parametrize("compression", COMPRESS)
def test_compressed(frame, tmp_path, kind, compression):
    content = COMPRESS[compression](as_bytes(frame, kind))
    found = read_table(put(tmp_path, f"data{kind}{compression}", content))
    pd.testing.assert_frame_equal(found, frame, check_dtype=False)


@pytest.mark.parametrize("name", ["DATA.CSV", "data.2026.csv", "Data.Csv.GZ", "my data.tsv", "a.parquet.csv"])
def test_names(frame, tmp_path, name):
    content = as_bytes(frame, ".tsv" if name.endswith("tsv") else ".csv")
    content = gzip.compress(content) if name.endswith("GZ") else content
    assert read_table(put(tmp_path, name, content)).shape == (50, 3)


def test_standard_input(frame, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO(frame.to_csv(index=False)))
    pd.testing.assert_frame_equal(read_table("-"), frame, check_dtype=False)
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    with pytest.raises(ValueError, match="standard input: not a readable table"):
        read_table("-")


def test_standard_input_is_read_as_bytes(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("größe,b\n1.5,2\n".encode("utf-16")), "utf-8"))
    assert read_table("-").columns.tolist() == ["größe", "b"]


@pytest.mark.parametrize(("sep", "expected"), [("tab", "\t"), ("\\t", "\t"), ("space", " "), ("|", "|"), (None, None)])
def test_separators_and_their_names(sep, expected):
    assert make_given(sep=sep).sep == expected


@pytest.mark.parametrize(
    "wrong", [*({"sep": sep} for sep in ("", "a", "7", '"', "\r", "\n", ".", "+", "-", "::")), {"thousands": ";"}]
)
def test_marks_that_cannot_be_any(wrong):
    with pytest.raises(ValueError, match=f"^--{next(iter(wrong))} must be one"):
        make_given(**wrong)


def test_a_column_whose_name_is_a_number_is_excluded_by_its_text(tmp_path):
    path = put(tmp_path, "data.parquet", as_bytes(pd.DataFrame({2020: [1.5, 2.5], 2021: [1, 2]}), ".parquet"))
    assert read_table(path, exclude=["2020"]).columns.tolist() == [2021]


@pytest.mark.parametrize("name", ["data.xlsx", "data", "data.gz", "data.csv.txt", "data.csv.tar", ".csv", "data.npy"])
def test_unknown_endings_are_refused_with_those_that_are_known(tmp_path, name):
    with pytest.raises(ValueError, match=r"unknown file format; the name must end in \.csv, \.tsv, \.parquet"):
        read_table(put(tmp_path, name, b"a,b\n1,2\n"))
    with pytest.raises(ValueError, match="unknown file format"):
        kind_of(tmp_path / name)


def test_missing_files_and_folders(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no such file: 'nowhere\.csv'"):
        read_table("nowhere.csv")
    (tmp_path / "parts.parquet").mkdir()
    with pytest.raises(IsADirectoryError, match="is a folder, not a file"):
        read_table(str(tmp_path / "parts.parquet"))


class Bomb:
    """A pickle that leaves a mark where it is loaded."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return (open, (str(self.mark), "w"))


@pytest.mark.parametrize("name", ["x.pkl", "x.pickle", *(f"x{kind}" for kind in KINDS), "x.csv.gz"])
def test_a_pickle_is_never_loaded(tmp_path, name):
    mark = tmp_path / "mark"
    content = pickle.dumps(Bomb(mark))
    path = put(tmp_path, name, gzip.compress(content) if name.endswith("gz") else content)
    with pytest.raises(ValueError, match=r"unknown file format|not a readable table"):
        read_table(path)
    assert not mark.exists()


SECRET = "secret4711"
LINES = f"name,value\n{SECRET},1\n" * 300


def corrupted(content):
    middle = len(content) // 2
    return content[:middle] + bytes(byte ^ 0xFF for byte in content[middle : middle + 40]) + content[middle + 40 :]


DAMAGED = {
    "empty.csv": b"",
    "empty.tsv": b"",
    "empty.parquet": b"",
    "empty.feather": b"",
    "empty.csv.gz": b"",
    "ragged.csv": f"a,b\n1,2\n{SECRET},2,3,4\n".encode(),
    "quote.csv": f'a,b\n"{SECRET},1\n'.encode(),
    "other-encoding.csv": LINES.encode("utf-16-le"),
    "cut.csv.gz": gzip.compress(LINES.encode())[:-20],
    "corrupt.csv.gz": corrupted(gzip.compress(LINES.encode())),
    "plain.csv.gz": LINES.encode(),
    "cut.csv.bz2": bz2.compress(LINES.encode())[:-20],
    "plain.csv.bz2": LINES.encode(),
    "cut.csv.xz": lzma.compress(LINES.encode())[:-20],
    "plain.csv.xz": LINES.encode(),
    "plain.csv.zip": LINES.encode(),
    "cut.csv.zip": zipped(LINES.encode())[:-30],
    "plain.parquet": LINES.encode(),
    "plain.feather": LINES.encode(),
    "hollow.parquet": b"PAR1" + b"\0" * 50 + b"PAR1",
    "cut.jsonl": f'{{"name": "{SECRET}"}}\n{{"name": "{SECRET}'.encode(),
    "words.jsonl": SECRET.encode(),
    "large.jsonl": b'{"a": 123456789012345678901234567890}\n',
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_file_is_named_but_not_quoted(tmp_path, name):
    path = put(tmp_path, name, DAMAGED[name])
    with pytest.raises(ValueError, match=r"not a readable table( \(\w+\)\.$|: )") as caught:
        read_table(path)
    assert str(caught.value).startswith(path)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("error", [KeyError, TypeError, OSError, NotImplementedError, UnicodeDecodeError])
def test_whatever_the_reader_makes_of_it(tmp_path, monkeypatch, error):
    """Footers damaged in the right place make pyarrow raise these; the text can quote the content."""
    arguments = ("utf-8", SECRET.encode(), 0, 1, SECRET) if error is UnicodeDecodeError else (SECRET,)

    def read(*_):
        raise error(*arguments)

    monkeypatch.setattr(pd, "read_parquet", read)
    with pytest.raises(ValueError, match=rf"not a readable table \({error.__name__}\)\.$"):
        read_table(put(tmp_path, "x.parquet", b"content"))


def raises_import_error(module):
    def read(*_, **__):
        raise ImportError(f"Missing optional dependency {module!r}.")

    return read


@pytest.mark.parametrize(
    ("name", "module", "package"),
    [
        ("x.parquet", "pyarrow", r"pyarrow.*'compsil-kit\[scale\]'"),
        ("x.csv.zst", "zstandard", "zstandard.*pip install zstandard"),
    ],
)
def test_a_package_that_is_not_there_is_named(tmp_path, monkeypatch, name, module, package):
    monkeypatch.setattr(pd, "read_parquet", raises_import_error(module))
    monkeypatch.setattr(pd, "read_csv", raises_import_error(module))
    with pytest.raises(ImportError, match=f"reading this file needs the package {package}"):
        read_table(put(tmp_path, name, b"content"))


def test_a_file_that_asks_for_too_much_memory_is_unreadable(tmp_path, monkeypatch):
    """As damaged Arrow files do."""

    def greedy(*_, **__):
        raise MemoryError

    monkeypatch.setattr(pd, "read_parquet", greedy)
    with pytest.raises(ValueError, match="not a readable table: it asks for more memory than there is"):
        read_table(put(tmp_path, "data.parquet", b""))


@pytest.mark.parametrize(("columns", "read"), [("price", True), (["price"], True), ("note", False), (["note"], False)])
@pytest.mark.parametrize("name", ["data.csv", "data.jsonl"])
def test_only_columns_that_are_used_are_made_numbers(tmp_path, columns, read, name):
    table = pd.DataFrame({"price": ["1,234.5", "2,345,678", "3"], "note": ["1", "2", "x"]})
    content = table.to_csv(index=False) if name == "data.csv" else table.to_json(orient="records", lines=True)
    path = put(tmp_path, name, content.encode())
    if read:
        assert read_table(path, columns=columns)["price"].tolist() == [1234.5, 2345678.0, 3.0]
    else:
        with pytest.raises(ValueError, match="column 'note' is numeric except in 1 of 3 cells"):
            read_table(path, columns=columns)
    with pytest.raises(ValueError, match="column 'note'"):
        read_table(path)
    assert read_table(path, exclude=["note"]).columns.tolist() == ["price"]
    with pytest.raises(ValueError, match="--exclude: 'prize' is not a column of the data, which has price, note"):
        read_table(path, exclude=["prize"])


@pytest.mark.parametrize("ending", [".parquet", ".feather"])
def test_decimals_and_booleans_with_holes_are_numbers(tmp_path, ending):
    """As they are where the same file is read in parts."""
    columns = {
        "price": pa.array([Decimal("1.25"), None], pa.decimal128(9, 2)), "paid": pa.array([True, None]),
        "word": pa.array(["a", None]), "x": pa.array([1.0, 2.0]),
    }  # fmt: skip
    path = tmp_path / f"a{ending}"
    (pq.write_table if ending == ".parquet" else feather.write_feather)(pa.table(columns), path)
    frame = read_table(str(path))
    assert [str(frame[name].dtype) for name in ("price", "paid", "x")] == ["float64", "boolean", "float64"]
    assert frame["price"].tolist()[0] == 1.25
    assert prepare(frame, missing="drop").preparation.columns == ("price", "paid", "x")
