"""Tests of opening Parquet data from files, folders, globs and URLs."""

import sys
from pathlib import Path, PurePath

import fsspec
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from tables import columns_of, rows, write_parquet

from compsil_kit import prepare, select_k
from compsil_kit._data.sources import arrow, open_source
from compsil_kit._data.sources.parquet import fits_memory, is_parquet, list_files, open_parquet


@pytest.fixture
def folder(tmp_path):
    """Create files whose alphabetical order differs from their numbers, with subfolders and auxiliary files."""
    base = tmp_path / "table"
    for value, name in enumerate(["part-2.parquet", "part-10.parquet", "b/part-0.pq", "part-1", "B.parquet"]):
        (base / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"a": np.full(3, float(value)), "b": np.arange(3.0)}), base / name)
    for name in ("_SUCCESS", "_committed_1", ".part-2.parquet.crc", ".hidden.parquet", "b/_x.parquet"):
        (base / name).write_text("not a table")
    return base


def column(source):
    at = [field.name for field in source.fields].index("a")
    return rows(source, [at])[0].tolist()


def test_a_folder_gives_the_same_rows_as_in_pandas(folder, monkeypatch):
    expected = pd.read_parquet(folder)["a"].tolist()
    assert expected == np.repeat([4.0, 2.0, 3.0, 1.0, 0.0], 3).tolist()
    monkeypatch.setenv("HOME", str(folder.parent))
    for place in (folder, str(folder), f"{folder}/", PurePath(folder), f"file://{folder}", "file://~/table"):
        assert column(open_parquet(place)) == expected
    # Wildcard characters in the name of an existing folder are not interpreted.
    assert column(open_parquet(folder.rename(folder.with_name("table[1]*")))) == expected


def test_a_table_inside_a_hidden_folder_is_read(folder):
    expected = column(open_parquet(folder))
    hidden = folder.rename(folder.with_name(".cache"))
    assert column(open_parquet(hidden)) == expected
    assert column(open_parquet(f"{hidden}/*.parquet"))[::3] == [4, 1, 0]


@pytest.mark.parametrize(
    ("pattern", "values"),
    [
        ("*.parquet", [4, 1, 0]),
        ("part-?.parquet", [0]),
        ("part-[12]*", [3, 1, 0]),
        ("**/*.p*", [4, 2, 1, 0]),
        ("b*", [2]),
    ],
)
def test_a_glob_selects_the_matching_files(folder, pattern, values):
    assert column(open_parquet(str(folder / pattern)))[::3] == values


def test_urls_are_opened_with_fsspec(folder, bucket):
    expected = column(open_parquet(folder))
    assert column(open_parquet("memory://bucket/table")) == expected
    assert column(open_parquet("memory://bucket/table/part-1*")) == [3.0, 3.0, 3.0, 1.0, 1.0, 1.0]
    with pytest.raises(FileNotFoundError, match=r"X: there is no Parquet file at 'memory://bucket/other'"):
        open_parquet("memory://bucket/other")
    assert column(open_parquet("/bucket/table", bucket)) == expected


@pytest.mark.parametrize("pattern", ["", "/year=*", "/*/*.parquet", "/year=*/part-*"])
def test_values_in_folder_names_become_categories(tmp_path, pattern):
    base = tmp_path / "key=9" / "table"
    for year in (2025, 2026):
        (base / f"year={year}").mkdir(parents=True)
        pq.write_table(pa.table({"a": [float(year), 1.0], "b": [0.0, 2.0]}), base / f"year={year}" / "part-0.parquet")
    source = open_parquet(f"{base}{pattern}")
    assert [field.name for field in source.fields] == ["a", "b", "year"] == list(pd.read_parquet(base).columns)
    assert [field.numeric for field in source.fields] == [True, True, False]
    assert column(source) == [2025.0, 1.0, 2026.0, 1.0]
    assert prepare(f"{base}{pattern}").preparation.left_out == ("year",)
    with pytest.raises(ValueError, match=r"not numeric: 'year' \(dictionary<"):
        select_k(f"{base}{pattern}")


@pytest.mark.parametrize("index", [None, "key", ["a", "key"]])
def test_a_pandas_index_is_left_out(tmp_path, index):
    frame = pd.DataFrame({"a": [1.0, 2.0], "key": [7, 9], "b": [0.5, 0.25]})
    frame = frame.loc[[1, 0]] if index is None else frame.set_index(index)
    frame.to_parquet(tmp_path / "a.parquet")
    source = open_parquet(tmp_path / "a.parquet")
    assert [field.name for field in source.fields] == list(pd.read_parquet(tmp_path / "a.parquet").columns)


@pytest.mark.parametrize("name", ["missing.parquet", "none/*.parquet", "empty"])
def test_a_path_without_files_raises(tmp_path, name):
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match=r"X: there is no Parquet file at .*begin with '_' or '\.' are ignored"):
        open_parquet(tmp_path / name)


@pytest.mark.parametrize("content", [b"", b"PAR1secretPAR1", b"secret,words\n1,2\n" * 100])
def test_errors_for_a_damaged_file_do_not_quote_its_content(tmp_path, content):
    (tmp_path / "bad.parquet").write_bytes(content)
    with pytest.raises(
        ValueError, match=r"X: Parquet data at '.*bad\.parquet' cannot be read \(\w+\)\. Possible causes: a file is dam"
    ) as e:
        open_parquet(tmp_path / "bad.parquet")
    assert "secret" not in str(e.value)


@pytest.mark.parametrize("bad", ["a", "b", "c"])
def test_the_error_names_the_damaged_file(tmp_path, bad):
    for name in "abc":
        pq.write_table(pa.table({"x": np.random.default_rng(0).normal(size=5000)}), tmp_path / f"{name}.parquet")
    place = tmp_path / f"{bad}.parquet"
    content = bytearray(place.read_bytes())
    place.write_bytes(content[:50])
    message = rf"X: Parquet data at '.*', file '.*/{bad}\.parquet', cannot be read \(\w+\)"
    with pytest.raises(ValueError, match=message):
        open_parquet(tmp_path)
    # The number of rows can be read, but the rows cannot.
    content[:8000] = bytes(8000)
    place.write_bytes(content)
    source = open_parquet(tmp_path)
    with pytest.raises(ValueError, match=message):
        list(source.chunks([0]))


def test_symbolic_links_to_folders_are_followed(tmp_path):
    table, elsewhere = tmp_path / "table", tmp_path / "elsewhere"
    (elsewhere / "deep").mkdir(parents=True)
    table.mkdir()
    for at, place in enumerate([table / "c", elsewhere / "a", elsewhere / "deep" / "a"]):
        pq.write_table(pa.table({"a": [float(at)] * 2}), place.with_suffix(".parquet"))
    (table / "b").symlink_to(elsewhere)
    assert column(open_parquet(table)) == [1.0, 1.0, 2.0, 2.0, 0.0, 0.0] == pd.read_parquet(table)["a"].tolist()
    assert column(open_parquet(f"{table}/b*")) == [1.0, 1.0, 2.0, 2.0]
    (elsewhere / "up").symlink_to(table)
    with pytest.raises(ValueError, match=r"X: '.*/table/b/up' is a symbolic link to one of its parent folders\."):
        open_parquet(table)


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("a.parquet", True), ("A.PQ", True), ("s3://bucket/table", True), ("x/*", True), ("table.parquet/", True),
        (".", True), ("a.csv", False), ("word", False), ("", False), ("a[1]*.csv", False), ("b[1]*.csv", True),
    ],
)  # fmt: skip
def test_is_parquet_recognises_paths_globs_and_urls(name, known, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a[1]*.csv").write_text("x")
    assert is_parquet(name) is known


def test_unsupported_urls_raise(monkeypatch):
    with pytest.raises(ValueError, match=r"X: 'nosuch://a/b' is not a URL that fsspec supports"):
        open_parquet("nosuch://a/b")

    def absent(name):
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr(fsspec.core, "url_to_fs", absent)
    with pytest.raises(ImportError, match=r"X: 's3://a/b' needs another package: Install s3fs to access S3"):
        open_parquet("s3://a/b")


def test_the_error_names_the_missing_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.dataset", None)
    with pytest.raises(ImportError, match=r"needs the 'pyarrow' package\. Install it with: pip install pyarrow"):
        open_parquet("a.parquet")


@pytest.mark.parametrize("portion", [1_000, 5_000, 10**9])
def test_row_groups_are_read_in_several_parts(tmp_path, portion, monkeypatch):
    monkeypatch.setattr(arrow, "PORTION_ROWS", portion)
    columns = columns_of(20_500, 2)
    folder = write_parquet(tmp_path / "table", columns, n_files=3, row_group_size=2_000)
    chunks = list(open_parquet(folder).chunks([1, 0]))
    np.testing.assert_array_equal(np.concatenate([np.column_stack(chunk) for chunk in chunks])[:, 0], columns["x1"])
    # Batches do not extend beyond one part.
    assert max(len(chunk[0]) for chunk in chunks) <= max(2_000, min(portion, 7_000))


@pytest.mark.parametrize("wrap", [lambda place: place, ds.dataset], ids=["path", "dataset"])
def test_a_file_is_never_loaded_completely(tmp_path, wrap, monkeypatch):
    """The limit also applies if rows are read faster than they are processed."""
    monkeypatch.setattr(arrow, "PORTION_ROWS", 40_000)
    monkeypatch.setattr(arrow, "CHUNK_ROWS", 10_000)
    n_rows = 800_000
    place = write_parquet(tmp_path / "a.parquet", columns_of(n_rows, 3), row_group_size=20_000)
    source, before, most = open_source(wrap(place)), pa.total_allocated_bytes(), 0
    for chunk in source.chunks([0, 1, 2]):
        # Simulate work, during which reader threads could read ahead.
        np.sort(chunk[0])
        most = max(most, pa.total_allocated_bytes() - before)
    assert 0 < most < n_rows * 3 * 8 / 2


@pytest.mark.parametrize(("free", "fits"), [(None, True), (144, True), (143, False)])
def test_fits_memory_compares_the_file_with_the_free_memory(tmp_path, monkeypatch, free, fits):
    monkeypatch.setattr("compsil_kit._data.sources.parquet.available_bytes", lambda: free)
    pq.write_table(pa.table({"a": [1.0, 2.0, 3.0], "b": [1, 2, 3]}), tmp_path / "six.parquet")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1")
    assert fits_memory(tmp_path / "six.parquet") is fits
    assert fits_memory(tmp_path / "broken.parquet")
    assert fits_memory(tmp_path / "none.parquet")


def test_list_files_returns_the_files_of_a_folder_or_glob(tmp_path):
    for name in ("b.parquet", "a.parquet", "_SUCCESS", "c.txt"):
        (tmp_path / name).write_bytes(b"")
    local = fsspec.filesystem("file")
    assert [Path(file).name for file in list_files(str(tmp_path), local)] == ["a.parquet", "b.parquet", "c.txt"]
    assert [Path(file).name for file in list_files(f"{tmp_path}/*.parquet", local)] == ["a.parquet", "b.parquet"]
    assert list_files(f"{tmp_path}/x*.parquet", local) == []


@pytest.fixture
def bucket(folder):
    """Copy the files of the folder to a non-local file system."""
    store = fsspec.filesystem("memory")
    store.put(str(folder), "/bucket/table", recursive=True)
    yield store
    store.rm("/bucket", recursive=True)


def test_cached_listings_are_not_used(bucket, monkeypatch):
    class Caching(MemoryFileSystem):
        cachable = False
        listing = None

        def find(self, path, **settings):
            self.listing = super().find(path, **settings) if self.listing is None else self.listing
            return self.listing

        def invalidate_cache(self, path=None):
            self.listing = None

    files = Caching()
    monkeypatch.setattr("fsspec.core.url_to_fs", lambda name: (files, "/bucket/table"))
    before = len(column(open_parquet("memory://bucket/table")))
    bucket.copy("/bucket/table/part-10.parquet", "/bucket/table/part-99.parquet")
    assert len(column(open_parquet("memory://bucket/table"))) == before + 3


def test_keys_for_empty_folders_are_ignored(folder, bucket):
    class Marking(MemoryFileSystem):
        cachable = False

        def find(self, path, detail=False, **settings):
            marks = {key: {} for key in (f"{path}/", f"{path}/more/")}
            found = marks | super().find(path, detail=True, **settings)
            return found if detail else list(found)

    assert column(open_parquet("/bucket/table", Marking())) == column(open_parquet(folder))


def test_a_delta_lake_table_raises(folder):
    (folder / "_delta_log").mkdir()
    for place in (folder, f"{folder}/*.parquet"):
        with pytest.raises(ValueError, match=r"is a Delta Lake table, .*Pass DeltaTable\(\.\.\.\)\.to_pyarrow_dataset"):
            open_parquet(place)


def test_duplicate_column_names_raise(tmp_path):
    table = pa.Table.from_arrays([pa.array([1.0])] * 3, names=["a", "b", "a"])
    with pytest.raises(ValueError, match=r"cannot be read .* two columns have the same name\."):
        open_parquet(write_parquet(tmp_path / "a.parquet", table))


def test_excluded_columns_are_left_out(tmp_path):
    frame = pd.DataFrame({"a": [1.0], "b": [2.0]}, index=pd.Index([7], name="key"))
    frame.to_parquet(tmp_path / "a.parquet")
    assert [field.name for field in open_parquet(tmp_path / "a.parquet", exclude=["a"]).fields] == ["b"]
    for name in ("y", "key"):
        with pytest.raises(ValueError, match=rf"--exclude: '{name}' is not a column of the data.*: a, b\."):
            open_parquet(tmp_path / "a.parquet", exclude=["a", name])


def test_a_subset_of_row_groups_is_split_into_parts(tmp_path, monkeypatch):
    monkeypatch.setattr(arrow, "PORTION_ROWS", 25)
    place = write_parquet(tmp_path / "a.parquet", {"a": np.arange(70.0)}, row_group_size=10)
    (fragment,) = ds.dataset(place).get_fragments()
    parts = [part.to_table()["a"].to_numpy() for part in arrow._portions(fragment.subset(row_group_ids=[1, 4, 6]))]
    assert [len(part) for part in parts] == [20, 10]
    np.testing.assert_array_equal(np.concatenate(parts), [*range(10, 20), *range(40, 50), *range(60, 70)])


def test_empty_pandas_metadata_are_ignored(tmp_path):
    table = pa.table({"a": [1.0, 2.0]}).replace_schema_metadata({b"pandas": b"null"})
    pq.write_table(table, tmp_path / "a.parquet")
    assert column(open_parquet(tmp_path / "a.parquet")) == [1.0, 2.0]


@pytest.mark.parametrize("store", ["file", "memory"])
def test_a_replaced_file_raises(tmp_path, store):
    """The new file has the same number of rows, but the cached footer does not fit it."""
    values = np.random.default_rng(0).normal(size=(500, 3))
    files = fsspec.filesystem(store)
    base = str(tmp_path / "table") if store == "file" else "memory://changing"
    files.makedirs(base)

    def write(names):
        with files.open(f"{base}/a.parquet", "wb") as file:
            pq.write_table(pa.table(dict(zip(names, values.T, strict=True))), file)

    write("abc")
    for place in (base, f"{base}/a.parquet", f"{base}/*.parquet"):
        write("abc")
        source = open_parquet(place)
        assert column(source) == values[:, 0].tolist()
        write("bac")
        with pytest.raises(
            ValueError, match=r"^X has changed: a file was modified after its rows were counted \(Parquet"
        ):
            column(source)
        # The file also changes while it is being read.
        source = open_parquet(place)
        reading = source.chunks([0])
        next(reading)
        write("abc")
        with pytest.raises(ValueError, match="X has changed"):
            list(reading)
    files.rm(base, recursive=True)


def test_local_files_need_only_pyarrow(tmp_path, monkeypatch):
    folder = write_parquet(tmp_path / "table", {"a": np.arange(30.0)}, n_files=2)
    monkeypatch.setitem(sys.modules, "fsspec", None)
    for place in (folder, f"{folder}/*.parquet", f"file://{folder}"):
        assert column(open_parquet(place)) == [*range(30)]
    assert column(open_parquet(folder / "part-0.parquet")) == [*range(15)]
    with pytest.raises(ImportError, match=r"needs the 'fsspec' package\. Install it with: pip install fsspec"):
        open_parquet("memory://table")
