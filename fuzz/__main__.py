"""``python -m fuzz``: ten minutes of hostile input for every reader and parser; ``make fuzz`` calls it."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from fuzz.job import FOLDER, TARGETS, Notes, one_case, replay, run_until, supervise


def main(argv: Sequence[str] | None = None) -> int:
    """Run the job, one case of it or one input; 1 if something was found."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    add = parser.add_argument
    add("--minutes", type=float, default=10.0, help="how long (default: 10); the next run goes on with the next case")
    add("--target", nargs="+", choices=list(TARGETS), default=list(TARGETS), help="only these")
    add("--seed", type=int, metavar="N", help="only case number N of each target")
    add("--replay", type=Path, metavar="FILE", help="only the input in a file")
    add("--folder", type=Path, default=FOLDER, help="where cases are counted and findings kept (default: .fuzz)")
    add("--until", type=float, help=argparse.SUPPRESS)
    given = parser.parse_args(argv)
    if given.replay:
        problem = replay(given.replay)
        print("nothing wrong" if problem is None else f"{problem.place}: {problem.text}")
        return int(problem is not None)
    notes = Notes(given.folder)
    if given.until is not None:
        run_until(given.until, given.target, notes)
        return 0
    if given.seed is not None:
        for name in given.target:
            one_case(TARGETS[name], given.seed, notes)
    else:
        try:
            supervise(time.time() + 60 * given.minutes, given.target, given.folder)
        except KeyboardInterrupt:
            print("Stopped; the next run goes on from here.")
    found = sorted(notes.findings.glob("*.json"))
    cases = sum(notes.next_number(name) for name in given.target)
    print(f"{cases} cases so far, {len(found)} findings{' in ' + str(notes.findings) if found else ''}.")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
