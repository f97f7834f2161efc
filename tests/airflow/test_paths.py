"""Where files may be."""

import errno
import os
import tempfile

import pytest

from compsil_airflow.paths import check_place, check_writable, is_remote, named_errors, store


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
    assert check_place("data", base / "table.csv", base) == base / "table.csv"
    assert check_place("data", path.format(base=base), base) == base / "table.csv"


@pytest.mark.parametrize("name", ["part #2.csv", "which?.csv", "100%25.csv"])
def test_a_plain_path_is_no_uri(base, name):
    assert check_place("data", name, base) == base / name


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
        check_place("data", path.format(base=base), base)


@pytest.mark.parametrize("path", ["simplecache::file:///etc/passwd", "s3://bucket/x::file:///etc/passwd"])
def test_chains_are_not_followed(base, path):
    with pytest.raises(ValueError, match=r"^data must be a single path or URI"):
        check_place("data", path, base)


@pytest.mark.parametrize("path", ["", "  ", None, 5, ["a"]])
def test_no_path_at_all(path):
    with pytest.raises(TypeError, match=r"^data must be a path or a URI"):
        check_place("data", path)


def test_remote():
    assert is_remote("s3://conn@bucket/key.csv")
    assert not is_remote("/a/b.csv")
    assert not is_remote("file:///a/b.csv")
    assert not is_remote("C://b.csv")
    assert not is_remote("local:///a/b.csv")
    # A colon may be part of a name.
    assert not is_remote("run:5.csv")
    assert check_place("data", "gs://bucket/key.csv", "/nowhere") == "gs://bucket/key.csv"


def test_files_appear_whole(tmp_path):
    store(tmp_path / "new" / "file.bin", b"abc")
    store(tmp_path / "new" / "file.bin", b"def")
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

    def test_an_error_without_words_is_told_as_it_is(self):
        with pytest.raises(OSError, match="labels_path cannot be written: away"), named_errors("labels_path", "l.csv"):
            raise OSError("away")
