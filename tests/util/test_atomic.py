"""Files are written whole, keep their rights, leave nothing behind, and belong to one run at a time."""

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


def rights(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_a_new_file_follows_the_mask_and_an_old_one_keeps_its_rights(tmp_path, mask):
    path = tmp_path / "file.json"
    before = os.umask(mask)
    try:
        write_atomically(path, b"one")
        assert rights(path) == 0o666 & ~mask
        path.chmod(0o600)
        write_atomically(path, b"two")
    finally:
        os.umask(before)
    assert rights(path) == 0o600
    assert path.read_bytes() == b"two"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file.json"]


def test_the_mask_of_other_threads_is_never_touched(tmp_path):
    """The rights of files that another thread makes at the same time do not depend on ours."""
    before = os.umask(0o077)
    try:
        wider = []

        def others():
            for at in range(2000):
                made = tmp_path / f"other-{at}"
                made.touch()
                wider.extend([made] if rights(made) != 0o600 else [])

        thread = Thread(target=others)
        thread.start()
        while thread.is_alive():
            write_atomically(tmp_path / "ours.json", b"x")
        thread.join()
    finally:
        os.umask(before)
    assert wider == []


# Brackets, as browsers number downloads, are a pattern to glob.
@pytest.mark.parametrize("name", ["file.json", "file[1].json"])
def test_what_a_killed_process_left_is_removed(tmp_path, name):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    left = tmp_path / f".{name}.{gone.pid}-0a0b0c0d.tmp"
    own = tmp_path / f".{name}.{os.getpid()}-0a0b0c0d.tmp"
    left.touch()
    own.touch()
    write_atomically(tmp_path / name, b"x")
    assert not left.exists()
    assert own.exists()


def test_what_a_process_of_another_user_writes_is_left_alone(tmp_path, monkeypatch):
    def refuse(process, signal):
        assert signal == 0, "a question, and nothing that the process would feel"
        raise PermissionError(process, signal)

    theirs = tmp_path / ".file.json.1-0a0b0c0d.tmp"
    theirs.touch()
    monkeypatch.setattr(os, "kill", refuse)
    write_atomically(tmp_path / "file.json", b"x")
    assert theirs.exists()


def test_what_another_run_removes_at_the_same_time_is_no_error(tmp_path, monkeypatch):
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


def test_two_runs_on_one_checkpoint_are_told(tmp_path):
    path = tmp_path / "run.json"
    with locked(path), pytest.raises(BlockingIOError, match="in use by another run") as told:
        select_k(X, ks=[2, 3], n_subsamples=2, checkpoint=path)
    assert told.value.filename == str(path)
    # Afterwards it is free again, and nothing is left of the lock.
    assert select_k(X, ks=[2, 3], n_subsamples=2, checkpoint=path).n_subsamples == 2
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.json"]


def test_a_killed_run_leaves_no_lock(tmp_path):
    path = tmp_path / "run.json"
    code = (
        "import sys; from pathlib import Path; from compsil_kit._util.atomic import locked\n"
        "with locked(Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(BlockingIOError), locked(path):
            raise AssertionError("it was free")
    finally:
        holder.kill()
        holder.communicate()
    with locked(path):
        pass


def test_a_disk_without_room_is_told_with_the_file(tmp_path):
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


def test_a_lock_that_cannot_be_made_is_told_by_the_name_of_the_file(tmp_path):
    path = tmp_path / "missing" / "run.json"
    with pytest.raises(FileNotFoundError) as told, locked(path):
        pass
    assert told.value.filename == str(path)


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
