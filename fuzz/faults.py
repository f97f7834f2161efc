"""``python -m fuzz.faults``: kills at moments spread over a whole run, full disks, and workers that die.

Whatever happens, no file is ever there by half, and the run that goes on ends with the bits of one that nobody
disturbed. ``make faults`` calls it; a release must pass it.
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
from fuzz.judge import Broken, holds

ROOT = Path(__file__).parents[1]
# A child that says nothing for so long hangs.
PATIENCE = 240.0
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
# Lines of an undisturbed child before its last: begin, one per subsample or batch, report.
LINES = {"select": N_SUBSAMPLES + 2, "batches": N_SUBSAMPLES // 2 + 2}
# About the size of a checkpoint without subsamples.
EMPTY = 900


class Child:
    """A run in a process of its own, whose lines tell how far it is."""

    def __init__(self, what: str, folder: Path, *options: object, before: Sequence[str] = ()) -> None:
        """Start it."""
        command = [*before, sys.executable, "-m", "fuzz.child", what, str(folder), *map(str, options)]
        self.process = subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
        )
        self.lines: list[str] = []
        self._watch = Timer(PATIENCE, self.process.kill)
        self._watch.start()

    def read(self, n_lines: int | None = None) -> bool:
        """Read so many lines, or all; tell whether the process still runs."""
        assert self.process.stdout is not None
        while n_lines is None or len(self.lines) < n_lines:
            line = self.process.stdout.readline()
            if not line:
                return False
            self.lines.append(line)
        return True

    def finish(self) -> dict[str, Any]:
        """Wait for the end, and return what the child said at last; nothing if it was killed."""
        self.read()
        holds(self._watch.is_alive(), f"a run ends (the child said nothing for {PATIENCE:g} s)")
        self._watch.cancel()
        self.process.communicate()
        last = self.lines[-1] if self.lines else ""
        return dict(json.loads(last)) if last.startswith("{") else {}


def undisturbed() -> tuple[str, list[int]]:
    """Return the result of a run that nobody disturbs, and the sizes of its files."""
    with tempfile.TemporaryDirectory() as folder:
        end = Child("select", Path(folder)).finish()
        sizes = sorted(path.stat().st_size for path in Path(folder).iterdir())
    holds(end.get("result") and not end["error"], "an undisturbed run ends well")
    return str(end["result"]), sizes


def check_files(folder: Path) -> int:
    """Say so if a file is there by half; return how many subsamples the checkpoint has."""
    kept = 0
    for path in folder.glob("*.json"):
        data = json.loads(path.read_text())
        if path.name == "run.json":
            check_digest(data, "the checkpoint")
            kept = len(data["trials"])
    report = folder / "report.html"
    holds(not report.exists() or report.read_text().rstrip().endswith("</html>"), "a report is whole")
    return kept


def check_end(end: dict[str, Any], expected: str, folder: Path) -> None:
    """Say so if a run that was continued did not end as if nothing had happened."""
    holds(end.get("error", "killed") is None, f"a continued run ends well: {end.get('error', 'killed')}")
    holds(end["result"] == expected, "a continued run ends with the same bits")
    check_files(folder)
    left = [path.name for path in folder.iterdir() if path.name.endswith((".tmp", ".lock"))]
    holds(not left, f"nothing is left over: {left}")


def kills(random: Random, share: float, folder: Path, expected: str, _: Sequence[int]) -> str:
    """Kill a run at a share of its way, its continuation at random moments, and let the last one end."""
    what = random.choice(("select", "select", "batches"))
    options = ("--pause", random.choice((0.0, 0.02, 1.0)), "--jobs", random.choice((1, 2)))
    said = []
    (folder / "report.html").write_text("<html>of an earlier run</html>")
    for at in (share, *(random.random() for _ in range(random.randrange(3)))):
        how = random.choice(SIGNALS)
        child = Child(what, folder, *options)
        # After a line, and a moment later than that: between two lines lies work, or a file being written.
        if child.read(round(at * LINES[what])):
            time.sleep(random.uniform(0, 2.0 if child.lines[-1:] == ["report\n"] else 0.05))
        done = sum(line.strip().isdigit() for line in child.lines)
        child.process.send_signal(how)
        child.finish()
        kept = check_files(folder)
        said.append(f"{how.name} after line {len(child.lines)}")
        if how is signal.SIGINT and what == "select" and done:
            known = int(next(line for line in child.lines if line.strip().isdigit()))
            holds(kept >= known + done - 1, "an interrupt keeps all that was told")
    check_end(Child(what, folder, *options).finish(), expected, folder)
    return f"{what} {options}: {', '.join(said)}"


def half_files(random: Random, share: float, folder: Path, _: str, __: Sequence[int]) -> str:
    """Kill a process that does nothing but replace a file: what is there is one of the files it wrote."""
    child = Child("writes", folder)
    child.read(2 + round(50 * share))
    time.sleep(random.uniform(0, 0.02))
    child.process.send_signal(random.choice(SIGNALS[:3]))
    child.finish()
    content = (folder / "large").read_bytes()
    holds(content in (b"a" * LARGE, b"b" * LARGE), "a file is there whole")
    return f"killed after {len(child.lines) - 1} files"


def full_disk(random: Random, share: float, folder: Path, expected: str, sizes: Sequence[int]) -> str:
    """Give a run too little room for its files: a limit on their size, or a small file system where that is allowed."""
    # Not even for an empty checkpoint, for a part of it, or for all of it but not for the report.
    levels = [0, EMPTY, *sizes]
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
    holds(end, "a full disk does not end the process")
    problem = end["error"] or ""
    holds(not problem or str(folder) in problem, f"an error names its file: {problem[:200]}")
    holds(problem or end["result"] == expected, "a run that ends well ends with the same bits")
    holds(not end["result"] or end["result"] == expected, "a full disk costs no result that was computed")
    for warning in end["warnings"]:
        holds("run.json could not be written" in warning, f"a warning is about the checkpoint: {warning[:200]}")
    check_end(Child("select", folder).finish(), expected, folder)
    return f"{what}: {problem or str(len(end['warnings'])) + ' warnings'}"


def may_mount() -> bool:
    """Tell whether a file system can be mounted for one process alone."""
    command = ["unshare", "--mount", "--map-root-user", "mount", "-t", "tmpfs", "none", "/mnt"]
    return (
        shutil.which("unshare") is not None
        and subprocess.run(command, check=False, capture_output=True).returncode == 0
    )


def dead_worker(random: Random, share: float, folder: Path, expected: str, _: Sequence[int]) -> str:
    """Kill a worker process; the run ends with an error that has the finished part, and another one goes on."""
    child = Child("workers", folder, "--pause", random.choice((0.0, 1.0)), "--jobs", 2)
    child.read(round(share * N_SUBSAMPLES) + 1)
    time.sleep(random.uniform(0, 0.05))
    pids = workers_of(child.process.pid)
    for pid in random.sample(pids, min(len(pids), random.choice((1, 1, 2)))):
        os.kill(pid, signal.SIGKILL)
    end = child.finish()
    holds(end, "the death of a worker does not end the process")
    told = [int(line) for line in child.lines if line.strip().isdigit()]
    if end["error"] is None:
        holds(end["result"] == expected, "a run that ends well ends with the same bits")
    else:
        holds(re.search("Worker|Pool|Executor", end["error"]), f"the error is about workers: {end['error'][:200]}")
        holds(not told or end["finished"] is not None, "the error has the finished part")
    kept = check_files(folder)
    holds(not told or kept >= max(told), "the checkpoint has all that was told")
    check_end(Child("workers", folder, "--jobs", 2).finish(), expected, folder)
    return f"{len(pids)} workers after {len(told)} subsamples: {(end['error'] or 'none was needed')[:60]}"


def workers_of(parent: int) -> list[int]:
    """Return the worker processes of a process, without joblib's housekeepers."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            above = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            command = (path / "cmdline").read_bytes()
        except OSError:
            # Gone in the meantime.
            continue
        if above == parent and b"popen_loky_posix" in command:
            found.append(int(path.name))
    return found


JOBS = {"kills": kills, "half_files": half_files, "full_disk": full_disk, "dead_worker": dead_worker}


def run_round(name: str, number: int, rounds: int, seed: int, whole: tuple[str, list[int]]) -> str:
    """Run one round; which moment of the run it disturbs depends on its number, the rest on the seed."""
    random = Random(f"{seed} {name} {number}")
    with tempfile.TemporaryDirectory() as folder:
        return JOBS[name](random, (number + random.random()) / rounds, Path(folder), *whole)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the rounds of every kind of fault; 1 if a property did not hold."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.faults", description=__doc__)
    parser.add_argument("--rounds", type=int, default=10, help="rounds of each kind (default: 10)")
    parser.add_argument("--only", choices=list(JOBS), nargs="+", default=list(JOBS))
    parser.add_argument("--seed", type=int, default=int(time.time()), help="repeats a run; new ones by default")
    given = parser.parse_args(argv)
    print(f"seed {given.seed}; {'' if may_mount() else 'no file system can be mounted here: only limits on files'}")
    whole, failed = undisturbed(), 0
    for name in given.only:
        for number in range(given.rounds):
            try:
                said = run_round(name, number, given.rounds, given.seed, whole)
            except (Broken, ValueError) as problem:
                failed += 1
                again = f"--only {name} --rounds {given.rounds} --seed {given.seed}"
                said = f"FAILED: {problem}\n  python -m fuzz.faults {again}"
            print(f"{name} {number + 1}/{given.rounds}: {said}", flush=True)
    print(f"{failed} of {given.rounds * len(given.only)} rounds failed.")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
