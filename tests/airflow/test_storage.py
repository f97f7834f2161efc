"""Where files may be."""

import errno
import os
import tempfile
from pathlib import Path

import pytest

from compsil_airflow.storage import check_writable, resolve_place, write


@pytest.fixture
def base(tmp_path):
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "table.csv").write_text("x\n1\n")
    (tmp_path / "secret.csv").write_text("x\n1\n")
    (tmp_path / "inside" / "link.csv").symlink_to(tmp_path / "secret.csv")
    (tmp_path / "inside" / "folder").symlink_to(tmp_path)
    (tmp_path / "inside" / "fine.csv").symlink_to(tmp_path / "inside" / "table.csv")
    (tmp_path / "inside-too").mkdir()
    return tmp_path / "inside"


@pytest.mark.parametrize(
    "path", ["table.csv", "./table.csv", "{base}/table.csv", "file://{base}/table.csv", "fine.csv"]
)
def test_inside(base, path):
    assert resolve_place("data", base / "table.csv", base) == base / "table.csv"
    assert resolve_place("data", path.format(base=base), base) == base / "table.csv"


@pytest.mark.parametrize("name", ["part #2.csv", "which?.csv", "100%25.csv"])
def test_a_plain_path_is_no_uri(base, name):
    assert resolve_place("data", name, base) == base / name


@pytest.mark.parametrize(
    "path",
    [
        "../secret.csv",
        "{base}/../secret.csv",
        "{base}-too/table.csv",
        "/etc/passwd",
        "link.csv",
        "folder/secret.csv",
        "file:///etc/passwd",
        "file://{base}/../secret.csv",
        "file://{base}/%2e%2e/secret.csv",
        "local:///etc/passwd",
    ],
)
def test_outside(base, path):
    with pytest.raises(ValueError, match=r"^data must be inside base_dir, .*, after resolving symbolic links"):
        resolve_place("data", path.format(base=base), base)


@pytest.mark.parametrize("path", ["simplecache::file:///etc/passwd", "s3://bucket/x::file:///etc/passwd"])
def test_chains_are_not_followed(base, path):
    with pytest.raises(ValueError, match=r"^data must be a single path or URI"):
        resolve_place("data", path, base)


@pytest.mark.parametrize("path", ["", "  ", None, 5, ["a"]])
def test_no_path_at_all(path):
    with pytest.raises(TypeError, match=r"^data must be a path or a URI"):
        resolve_place("data", path)


@pytest.mark.parametrize("uri", ["s3://conn@bucket/key.csv", "gs://bucket/key.csv"])
def test_uris_of_stores_are_kept(uri):
    assert resolve_place("data", uri, "/nowhere") == uri


@pytest.mark.parametrize("path", ["C://b.csv", "local:///a/b.csv", "run:5.csv"])
def test_local_paths_that_look_like_uris(path):
    assert isinstance(resolve_place("data", path), Path)


def test_files_appear_whole(tmp_path):
    write(tmp_path / "new" / "file.bin", b"abc")
    write(tmp_path / "new" / "file.bin", b"def")
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["file.bin"]
    assert (tmp_path / "new" / "file.bin").read_bytes() == b"def"


class TestWritable:
    def test_the_disk_of_the_file_is_tried(self, tmp_path, monkeypatch):
        def full(dir):
            assert dir == tmp_path / "new"
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(tempfile, "TemporaryFile", full)
        with pytest.raises(OSError, match=r"labels_path cannot be written: No space left on device: '.*l\.csv'"):
            check_writable("labels_path", tmp_path / "new" / "l.csv")

    def test_a_file_that_is_write_protected(self, tmp_path, monkeypatch):
        """Root may write anywhere, so the answer is that of another user."""
        monkeypatch.setattr(os, "access", lambda path, mode: False)
        check_writable("labels_path", tmp_path / "new.csv")
        (tmp_path / "old.csv").write_text("")
        with pytest.raises(PermissionError, match="labels_path cannot be written: Permission denied"):
            check_writable("labels_path", tmp_path / "old.csv")
