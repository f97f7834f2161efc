"""Inject faults into runs: ``python -m fuzz.faults`` or ``make faults``. A release must pass it.

The faults are signals at moments spread over the run, full disks, and killed workers. No file may be half-written, and
a resumed run must give exactly the same result as an uninterrupted run.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random
from threading import Timer
from typing import Any

from compsil_kit._util.schema import check_digest
from fuzz.child import LARGE, N_SUBSAMPLES
from fuzz.judge import PropertyViolated, require

ROOT = Path(__file__).parents[1]
# Time limit for a child process in seconds.
PATIENCE = 240.0
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
# Number of lines that an uninterrupted child prints before the last: begin, one per subsample or batch, report.
LINES = {"select": N_SUBSAMPLES + 2, "batches": N_SUBSAMPLES // 2 + 2}
# Approximate size of a checkpoint without subsamples.
EMPTY_BYTES = 900


class Child:
    """A run in a child process that prints its progress."""

    def __init__(self, what: str, folder: Path, *options: object, before: Sequence[str] = ()) -> None:
        """Start the process."""
        command = [*before, sys.executable, "-m", "fuzz.child", what, str(folder), *map(str, options)]
        self.process = subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
        )
        self.lines: list[str] = []
        self._watch = Timer(PATIENCE, self.process.kill)
        self._watch.start()

    def read(self, n_lines: int | None = None) -> bool:
        """Read at most this number of lines, or all lines; return whether the process is still running."""
        assert self.process.stdout is not None
        while n_lines is None or len(self.lines) < n_lines:
            line = self.process.stdout.readline()
            if not line:
                return False
            self.lines.append(line)
        return True

    def finish(self) -> dict[str, Any]:
        """Wait until the child exits, and return the outcome, which is empty if the child was killed."""
        self.read()
        require(self._watch.is_alive(), f"a run ends (no output for {PATIENCE:g} s)")
        self._watch.cancel()
        self.process.communicate()
        last = self.lines[-1] if self.lines else ""
        return dict(json.loads(last)) if last.startswith("{") else {}


def uninterrupted() -> tuple[str, list[int]]:
    """Return the result of an uninterrupted run and the sizes of the files it wrote."""
    with tempfile.TemporaryDirectory() as folder:
        end = Child("select", Path(folder)).finish()
        sizes = sorted(path.stat().st_size for path in Path(folder).iterdir())
    require(end.get("result") and not end["error"], "an uninterrupted run succeeds")
    return str(end["result"]), sizes


def check_files(folder: Path) -> int:
    """Require that no file is half-written; return the number of subsamples in the checkpoint."""
    kept = 0
    for path in folder.glob("*.json"):
        data = json.loads(path.read_text())
        if path.name == "run.json":
            check_digest(data, "the checkpoint")
            kept = len(data["trials"])
    report = folder / "report.html"
    require(not report.exists() or report.read_text().rstrip().endswith("</html>"), "a report is complete")
    return kept


def check_end(end: dict[str, Any], expected: str, folder: Path) -> None:
    """Require that a resumed run gives the same result as an uninterrupted run."""
    require(end.get("error", "killed") is None, f"a resumed run succeeds: {end.get('error', 'killed')}")
    require(end["result"] == expected, "a resumed run gives the same result")
    check_files(folder)
    left = [path.name for path in folder.iterdir() if path.name.endswith((".tmp", ".lock"))]
    require(not left, f"no temporary files remain: {left}")


def kills(random: Random, share: float, folder: Path, expected: str, _: Sequence[int]) -> str:
    """Signal a run at a given point and its resumed runs at random moments, and let the last run finish."""
    what = random.choice(("select", "select", "batches"))
    options = ("--pause", random.choice((0.0, 0.02, 1.0)), "--jobs", random.choice((1, 2)))
    log = []
    (folder / "report.html").write_text("<html>of an earlier run</html>")
    for at in (share, *(random.random() for _ in range(random.randrange(3)))):
        how = random.choice(SIGNALS)
        child = Child(what, folder, *options)
        # Wait after the line, so that the signal arrives during computation or while a file is being written.
        if child.read(round(at * LINES[what])):
            time.sleep(random.uniform(0, 2.0 if child.lines[-1:] == ["report\n"] else 0.05))
        done = sum(line.strip().isdigit() for line in child.lines)
        child.process.send_signal(how)
        child.finish()
        kept = check_files(folder)
        log.append(f"{how.name} after line {len(child.lines)}")
        if how is signal.SIGINT and what == "select" and done:
            known = int(next(line for line in child.lines if line.strip().isdigit()))
            require(kept >= known + done - 1, "an interrupt keeps all reported subsamples")
    check_end(Child(what, folder, *options).finish(), expected, folder)
    return f"{what} {options}: {', '.join(log)}"


def half_files(random: Random, share: float, folder: Path, _: str, __: Sequence[int]) -> str:
    """Kill a process that replaces a file in a loop, and require that the file is a complete version."""
    child = Child("writes", folder)
    child.read(2 + round(50 * share))
    time.sleep(random.uniform(0, 0.02))
    child.process.send_signal(random.choice(SIGNALS[:3]))
    child.finish()
    content = (folder / "large").read_bytes()
    require(content in (b"a" * LARGE, b"b" * LARGE), "a file is complete")
    return f"killed after {len(child.lines) - 1} files"


def full_disk(random: Random, share: float, folder: Path, expected: str, sizes: Sequence[int]) -> str:
    """Run without enough disk space, using a limit on the size of files or, if permitted, a small file system."""
    # Too little space for an empty checkpoint, for the complete checkpoint, or for the report.
    levels = [0, EMPTY_BYTES, *sizes]
    at = int(share * (len(levels) - 1))
    room = random.randrange(*levels[at : at + 2])
    if random.random() < 0.5 and may_mount():
        mounted = f'mount -t tmpfs -o size={max(room, 1)} none {folder} && exec "$@"'
        before = ("unshare", "--mount", "--map-root-user", "sh", "-c", mounted, "sh")
        end = Child("select", folder, "--pause", 0.0, before=before).finish()
        what = f"a file system of {room} bytes"
    else:
        (folder / "report.html").write_text("<html>before</html>")
        end = Child("select", folder, "--pause", 0.0, "--room", room).finish()
        what = f"files of at most {room} bytes"
        check_files(folder)
    require(end, "a full disk does not end the process")
    problem = end["error"] or ""
    require(not problem or str(folder) in problem, f"an error names its file: {problem[:200]}")
    require(problem or end["result"] == expected, "a successful run gives the same result")
    require(not end["result"] or end["result"] == expected, "a full disk does not lose a computed result")
    for warning in end["warnings"]:
        require("run.json could not be written" in warning, f"a warning is about the checkpoint: {warning[:200]}")
    check_end(Child("select", folder).finish(), expected, folder)
    return f"{what}: {problem or str(len(end['warnings'])) + ' warnings'}"


def may_mount() -> bool:
    """Return whether a file system can be mounted for a single process."""
    command = ["unshare", "--mount", "--map-root-user", "mount", "-t", "tmpfs", "none", "/mnt"]
    return (
        shutil.which("unshare") is not None
        and subprocess.run(command, check=False, capture_output=True).returncode == 0
    )


def dead_worker(random: Random, share: float, folder: Path, expected: str, _: Sequence[int]) -> str:
    """Kill worker processes; the run must raise an error with the partial result, and another run must resume."""
    child = Child("workers", folder, "--pause", random.choice((0.0, 1.0)), "--jobs", 2)
    child.read(round(share * N_SUBSAMPLES) + 1)
    time.sleep(random.uniform(0, 0.05))
    pids = workers_of(child.process.pid)
    for pid in random.sample(pids, min(len(pids), random.choice((1, 1, 2)))):
        os.kill(pid, signal.SIGKILL)
    end = child.finish()
    require(end, "the death of a worker does not end the process")
    reported = [int(line) for line in child.lines if line.strip().isdigit()]
    if end["error"] is None:
        require(end["result"] == expected, "a successful run gives the same result")
    else:
        require(re.search("Worker|Pool|Executor", end["error"]), f"the error is about workers: {end['error'][:200]}")
        require(not reported or end["finished"] is not None, "the error has the partial result")
    kept = check_files(folder)
    require(not reported or kept >= max(reported), "the checkpoint has all reported subsamples")
    check_end(Child("workers", folder, "--jobs", 2).finish(), expected, folder)
    return f"{len(pids)} workers after {len(reported)} subsamples: {(end['error'] or 'no error')[:60]}"


def workers_of(parent: int) -> list[int]:
    """Return the loky workers of a process, except the resource tracker."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            above = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            command = (path / "cmdline").read_bytes()
        except OSError:
            # The process has exited.
            continue
        if above == parent and b"popen_loky_posix" in command:
            found.append(int(path.name))
    return found


JOBS = {"kills": kills, "half_files": half_files, "full_disk": full_disk, "dead_worker": dead_worker}


def run_round(name: str, number: int, rounds: int, seed: int, whole: tuple[str, list[int]]) -> str:
    """Run one round. Its number determines the moment of the fault, and the seed determines everything else."""
    random = Random(f"{seed} {name} {number}")
    with tempfile.TemporaryDirectory() as folder:
        return JOBS[name](random, (number + random.random()) / rounds, Path(folder), *whole)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the rounds for every kind of fault; return 1 if a round failed."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.faults", description=__doc__)
    parser.add_argument("--rounds", type=int, default=10, help="number of rounds for each kind of fault (default: 10)")
    parser.add_argument("--only", choices=list(JOBS), nargs="+", default=list(JOBS))
    parser.add_argument(
        "--seed", type=int, default=int(time.time()), help="seed of a run to reproduce (default: a new seed)"
    )
    given = parser.parse_args(argv)
    print(f"seed {given.seed}; {'' if may_mount() else 'cannot mount file systems; only file sizes are limited'}")
    whole, failed = uninterrupted(), 0
    for name in given.only:
        for number in range(given.rounds):
            try:
                outcome = run_round(name, number, given.rounds, given.seed, whole)
            except (PropertyViolated, ValueError) as problem:
                failed += 1
                again = f"--only {name} --rounds {given.rounds} --seed {given.seed}"
                outcome = f"FAILED: {problem}\n  python -m fuzz.faults {again}"
            print(f"{name} {number + 1}/{given.rounds}: {outcome}", flush=True)
    print(f"{failed} of {given.rounds * len(given.only)} rounds failed.")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
