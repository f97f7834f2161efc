"""Files are written completely, keep their permissions, leave nothing behind, and belong to one run at a time."""

import os
import resource
import stat
import subprocess
import sys
from threading import Thread

import pytest
from sklearn.datasets import make_blobs

from compsil_kit import select_k
from compsil_kit._util import atomic
from compsil_kit._util.atomic import locked, write_atomically

X = make_blobs(90, 2, centers=3, random_state=0)[0]


def permissions(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_a_new_file_follows_the_umask_and_a_replaced_one_keeps_its_permissions(tmp_path, mask):
    path = tmp_path / "file.json"
    before = os.umask(mask)
    try:
        write_atomically(path, b"one")
        assert permissions(path) == 0o666 & ~mask
        path.chmod(0o600)
        write_atomically(path, b"two")
    finally:
        os.umask(before)
    assert permissions(path) == 0o600
    assert path.read_bytes() == b"two"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file.json"]


# Brackets, as browsers number downloads, are a pattern to glob.
@pytest.mark.parametrize("name", ["file.json", "file[1].json"])
def test_only_files_of_ended_processes_are_removed(tmp_path, name, monkeypatch):
    def ask(process, signal):
        assert signal == 0
        if process != os.getpid():
            raise {1: PermissionError, 2: ProcessLookupError}[process]

    monkeypatch.setattr(os, "kill", ask)
    another_user, ended, own = (tmp_path / f".{name}.{process}-0a0b0c0d.tmp" for process in (1, 2, os.getpid()))
    for file in (another_user, ended, own):
        file.touch()
    write_atomically(tmp_path / name, b"x")
    assert {path.name for path in tmp_path.iterdir()} == {name, another_user.name, own.name}


def test_files_that_another_run_removes_first_are_no_error(tmp_path, monkeypatch):
    left = tmp_path / ".file.json.1-0a0b0c0d.tmp"
    left.touch()
    monkeypatch.setattr(atomic, "_is_alive", lambda process: bool(left.unlink()))
    write_atomically(tmp_path / "file.json", b"x")
    with locked(tmp_path / "file.json"):
        (tmp_path / ".file.json.lock").unlink()
    assert [entry.name for entry in tmp_path.iterdir()] == ["file.json"]


def test_runs_that_start_as_others_end_exclude_each_other(tmp_path):
    """The file of the lock is removed at the end: a run that has just opened it must not hold the removed file."""
    code = """
import os, sys, time
from pathlib import Path
from compsil_kit._util.atomic import locked
path, mark, held, end = Path(sys.argv[1]), Path(sys.argv[2]), 0, time.monotonic() + 1.5
while time.monotonic() < end:
    try:
        with locked(path):
            os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
            mark.unlink()
            held += 1
    except BlockingIOError:
        pass
print(held)
"""
    command = [sys.executable, "-c", code, tmp_path / "run.json", tmp_path / "mark"]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert all(int(run.communicate()[0]) > 0 for run in runs)
    assert [run.returncode for run in runs] == [0, 0, 0]
    assert list(tmp_path.iterdir()) == []


def test_the_lock_can_be_released_by_another_thread(tmp_path):
    """As when a stream is closed by a thread that did not start it."""
    path = tmp_path / "file.json"
    held = locked(path)
    held.__enter__()
    thread = Thread(target=held.__exit__, args=(None, None, None))
    thread.start()
    thread.join()
    with locked(path):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("use", [lambda path: select_k(X, ks=[2, 3], n_subsamples=2, checkpoint=path),
                                 lambda path: write_atomically(path, b"x")])  # fmt: skip
def test_a_pipe_is_refused_at_once(tmp_path, use):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="must be an ordinary file"):
        use(pipe)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_locks_exclude_other_runs_and_errors_name_the_file(tmp_path):
    path = tmp_path / "run.json"
    with locked(path), pytest.raises(BlockingIOError, match="in use by another run") as told:
        select_k(X, ks=[2, 3], n_subsamples=2, checkpoint=path)
    assert told.value.filename == str(path)
    with pytest.raises(FileNotFoundError) as told, locked(tmp_path / "missing" / "run.json"):
        pass
    assert told.value.filename == str(tmp_path / "missing" / "run.json")
    # Afterwards it is free again, and nothing is left of the lock.
    assert select_k(X, ks=[2, 3], n_subsamples=2, checkpoint=path).n_subsamples == 2
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.json"]


def test_a_full_disk_keeps_the_old_file_and_is_reported_with_its_name(tmp_path):
    """The system itself names no file when a write fails."""
    path, before = tmp_path / "result.json", resource.getrlimit(resource.RLIMIT_FSIZE)
    write_atomically(path, b"old")
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, before[1]))
    try:
        with pytest.raises(OSError, match="File too large") as told:
            write_atomically(path, b"new" * 100)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert told.value.filename == str(path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_content_may_come_in_parts(tmp_path):
    path = tmp_path / "file"
    write_atomically(path, (bytes([65 + at]) * 3 for at in range(3)))
    assert path.read_bytes() == b"AAABBBCCC"

    def broken():
        yield b"half"
        raise KeyError

    with pytest.raises(KeyError):
        write_atomically(path, broken())
    assert path.read_bytes() == b"AAABBBCCC"
    assert [found.name for found in tmp_path.iterdir()] == ["file"]
