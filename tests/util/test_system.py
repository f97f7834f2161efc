"""Atomic writes, file locks, and limits on the available memory."""

import os
import resource
import stat
import subprocess
import sys
from threading import Thread

import pytest

from compsil_kit import select_k
from compsil_kit._util import system
from compsil_kit._util.system import available_bytes, locked, write_atomically

X = [[at % 3 * 9.0, at % 7] for at in range(90)]


def names(folder):
    return {entry.name for entry in folder.iterdir()}


@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_new_files_follow_the_umask_and_replaced_ones_keep_their_permissions(tmp_path, mask):
    path = tmp_path / "file.json"
    before = os.umask(mask)
    try:
        write_atomically(path, b"one")
        assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask
        path.chmod(0o600)
        write_atomically(path, b"two")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_bytes() == b"two"
    assert names(tmp_path) == {"file.json"}


# Browsers number downloads with brackets, which glob would treat as a pattern.
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
    assert names(tmp_path) == {name, another_user.name, own.name}


def test_files_already_removed_by_another_run_are_ignored(tmp_path, monkeypatch):
    left = tmp_path / ".file.json.1-0a0b0c0d.tmp"
    left.touch()
    monkeypatch.setattr(system, "_is_alive", lambda process: bool(left.unlink()))
    write_atomically(tmp_path / "file.json", b"x")
    with locked(tmp_path / "file.json"):
        (tmp_path / ".file.json.lock").unlink()
    assert names(tmp_path) == {"file.json"}


def test_runs_that_start_while_others_end_exclude_each_other(tmp_path):
    """A run that has just opened the lock file, which is removed at the end, must not lock the removed file."""
    code = """
import os, sys, time
from pathlib import Path
from compsil_kit._util.system import locked
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
    assert names(tmp_path) == set()


def test_another_thread_can_release_the_lock(tmp_path):
    """This happens when a thread closes a stream that another thread started."""
    path = tmp_path / "file.json"
    held = locked(path)
    held.__enter__()
    thread = Thread(target=held.__exit__, args=(None, None, None))
    thread.start()
    thread.join()
    with locked(path):
        pass
    assert names(tmp_path) == set()


@pytest.mark.parametrize("use", [lambda path: select_k(X, ks=[2, 3], n_subsamples=2, checkpoint=path),
                                 lambda path: write_atomically(path, b"x")])  # fmt: skip
def test_pipes_raise(tmp_path, use):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="must be a regular file"):
        use(pipe)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_locks_exclude_other_runs_and_errors_name_the_file(tmp_path):
    path, missing = tmp_path / "run.json", tmp_path / "missing" / "run.json"
    with locked(path), pytest.raises(BlockingIOError, match="in use by another run") as caught:
        select_k(X, ks=[2, 3], n_subsamples=2, checkpoint=path)
    assert caught.value.filename == str(path)
    with pytest.raises(FileNotFoundError) as caught, locked(missing):
        pass
    assert caught.value.filename == str(missing)
    assert select_k(X, ks=[2, 3], n_subsamples=2, checkpoint=path).n_subsamples == 2
    assert names(tmp_path) == {"run.json"}


def test_failed_writes_keep_the_old_file_and_name_it(tmp_path):
    """The original error does not name a file if the disk is full."""
    path, before = tmp_path / "result.json", resource.getrlimit(resource.RLIMIT_FSIZE)
    write_atomically(path, (bytes([65 + at]) * 3 for at in range(3)))

    def broken():
        yield b"half"
        raise KeyError

    with pytest.raises(KeyError):
        write_atomically(path, broken())
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, before[1]))
    try:
        with pytest.raises(OSError, match="File too large") as caught:
            write_atomically(path, b"new" * 100)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert caught.value.filename == str(path)
    assert path.read_bytes() == b"AAABBBCCC"
    assert names(tmp_path) == {"result.json"}


GIB = 2**30
VERSIONS = {
    1: ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    2: ("memory.max", "memory.current", "inactive_file"),
}


@pytest.fixture
def groups(tmp_path, monkeypatch):
    """Replace /proc, with 8 GiB available on the machine, and /sys/fs/cgroup; return both."""
    proc, groups = tmp_path / "proc", tmp_path / "cgroup"
    (proc / "self").mkdir(parents=True)
    (proc / "meminfo").write_text(f"MemTotal: 99 kB\nMemAvailable: {8 * GIB // 1024} kB\n")
    monkeypatch.setattr(system, "PROC", proc)
    monkeypatch.setattr(system, "CGROUP", groups)
    return proc / "self" / "cgroup", groups


@pytest.mark.parametrize(
    ("version", "group", "limits", "expected"),
    [
        (2, "0::/", {}, 8),
        (2, "0::/outer/inner", {"outer/inner": ("max", GIB, 0)}, 8),
        (2, "0::/outer/inner", {"outer": (4 * GIB, 3 * GIB, GIB // 2)}, 1.5),
        # A usage that is not a whole number is ignored.
        (2, "0::/outer/inner", {"outer": (3 * GIB, 2 * GIB, 0), "outer/inner": (2 * GIB, 1.5 * GIB, 0)}, 1),
        (2, "0::/outer/inner", {"outer": (4 * GIB, 2 * GIB, 0), "outer/inner": (2 * GIB, GIB, 0)}, 1),
        (2, "0::/", {".": (GIB, 2 * GIB, 0)}, 0),
        (1, "4:cpu,cpuacct:/a\n3:memory:/docker/x", {"memory/docker/x": (9223372036854771712, GIB, 0)}, 8),
        (1, "4:cpu,cpuacct:/a\n3:memory:/docker/x", {"memory/docker/x": (3 * GIB, GIB, GIB)}, 3),
    ],
)
def test_control_groups_limit_the_available_memory(version, group, limits, expected, groups):
    own, root = groups
    own.write_text(f"{group}\n")
    for name, values in limits.items():
        (root / name).mkdir(parents=True, exist_ok=True)
        limit, used, cached = VERSIONS[version]
        for file, text in zip(
            (limit, used, "memory.stat"), (*values[:2], f"anon 5\n{cached} {values[2]}"), strict=True
        ):
            (root / name / file).write_text(f"{text}\n")
    assert available_bytes() == expected * GIB


def test_available_memory_is_none_if_the_system_does_not_report_it(groups):
    (groups[0].parents[1] / "meminfo").unlink()
    assert available_bytes() is None


def test_the_process_limit_bounds_the_available_memory():
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (6 * 2**30, 6 * 2**30))\n"
        "from compsil_kit._util.system import available_bytes; print(available_bytes())"
    )
    free = int(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
    assert 0 < free < 6 * GIB
