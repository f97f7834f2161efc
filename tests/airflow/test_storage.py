"""Where files may be, and how they are written."""

import errno
import os
import tempfile
from contextlib import nullcontext
from pathlib import Path

import pytest

from compsil_airflow.storage import check_apart, check_writable, resolve_place, write


@pytest.fixture
def base(tmp_path):
    inside = tmp_path / "inside"
    for folder in (inside, tmp_path / "inside-too"):
        folder.mkdir()
    for file in (inside / "table.csv", tmp_path / "secret.csv"):
        file.write_text("x\n1\n")
    (inside / "link.csv").symlink_to(tmp_path / "secret.csv")
    (inside / "folder").symlink_to(tmp_path)
    (inside / "fine.csv").symlink_to(inside / "table.csv")
    return inside


@pytest.mark.parametrize(
    "path", ["table.csv", "{base}/table.csv", "file://{base}/table.csv", "fine.csv", Path("table.csv")]
)
def test_paths_inside_the_base(base, path):
    given = path.format(base=base) if isinstance(path, str) else path
    assert resolve_place("data", given, base) == base / "table.csv"


@pytest.mark.parametrize(
    "path",
    [
        "{base}/../secret.csv", "{base}-too/table.csv", "/etc/passwd", "link.csv", "folder/secret.csv",
        "file:///etc/passwd", "file://{base}/%2e%2e/secret.csv", "local:///etc/passwd",
    ],
)  # fmt: skip
def test_paths_outside_the_base(base, path):
    with pytest.raises(ValueError, match=r"^data must be inside base_dir, .*, after resolving symbolic links"):
        resolve_place("data", path.format(base=base), base)


@pytest.mark.parametrize("path", ["part #2.csv", "which?.csv", "100%25.csv", "run:5.csv"])
def test_plain_paths_are_not_uris(base, path):
    assert resolve_place("data", path, base) == base / path


def test_uris():
    assert resolve_place("data", "s3://conn@bucket/key.csv", "/nowhere") == "s3://conn@bucket/key.csv"
    # A scheme of one letter is a drive.
    for path in ("C://b.csv", "local:///a/b.csv"):
        assert isinstance(resolve_place("data", path), Path)


@pytest.mark.parametrize(
    ("path", "kind", "message"),
    [
        ("simplecache::file:///etc/passwd", ValueError, r"^data must be a single path or URI"),
        ("s3://bucket/x::file:///etc/passwd", ValueError, r"^data must be a single path or URI"),
        *((path, TypeError, r"^data must be a path or a URI") for path in ("", "  ", None, ["a"])),
    ],
)
def test_values_that_are_not_paths(base, path, kind, message):
    with pytest.raises(kind, match=message):
        resolve_place("data", path, base)


@pytest.mark.parametrize("from_file", [False, True])
def test_files_are_replaced_completely(tmp_path, from_file):
    place, source, content = tmp_path / "new" / "file.bin", tmp_path / "source.bin", b"x" * 3_000_000
    write(place, content + b"more")
    source.write_bytes(content)
    assert write(place, source if from_file else content) == len(content)
    assert place.read_bytes() == content
    assert [path.name for path in place.parent.iterdir()] == ["file.bin"]


class TestWritable:
    def test_a_full_disk(self, tmp_path, monkeypatch):
        def full(dir):
            assert dir == tmp_path / "new"
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(tempfile, "TemporaryFile", full)
        with pytest.raises(OSError, match=r"labels_path cannot be written: No space left on device: '.*l\.csv'"):
            check_writable("labels_path", tmp_path / "new" / "l.csv")

    def test_a_write_protected_file(self, tmp_path, monkeypatch):
        # Root may write anywhere, so the answer is that of another user.
        monkeypatch.setattr(os, "access", lambda path, mode: False)
        check_writable("labels_path", tmp_path / "new.csv")
        (tmp_path / "old.csv").write_text("")
        with pytest.raises(PermissionError, match="labels_path cannot be written: Permission denied"):
            check_writable("labels_path", tmp_path / "old.csv")

    def test_a_folder(self, tmp_path):
        with pytest.raises(ValueError, match=r"labels_path must be a file; .* is a folder"):
            check_writable("labels_path", tmp_path)


@pytest.mark.parametrize(
    ("data", "output", "apart"),
    [
        ("/d/t", "/d/t/labels.parquet", False),
        ("/d/t/", "/d/t/deep/labels.csv", False),
        ("/d/t", "/d/tables/labels.csv", True),
        ("/", "/d/labels.csv", True),
        ("/d/t.csv", "/d/t.csv", False),
        ("/d/*.parquet", "/d/labels.parquet", False),
        ("/d/*.parquet", "/d/labels.csv", True),
        ("/d/*.parquet", "/d/out/labels.parquet", True),
        ("/d/**/*.parquet", "/d/out/labels.parquet", False),
        ("s3://conn@bucket/t", "s3://bucket/t/labels.parquet", False),
        ("s3://bucket/t/*.parquet", "s3://other@bucket/t/l.parquet", False),
        ("s3://bucket/t", "s3://elsewhere/t/l.parquet", True),
        ("s3://bucket/t", "/bucket/t/l.parquet", True),
        (None, "/d/labels.csv", True),
    ],
)
def test_outputs_among_the_data_are_refused(data, output, apart):
    place = output if "://" in output else Path(output)
    refused = pytest.raises(ValueError, match=rf"^labels_path must not be among the files that data names.*{output}")
    with nullcontext() if apart else refused:
        check_apart(data, {"report_path": None, "labels_path": place}, None)
