"""The fuzzing job: case after case until the time is up, where it stopped the last time; what it finds is kept."""

from __future__ import annotations

import faulthandler
import hashlib
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fuzz import frames, records, tables, words
from fuzz.judge import SECONDS, Problem, judge
from fuzz.target import EXAMPLES, Target, from_text, run_case, to_text

FOLDER = Path(__file__).parents[1] / ".fuzz"
TARGETS = {each.name: each for part in (tables, records, words, frames) for each in part.TARGETS}
# Far beyond what any case needs; a reader that asks for more is at fault.
MOST_BYTES = 12 * 2**30
# A call that hears no alarm is given up after this many times its limit.
DEAF = 3


class Notes:
    """The folder of the job: the next number of each target, the input under way, and what was found."""

    def __init__(self, folder: Path) -> None:
        """Make the folder if there is none."""
        self.findings, self._state, self.under_way = (
            folder / "findings",
            folder / "state.json",
            folder / "under-way.json",
        )
        self.findings.mkdir(parents=True, exist_ok=True)

    def next_number(self, name: str) -> int:
        """Return the number of the next case of a target."""
        return int(self._numbers().get(name, 0))

    def finish(self, name: str, number: int) -> None:
        """Note that a case is done."""
        fresh = self._state.with_suffix(".new")
        fresh.write_text(json.dumps({**self._numbers(), name: number + 1}))
        fresh.replace(self._state)

    def _numbers(self) -> dict[str, int]:
        return dict(json.loads(self._state.read_text())) if self._state.exists() else {}

    def known(self) -> set[tuple[str, str]]:
        """Return the defects that were found, each by its target and place."""
        found = (json.loads(path.read_text()) for path in self.findings.glob("*.json"))
        return {(each["target"], each["place"]) for each in found}

    def keep(self, name: str, number: int, value: Any, problem: Problem) -> Path:
        """Write what was found into a file, and say how to see it again."""
        mark = hashlib.blake2b(problem.place.encode(), digest_size=4).hexdigest()
        path = self.findings / f"{name}-{mark}.json"
        head = json.dumps({"target": name, "case": number, "place": problem.place, "problem": problem.text}, indent=1)
        path.write_text(f'{head[:-2]},\n "input": {to_text(value)}\n}}\n')
        print(f"FOUND {name}, case {number}: {problem.text}\n  python -m fuzz --replay {path}", flush=True)
        return path


def replay(path: Path, targets: Mapping[str, Target] = TARGETS) -> Problem | None:
    """Repeat the input in a file, and return what is wrong with what comes of it."""
    found = from_text(path.read_text())
    return judge(targets[found["target"]].check, found["input"])


def one_case(target: Target, number: int, notes: Notes, examples: int = EXAMPLES) -> None:
    """Run one case of a target, and keep what it finds unless that is known."""
    known = notes.known()

    def is_bad(value: Any) -> bool:
        # If this input ends the process, the one that started it reads here which it was.
        notes.under_way.write_text(to_text({"target": target.name, "case": number, "input": value}))
        faulthandler.dump_traceback_later(DEAF * SECONDS, exit=True, file=2)
        problem = judge(target.check, value)
        faulthandler.cancel_dump_traceback_later()
        return problem is not None and (target.name, problem.place) not in known

    try:
        value = run_case(target, number, is_bad, examples)
    finally:
        # Left there only if the process is gone.
        notes.under_way.unlink(missing_ok=True)
    if value is not None:
        problem = judge(target.check, value)
        notes.keep(target.name, number, value, problem or Problem("comes and goes", "a problem that comes and goes"))


def run_until(deadline: float, names: Sequence[str], notes: Notes, clock: Callable[[], float] = time.time) -> int:
    """Run the targets in turn until the time is up; return how many cases there were."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, resource.getrlimit(resource.RLIMIT_AS)[1]))
    done = 0
    while clock() < deadline:
        name = names[done % len(names)]
        number = notes.next_number(name)
        one_case(TARGETS[name], number, notes)
        notes.finish(name, number)
        done += 1
    return done


def supervise(deadline: float, names: Sequence[str], folder: Path) -> None:
    """Let another process run the cases; if an input ends it, keep that input and go on with the next case."""
    notes = Notes(folder)
    command = [sys.executable, "-m", "fuzz", "--until", str(deadline), "--folder", str(folder), "--target", *names]
    while time.time() < deadline:
        code = subprocess.run(command, check=False).returncode
        if code == 0:
            return
        if not notes.under_way.exists():
            raise RuntimeError(f"the job itself ended with code {code}.")
        killer = from_text(notes.under_way.read_text())
        place = f"ends the process with code {code}"
        notes.keep(killer["target"], killer["case"], killer["input"], Problem(place, place))
        notes.finish(killer["target"], killer["case"])
        notes.under_way.unlink()
