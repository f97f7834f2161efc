"""Fuzz every reader and parser for ten minutes: ``python -m fuzz`` or ``make fuzz``."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from fuzz.job import FOLDER, TARGETS, State, one_case, replay, run_until, supervise


def main(argv: Sequence[str] | None = None) -> int:
    """Run all targets, a single case or a single input; return 1 if there are findings."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    add = parser.add_argument
    add("--minutes", type=float, default=10.0, help="duration (default: 10); the next run continues with the next case")
    add("--target", nargs="+", choices=list(TARGETS), default=list(TARGETS), help="run only these targets")
    add("--seed", type=int, metavar="N", help="run only case number N of each target")
    add("--replay", type=Path, metavar="FILE", help="run only the input stored in a file")
    add("--folder", type=Path, default=FOLDER, help="folder for the state and the findings (default: .fuzz)")
    add("--until", type=float, help=argparse.SUPPRESS)
    given = parser.parse_args(argv)
    if given.replay:
        problem = replay(given.replay)
        print("no problem" if problem is None else f"{problem.place}: {problem.text}")
        return int(problem is not None)
    state = State(given.folder)
    if given.until is not None:
        run_until(given.until, given.target, state)
        return 0
    if given.seed is not None:
        for name in given.target:
            one_case(TARGETS[name], given.seed, state)
    else:
        try:
            supervise(time.time() + 60 * given.minutes, given.target, given.folder)
        except KeyboardInterrupt:
            print("Interrupted. The next run continues with the next case.")
    found = sorted(state.findings.glob("*.json"))
    cases = sum(state.next_number(name) for name in given.target)
    print(f"{cases} cases so far, {len(found)} findings{' in ' + str(state.findings) if found else ''}.")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
