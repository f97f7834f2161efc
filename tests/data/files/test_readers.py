"""Tests of reading tables from files in every format, encoding and compression, and from damaged files."""

import bz2
import codecs
import gzip
import io
import lzma
import pickle
import re
import sys
import zipfile
from datetime import date, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

from compsil_kit import prepare
from compsil_kit._data.files import FileFormatError, readers
from compsil_kit._data.files.detect import CsvOptions
from compsil_kit._data.files.readers import KINDS, SAMPLE_BYTES, ending_of, read_file, read_table

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(RNG.normal(3, 2, size=(60, 3)).round(2), columns=["a", "b", "c"])
GERMAN = FRAME.to_csv(index=False, sep=";", decimal=",")
PLAIN = FRAME.to_csv(index=False)
MIXED = FRAME.assign(count=RNG.integers(9, size=60), city=["Rome", "Oslo"] * 30)
SECRET = "secret4711"


@pytest.fixture
def put(tmp_path):
    def write(content, name="data.csv"):
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(tmp_path / name)

    return write


@pytest.fixture
def read(put):
    return lambda content, name="data.csv", **options: read_table(put(content, name), CsvOptions(**options))


@pytest.fixture
def error_message(put):
    def read_with_error(content, name="data.csv", columns=None, exclude=(), **options):
        path = put(content, name)
        with pytest.raises(ValueError, match=re.escape(path)) as caught:
            read_table(path, CsvOptions(**options), columns=columns, exclude=exclude)
        return str(caught.value).removeprefix(f"{path}: ")

    return read_with_error


def same(found, expected=FRAME):
    pd.testing.assert_frame_equal(found, expected, check_exact=True)


@pytest.mark.parametrize(
    "text",
    [
        PLAIN, GERMAN, FRAME.to_csv(index=False, sep="\t"), FRAME.to_csv(index=False, sep="|", decimal=","),
        FRAME.to_csv(index=False, decimal=","), FRAME.to_csv(index=False, quoting=1), GERMAN.replace("\n", "\r\n"),
        GERMAN.replace("\n", "\r"), "\n\n" + PLAIN, '# lab, 5" wide; new\n#\n' + PLAIN, "sep=;\n" + GERMAN,
        "# a,b,c\n" + PLAIN, PLAIN.replace("\n", ",\n"), PLAIN.replace("\n", ",\n").replace(",\n", "\n", 1),
        GERMAN.replace("\n", ";\n"), GERMAN.encode("utf-16"), GERMAN.encode("utf-8-sig"), PLAIN.encode("utf-32"),
    ],
)  # fmt: skip
def test_every_text_layout_gives_the_same_table(read, text):
    same(read(text))
    same(read(text, "data.tsv"))


def test_missing_and_unusual_headers_are_detected(read):
    body = FRAME.to_csv(index=False, header=False)
    numbered = FRAME.set_axis(["column 1", "column 2", "column 3"], axis=1)
    same(read(body), numbered)
    same(read(body.replace(",", ";").replace(".", ",")), numbered)
    same(read(f"#a,b,c\n{body}", header=False), numbered)
    same(read(f"# lab, 2020\n#a,b,c\n{body}"), FRAME.set_axis(["#a", "b", "c"], axis=1))
    assert read("2019,2020,2021\n5,6,7\n8,9,1\n", header=True).shape == (2, 3)
    assert read("2019,2020,2021\n5,6,7\n8,9,1\n", header=False).shape == (3, 3)
    named = "a,b,c\n" + FRAME.rename(index=lambda row: f"row {row}").to_csv(header=False)
    same(read(named), pd.read_csv(io.StringIO(named)))


def test_trailing_separators_are_not_a_column(read, error_message):
    assert list(read("a,b,notes\n" + "1.5,2,\n" * 5).columns) == ["a", "b", "notes"]
    assert read("a,b,\n").shape == (0, 3)
    assert read("a,b,notes\n" + "1.5,2,\n" * 500 + "1.5,2,7\n")["notes"].iloc[-1] == 7
    late = error_message("a,b\n" + "1.5,2,\n" * 150_000 + "1,2,3\n")
    assert late.startswith("not a readable table: line 150002 has a value after the trailing separator")


@pytest.mark.parametrize("n_rows", [3, 150_000])
@pytest.mark.parametrize("first", ["a,b,c", "1.5,2,3"])
def test_ragged_rows_raise_with_their_line_numbers(error_message, first, n_rows):
    good = f"{first}\n" + "1.5,2,3\n" * n_rows
    for line, fields in (("1,2,3,4", "4 fields"), ("1,2", "2 fields"), (SECRET, "1 field")):
        found = error_message(f"{good}\n{line}\n1.5,2,3\n")
        assert found.startswith(
            f"not a readable table: line {n_rows + 3} has {fields}, but line 1 has 3. Fix this line"
        )
    found = error_message(f'{good}1,"2,3\n1,2,3\n')
    assert found == f"not a readable table: line {n_rows + 2} opens a quote that is never closed. Fix this line."


def test_wide_rows_may_be_truncated_in_the_sample(read):
    assert read(("1.5," * 5000 + "2\n") * 60).shape == (60, 5001)


@pytest.mark.filterwarnings("ignore::pandas.errors.ParserWarning")
def test_columns_beyond_the_sample_are_not_lost(error_message, monkeypatch):
    monkeypatch.setattr(readers, "SAMPLE_BYTES", 64)
    assert "line 1 has 101 fields" in error_message(("1.5," * 100 + "2\n") * 3, header=False)


def test_quoted_separators_do_not_compensate_for_missing_separators(error_message):
    n_rows = SAMPLE_BYTES // 8 + 1
    assert f"line {n_rows + 3} has 1 " in error_message("name,x\n" + "plain,1\n" * n_rows + '"one, more",3\nshort\n')
    assert "line 200004 has 1 field" in error_message("# c\n\n1.5,x\n" + "2.5,y\n" * 200_000 + "3\n")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('name,x\n"in\nthree\nlines",1\n\n"quoted",2\nplain,3\nplain,unknown\nplain,5\n', 8),
        ('# from the lab\n#,"open\nname,x\n' + "plain,1\n" * 3 + "plain,unknown\n", 7),
        ("1.5,x\n2.5,y\nunknown,z\n", 3),
        ("x,y\n" + "1.5,2\n" * 200_000 + "unknown,2\n", 200_002),
    ],
)
def test_non_numeric_cells_raise_with_their_line_numbers(error_message, text, line):
    assert f"cells (line {line})." in error_message(text)


@pytest.mark.parametrize("name", ["data.csv", "data.jsonl"])
def test_only_the_columns_in_use_are_converted(put, error_message, name):
    table = pd.DataFrame({"price": ["1,234.5", "2,345,678", "3"], "rice": ["1", "2", "x"]})
    content = table.to_csv(index=False) if name == "data.csv" else table.to_json(orient="records", lines=True)
    for columns in ("price", ["price"]):
        assert read_table(put(content, name), columns=columns)["price"].tolist() == [1234.5, 2345678.0, 3.0]
    for columns in ("rice", ["rice"], None):
        line = 4 if name == "data.csv" else 3
        assert f"column 'rice' is numeric except in 1 of 3 cells (line {line})" in error_message(content, name, columns)
    assert read_table(put(content, name), exclude=["rice"]).columns.tolist() == ["price"]
    message = error_message(content, name, exclude=["prize"])
    assert message == "--exclude: 'prize' is not a column of the data. Available columns: price, rice."


@pytest.mark.parametrize(("decimal", "group"), [(".", ","), (",", "."), (",", " "), (".", "'"), (",", "\u00a0")])
@pytest.mark.parametrize("sep", [",", ";"])
def test_numbers_with_thousands_separators_are_converted(read, decimal, group, sep):
    frame = FRAME.assign(b=(FRAME["b"] * 1e5).round(2), c=[999, 1000, 1234567] * 20)
    frame["d"] = frame["b"].mask(frame.index % 7 == 5)
    marks = str.maketrans({",": group, ".": decimal})
    written = {name: [f"{value:,}".translate(marks) for value in frame[name]] for name in frame}
    same(read(pd.DataFrame(written).to_csv(index=False, sep=sep)), frame)


def test_ambiguous_marks_are_resolved_by_options(read, error_message):
    text = "a;b\n" + "1,234;5\n2,345;6\n" * 9
    assert error_message(text).startswith("column 'a' contains ambiguous numbers")
    assert read(text, thousands=",")["a"].iloc[0] == 1234
    assert read(text, decimal=",")["a"].iloc[0] == 1.234
    message = "--thousands '.' is also the detected decimal mark. Pass --decimal too."
    assert error_message(PLAIN, thousands=".") == message
    assert read("1,2\n3,4\n5,7\n", sep=";").shape == (3, 1)


def test_dates_addresses_and_codes_are_not_converted(read):
    days = [str(date(2020, 1, 1) + timedelta(day)) for day in range(60)]
    german = [f"{day[8:]}.{day[5:7]}.{day[:4]}" for day in days]
    frame = FRAME.assign(day=days, german=german, at=[f"{day} 10:00:00" for day in days], address="10.0.0.1", code="A1")
    for sep, decimal in ((",", "."), (";", ","), ("\t", ",")):
        same(read(frame.to_csv(index=False, sep=sep, decimal=decimal)), frame)


STRINGS = ["Rome", "Oslo, N", 'so "x"', "a;b|c", "Zürich", "two\nlines", "12 cm", "2020-01-01", "1.2.3", "x\ty"] * 6
NAMES = ["a b", "x;y", "größe", "1st, new", "p|q.r", "holes", "count", "word", "flag"]
ODD = FRAME.assign(d=1e-9, e=FRAME["a"] * 1e9 + 0.123, holes=FRAME["b"].mask(FRAME["b"] > 3), count=2**62)


@pytest.mark.parametrize("sep", [",", ";", "\t", "|"])
@pytest.mark.parametrize("decimal", [".", ","])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_files_written_by_pandas_are_read_back_unchanged(tmp_path, sep, decimal, encoding):
    path = tmp_path / "data.csv"
    frame = ODD.assign(word=STRINGS, flag=FRAME["a"] > 3).set_axis(NAMES, axis=1)
    frame.to_csv(path, index=False, sep=sep, decimal=decimal, encoding=encoding)
    same(read_table(str(path)), pd.read_csv(path, sep=sep, decimal=decimal, encoding=encoding))


WORDS = "name,größe\n" + "Müller,1.5\nJürgen,2.5\n" * 20


def test_the_last_character_of_the_sample_may_be_truncated(read):
    text = "a,b\n" + "1,x\n" * (SAMPLE_BYTES // 4 - 2) + "1,xü\n"
    assert text.encode()[:SAMPLE_BYTES].endswith("ü".encode()[:1])
    assert read(text)["b"].iloc[-1] == "xü"


@pytest.mark.parametrize("encoding", ["latin-1", "windows-1252", "utf-8"])
def test_encodings_are_detected(read, put, encoding):
    # Many ASCII lines do not mislead the detection.
    frame = pd.concat([FRAME] * 1000, ignore_index=True).set_axis(["Länge", "Größe", "Höhe"], axis=1)
    content = frame.to_csv(index=False, sep=";", decimal=",").encode(encoding)
    same(read(content), frame)
    same(read(content, encoding=encoding), frame)
    assert ("encoding utf-8" in str(read_file(put(content))[1])) is (encoding == "utf-8")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("ending", ["\n", "\r", "\r\n"])
def test_comments_are_skipped_in_every_encoding_and_with_every_line_ending(read, encoding, ending):
    same(read(("# größe\n#\n" + PLAIN).replace("\n", ending).encode(encoding)))


def test_a_wrong_encoding_raises_and_names_the_line(error_message):
    text = "Länge,b\n1.5,2\n"
    line = "not a readable table: line {} is not valid {}. Pass --encoding, for example --encoding windows-1252."
    assert error_message(text.encode("latin-1"), encoding="utf-8") == line.format(1, "utf-8")
    assert error_message(codecs.BOM_UTF8 + b"a,b\n" + text.encode("latin-1")) == line.format(2, "utf-8")
    late = b"a,b,c\n" + b"1,2,3\n" * 300_000 + "1,2,ü\n".encode("latin-1")
    assert error_message(late) == line.format(300_002, "utf-8")
    assert error_message("a,b\n".encode("utf-16-le")).endswith(
        "NUL characters. If it is UTF-16, pass --encoding utf-16-le."
    )
    unknown = "not a readable table: the encoding is unknown. Pass --encoding, for example windows-1252."
    assert error_message(b"\xfc\x000\x00") == unknown


WRITERS = {
    ".parquet": pd.DataFrame.to_parquet, ".pq": pd.DataFrame.to_parquet, ".feather": pd.DataFrame.to_feather,
    **dict.fromkeys((".jsonl", ".ndjson"), partial(pd.DataFrame.to_json, orient="records", lines=True)),
    ".csv": partial(pd.DataFrame.to_csv, index=False), ".tsv": partial(pd.DataFrame.to_csv, index=False, sep="\t"),
}  # fmt: skip


def zipped(content):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("inside.csv", content)
    return buffer.getvalue()


COMPRESS = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zip": zipped}
NAMED = [*((f"data{kind}", kind, "") for kind in KINDS), ("DATA.CSV", ".csv", ""), ("data.2026.csv", ".csv", "")]
PACKED = [(f"Data{kind}{end}", kind, end) for kind in (".csv", ".tsv", ".jsonl") for end in list(COMPRESS)[1:]]


@pytest.mark.parametrize(("name", "kind", "compression"), [*NAMED, *PACKED, ("a.parquet.Csv.GZ", ".csv", ".gz")])
def test_every_format_and_compression_is_read(put, name, kind, compression):
    buffer = io.BytesIO()
    WRITERS[kind](MIXED, buffer)
    found = read_table(put(COMPRESS[compression](buffer.getvalue()), name))
    pd.testing.assert_frame_equal(found, MIXED, check_dtype=False)
    assert [dtype.kind for dtype in found.dtypes[2:4]] == ["f", "i"]
    assert ending_of(Path(name)) == kind


def test_unknown_extensions_and_misplaced_options_raise(error_message):
    message = "unknown file format; the name must end in .csv, .tsv, .parquet, .pq, .feather, .jsonl, .ndjson."
    for name in ("data.xlsx", "data", "data.gz", "data.csv.txt", "data.csv.tar", ".csv", "data.npy"):
        assert error_message(b"a,b\n1,2\n", name) == message
    message = "--sep, --decimal and similar options apply to CSV and TSV files only."
    assert error_message(b"", "data.parquet", sep=";") == message


def test_a_folder_raises(tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder, not a file"):
        read_table(str(tmp_path))


def test_a_hyphen_reads_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO(PLAIN))
    same(read_table("-"))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(WORDS.encode("utf-16")), "utf-8"))
    assert read_table("-").columns.tolist() == ["name", "größe"]
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    with pytest.raises(ValueError, match="standard input: not a readable table: it is empty"):
        read_table("-")


@pytest.mark.parametrize("ending", [".parquet", ".feather"])
def test_decimals_and_booleans_in_typed_files_are_numeric(tmp_path, ending):
    """Boolean columns may have missing values, and column names that are not strings can be excluded."""
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
    pd.DataFrame({2020: [1.5], 2021: [1]}).to_parquet(tmp_path / "years.parquet")
    assert read_table(str(tmp_path / "years.parquet"), exclude=["2020"]).columns.tolist() == [2021]


@pytest.mark.parametrize("name", ["x.pkl", "x.pickle", *(f"x{kind}" for kind in KINDS), "x.csv.gz"])
def test_pickles_are_never_loaded(tmp_path, error_message, name):
    # Loading this pickle creates a file.
    mark = str(tmp_path / "mark").encode()
    content = b"\x80\x02cbuiltins\nopen\n(X" + len(mark).to_bytes(4, "little") + mark + b"X\x01\0\0\0wtR."
    message = error_message(gzip.compress(content) if name.endswith("gz") else content, name)
    assert "unknown file format" in message or "not a readable table" in message
    assert not (tmp_path / "mark").exists()
    pickle.loads(content).close()
    assert (tmp_path / "mark").exists()


LINES = f"name,value\n{SECRET},1\n".encode() * 300


def corrupted(content):
    middle = len(content) // 2
    return content[:middle] + bytes(byte ^ 0xFF for byte in content[middle : middle + 40]) + content[middle + 40 :]


DAMAGED = {
    **{f"empty{kind}": b"" for kind in (".csv", ".tsv", ".parquet", ".feather", ".csv.gz")},
    **{f"plain{kind}": LINES for kind in (".csv.gz", ".csv.bz2", ".csv.xz", ".csv.zip", ".parquet", ".feather")},
    **{f"cut.csv{kind}": compress(LINES)[:-30] for kind, compress in COMPRESS.items() if kind},
    "corrupt.csv.gz": corrupted(gzip.compress(LINES)),
    "ragged.csv": f"a,b\n1,2\n{SECRET},2,3,4\n".encode(),
    "quote.csv": f'a,b\n"{SECRET},1\n'.encode(),
    "hollow.parquet": b"PAR1" + b"\0" * 50 + b"PAR1",
    "cut.jsonl": f'{{"name": "{SECRET}"}}\n{{"name": "{SECRET}'.encode(),
    "words.jsonl": SECRET.encode(),
    "large.jsonl": b'{"a": 123456789012345678901234567890}\n',
}


@pytest.mark.parametrize("name", DAMAGED)
def test_errors_for_damaged_files_do_not_quote_their_content(error_message, name):
    message = error_message(DAMAGED[name], name)
    assert re.match(r"not a readable table( \(\w+\)\.$|: )", message)
    assert SECRET not in message


@pytest.mark.parametrize(
    ("error", "expected", "message"),
    [
        *(
            (kind(SECRET), ValueError, rf"x\.parquet: not a readable table \({kind.__name__}\)\.$")
            for kind in (KeyError, TypeError, OSError, NotImplementedError)
        ),
        (UnicodeDecodeError("utf-8", b"", 0, 1, SECRET), ValueError, r"not a readable table \(UnicodeDecodeError\)\.$"),
        (MemoryError(), ValueError, "not a readable table: the file is damaged or too large for the memory"),
        (ImportError("no pyarrow"), ImportError, r"requires the package pyarrow.*pip install 'compsil-kit\[scale\]'"),
        (ImportError("no zstandard"), ImportError, r"requires the package zstandard.*pip install zstandard"),
        (FileFormatError("wrong."), ValueError, r"x\.parquet: wrong\.$"),
    ],
)
def test_errors_from_libraries_are_replaced(put, monkeypatch, error, expected, message):
    """The original messages can quote the content."""
    name = "x.csv.ZST" if "zstandard" in message else "x.parquet"
    monkeypatch.setattr(
        "pandas.io.common.get_handle" if "ZST" in name else "pandas.read_parquet", Mock(side_effect=error)
    )
    with pytest.raises(expected, match=message) as caught:
        read_table(put(b"", name))
    assert SECRET not in str(caught.value)
