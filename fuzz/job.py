"""Run cases until a deadline, continuing after the last case, and store the findings."""

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
# Memory limit, far above what any case needs.
MAX_BYTES = 12 * 2**30
# A call that blocks the alarm signal is killed after this multiple of its time limit.
KILL_FACTOR = 3


class State:
    """The folder with the state of the job: the next case for each target, the current input, and the findings."""

    def __init__(self, folder: Path) -> None:
        """Create the folder if necessary."""
        self.findings, self._state, self.current = (
            folder / "findings",
            folder / "state.json",
            folder / "current.json",
        )
        self.findings.mkdir(parents=True, exist_ok=True)

    def next_number(self, name: str) -> int:
        """Return the number of the next case for a target."""
        return int(self._numbers().get(name, 0))

    def finish(self, name: str, number: int) -> None:
        """Record a finished case."""
        fresh = self._state.with_suffix(".new")
        fresh.write_text(json.dumps({**self._numbers(), name: number + 1}))
        fresh.replace(self._state)

    def _numbers(self) -> dict[str, int]:
        return dict(json.loads(self._state.read_text())) if self._state.exists() else {}

    def known(self) -> set[tuple[str, str]]:
        """Return the target and the place for each finding."""
        found = (json.loads(path.read_text()) for path in self.findings.glob("*.json"))
        return {(each["target"], each["place"]) for each in found}

    def keep(self, name: str, number: int, value: Any, problem: Problem) -> Path:
        """Write a finding to a file, and print how to replay it."""
        mark = hashlib.blake2b(problem.place.encode(), digest_size=4).hexdigest()
        path = self.findings / f"{name}-{mark}.json"
        head = json.dumps({"target": name, "case": number, "place": problem.place, "problem": problem.text}, indent=1)
        path.write_text(f'{head[:-2]},\n "input": {to_text(value)}\n}}\n')
        print(f"FOUND {name}, case {number}: {problem.text}\n  python -m fuzz --replay {path}", flush=True)
        return path


def replay(path: Path, targets: Mapping[str, Target] = TARGETS) -> Problem | None:
    """Run the input in a file, and return the problem or None."""
    found = from_text(path.read_text())
    return judge(targets[found["target"]].check, found["input"])


def one_case(target: Target, number: int, state: State, examples: int = EXAMPLES) -> None:
    """Run one case for a target, and store the finding if it is new."""
    known = state.known()

    def is_bad(value: Any) -> bool:
        # If this input kills the process, the supervisor reads the input from this file.
        state.current.write_text(to_text({"target": target.name, "case": number, "input": value}))
        faulthandler.dump_traceback_later(KILL_FACTOR * SECONDS, exit=True, file=2)
        problem = judge(target.check, value)
        faulthandler.cancel_dump_traceback_later()
        return problem is not None and (target.name, problem.place) not in known

    try:
        value = run_case(target, number, is_bad, examples)
    finally:
        # The file remains only if the process is killed.
        state.current.unlink(missing_ok=True)
    if value is not None:
        problem = judge(target.check, value)
        state.keep(target.name, number, value, problem or Problem("intermittent", "an intermittent problem"))


def run_until(deadline: float, names: Sequence[str], state: State, clock: Callable[[], float] = time.time) -> int:
    """Run the targets in turn until the deadline; return the number of cases."""
    resource.setrlimit(resource.RLIMIT_AS, (MAX_BYTES, resource.getrlimit(resource.RLIMIT_AS)[1]))
    done = 0
    while clock() < deadline:
        name = names[done % len(names)]
        number = state.next_number(name)
        one_case(TARGETS[name], number, state)
        state.finish(name, number)
        done += 1
    return done


def supervise(deadline: float, names: Sequence[str], folder: Path) -> None:
    """Run the cases in another process; if an input kills it, store the input and continue with the next case."""
    state = State(folder)
    command = [sys.executable, "-m", "fuzz", "--until", str(deadline), "--folder", str(folder), "--target", *names]
    while time.time() < deadline:
        code = subprocess.run(command, check=False).returncode
        if code == 0:
            return
        if not state.current.exists():
            raise RuntimeError(f"the fuzzing process exited with code {code}.")
        killer = from_text(state.current.read_text())
        place = f"kills the process with code {code}"
        state.keep(killer["target"], killer["case"], killer["input"], Problem(place, place))
        state.finish(killer["target"], killer["case"])
        state.current.unlink()
