"""Reproduce the paper: run the missing units, analyse their trials, and write docs/evidence.md.

Ctrl-C stops the run at any time; the next call resumes.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import joblib
from tqdm import tqdm

if not __package__:
    # Make the root folder importable if this module is run as `python benchmarks/paper`.
    sys.path[0] = str(Path(__file__).parents[2])

from benchmarks.paper import analysis, evidence, tables
from benchmarks.paper.data import SETS
from benchmarks.paper.outcomes import Results
from benchmarks.paper.protocols import Unit, quick_units, units
from benchmarks.paper.runs import MISSING, attempt, warm_up
from benchmarks.paper.store import RESULTS, Store

QUICK = RESULTS.with_name("results-quick")


def attempts(todo: Sequence[Unit], workers: int) -> Iterator[Any]:
    """Yield finished units from one or several processes. Timed units run last, one by one, in this process."""
    timed = [unit for unit in todo if unit.timed]
    shared = [unit for unit in todo if not unit.timed]
    if workers == 1:
        yield from map(attempt, shared)
    else:
        yield from joblib.Parallel(n_jobs=workers, return_as="generator_unordered", pre_dispatch=workers)(
            joblib.delayed(attempt)(unit) for unit in shared
        )
    if timed:
        warm_up()
    yield from map(attempt, timed)


def reproduce(store: Store, wanted: Sequence[Unit], workers: int) -> dict[str, str]:
    """Run the unfinished units, and return the missing sets and the reasons."""
    missing: dict[str, str] = {}
    with store.writing():
        done = store.done()
        todo = [unit for unit in wanted if unit.name not in done]
        print(f"{len(wanted) - len(todo)} of {len(wanted)} units are finished, {len(todo)} remain.", flush=True)
        bar = tqdm(total=len(todo), unit="unit", mininterval=1.0, dynamic_ncols=True)
        try:
            for unit, record, selection, problem in attempts(todo, workers):
                if record is None:
                    # Timed units, which run in this process, then skip the set without requesting it again.
                    missing[unit.data] = MISSING[unit.data] = problem
                else:
                    store.add(record, selection)
                    done.add(unit.name)
                bar.set_postfix_str(unit.name, refresh=False)
                bar.update()
        finally:
            # Record missing sets even if the run was interrupted.
            bar.close()
            unfinished = {unit.data for unit in wanted if unit.name not in done}
            store.note_missing(missing, found={unit.data for unit in wanted} - unfinished)
        store.tidy([unit.name for unit in units()])
    return missing


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.paper", description=__doc__)
    parser.add_argument("step", nargs="?", choices=("all", "run", "analyse", "evidence"), default="all",
                        help="run the units, analyse the trials, or write the page (default: all)")  # fmt: skip
    parser.add_argument(
        "--quick", action="store_true", help="run only the small sets with a few seeds, within five minutes"
    )
    parser.add_argument("--workers", type=int, default=2, help="number of processes (default: 2)")
    parser.add_argument(
        "--only", nargs="+", metavar="SET", choices=tuple(SETS), help="run only these sets, for example S1 Wne"
    )
    parser.add_argument(
        "--results", type=Path, metavar="FOLDER", help="store the results in this folder, and do not write the page"
    )
    arguments = parser.parse_args()
    if arguments.workers < 1:
        parser.error(f"--workers must be at least 1; got {arguments.workers}")
    store = Store(arguments.results or (QUICK if arguments.quick else RESULTS))
    wanted = [
        u for u in (quick_units() if arguments.quick else units()) if not arguments.only or u.data in arguments.only
    ]
    start = time.monotonic()
    if arguments.step in ("all", "run"):
        try:
            missing = reproduce(store, wanted, arguments.workers)
        except KeyboardInterrupt:
            print("\nInterrupted. Finished units are kept; the same command resumes.")
            return 130
        for data, problem in missing.items():
            print(f"missing: {data}. {problem}")
        print(f"Done in {time.monotonic() - start:.0f} s: {store.path}")
    if arguments.step in ("all", "analyse"):
        paths, notes = analysis.write(store)
        print("\n".join([*(f"Analysed: {path}" for path in paths), *notes]))
        print(f"\nTrue k selected, equal settings for all sets:\n\n{tables.recovery(Results(store.folder))}\n")
    if arguments.step in ("all", "evidence"):
        if store.folder != RESULTS:
            print("The page is not written: it requires the committed results, without --quick and --results.")
            return 2 if arguments.step == "evidence" else 0
        print("\n".join(f"Written: {path}" for path in evidence.write(store.folder)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
