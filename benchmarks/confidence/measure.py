"""Run selections on the generated data sets: ``python -m benchmarks.confidence.measure``.

Writes one line per data set. After an interruption, the same command resumes.
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
from compsil_kit.plan import Plan

# The features of the model are means over subsamples, so small budgets only make them noisier.
N_SUBSAMPLES, MAX_ROWS, STARTS, MIN_KS = 6, 1500, (1, 5), 3


def measured(number: int) -> dict[str, Any]:
    """Return the properties of a data set, and the selections with one and with several initialisations."""
    data = generate(number)
    ks = candidates(data)
    size = min(MAX_ROWS, resolve_sample_size("auto", len(data.X), max(ks, default=2)))
    record: dict[str, Any] = {"number": number, "k": data.k, "n": len(data.X), "d": data.X.shape[1], "ks": ks}
    record["recall"] = round(float(data.recalls().min()), 4)
    if len(ks) < MIN_KS:
        # There are too few distinct rows for the candidates.
        return record
    for starts in STARTS:
        result = select_k(
            data.X, ks=ks, n_starts=starts, n_subsamples=N_SUBSAMPLES, sample_size=size, random_state=number,
            on_failure="skip", progress=False,
        )  # fmt: skip
        record[str(starts)] = plain_numbers(result)
    return record


def candidates(data: Generated) -> list[int]:
    """Return the candidates for which a data set has enough rows and enough distinct rows."""
    n_distinct = len(np.unique(data.X, axis=0))
    return [k for k in data.ks if 2 * k <= n_distinct and 4 * k <= len(data.X)]


def plan_of(record: dict[str, Any], n_starts: int, n_subsamples: int) -> Plan:
    """Return a plan with the attributes that the model uses from a measured selection."""
    shape, ks, seeds = (record["n"], record["d"]), tuple(record["ks"]), tuple(range(n_subsamples))
    return Plan(*shape, ks, n_subsamples, 0, record["n"], seeds, "kmeans", "euclidean", "float64", n_starts)


def plain_numbers(result: SelectionResult) -> dict[str, list[float | None]]:
    """Return the numbers for each k from which the features are computed, as plain data for JSON."""
    found = likelihood.means({name: getattr(result.trials, name) for name in likelihood.INPUTS})
    others = {"micro": result.micro, "macro": result.macro, "composite": result.composite}
    found |= {name: finite_mean(values) for name, values in others.items()}
    return {name: [round(float(v), 6) if np.isfinite(v) else None for v in found[name]] for name in found}


def main() -> None:
    """Measure the data sets that are not yet in the file."""
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
    """Yield the records in a file; skip a truncated last line."""
    if not path.exists():
        return
    for line in path.read_text().splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            continue


if __name__ == "__main__":
    main()
