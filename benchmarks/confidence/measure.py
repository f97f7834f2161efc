"""What selections say of the generated data sets, kept line by line: ``python -m benchmarks.confidence.measure``.

The work may be stopped at any time; the same command goes on where it ended.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.confidence.generate import Generated, generate
from compsil_kit import SelectionResult, select_k
from compsil_kit._method import likelihood
from compsil_kit._method.selection import finite_mean
from compsil_kit._method.subsample import resolve_sample_size

# Small budgets: what the model sees are means over subsamples, which these estimate as well as more would, but noisier.
N_SUBSAMPLES, MOST_ROWS, STARTS, FEWEST_KS = 6, 1500, (1, 5), 3


def measured(number: int) -> dict[str, Any]:
    """Return what is known of one data set, and what selections of one start and of several say of it."""
    made = generate(number)
    ks = candidates(made)
    size = min(MOST_ROWS, resolve_sample_size("auto", len(made.X), max(ks, default=2)))
    record: dict[str, Any] = {"number": number, "k": made.k, "n": len(made.X), "d": made.X.shape[1], "ks": ks}
    record["recall"] = round(float(made.recalls().min()), 4)
    if len(ks) < FEWEST_KS:
        # Too few distinct rows for the candidates.
        return record
    for starts in STARTS:
        result = select_k(
            made.X, ks=ks, n_starts=starts, n_subsamples=N_SUBSAMPLES, sample_size=size, random_state=number,
            on_failure="skip", progress=False,
        )  # fmt: skip
        record[str(starts)] = plain_numbers(result)
    return record


def candidates(made: Generated) -> list[int]:
    """Return those of a set's candidates for which it has enough rows, and enough distinct ones."""
    n_distinct = len(np.unique(made.X, axis=0))
    return [k for k in made.ks if 2 * k <= n_distinct and 4 * k <= len(made.X)]


def plain_numbers(result: SelectionResult) -> dict[str, list[float | None]]:
    """Return the numbers per k that the model is made of, for JSON."""
    found = likelihood.means({name: getattr(result.trials, name) for name in likelihood.NUMBERS})
    others = {"micro": result.micro, "macro": result.macro, "composite": result.composite}
    found |= {name: finite_mean(values) for name, values in others.items()}
    return {name: [round(float(v), 6) if np.isfinite(v) else None for v in found[name]] for name in found}


def main() -> None:
    """Measure the data sets that are not in the file yet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=5570)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--out", type=Path, default=Path("benchmarks/confidence/measured.jsonl"))
    options = parser.parse_args()
    known = {record["number"] for record in read(options.out)}
    missing = [number for number in range(options.first, options.first + options.sets) if number not in known]
    with ProcessPoolExecutor(options.workers) as pool, options.out.open("a") as file:
        for done, record in enumerate(pool.map(measured, missing, chunksize=4), start=len(known) + 1):
            print(json.dumps(record), file=file, flush=True)
            if done % 100 == 0:
                print(f"{done:,} of {options.sets:,} data sets", flush=True)


def read(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the records of a file; a last line that was cut off is passed over."""
    if not path.exists():
        return
    for line in path.read_text().splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            continue


if __name__ == "__main__":
    main()
