"""Run all criteria on all labelled sets with ten seeds each: ``python -m benchmarks.truth.runs``. Can be resumed."""

from __future__ import annotations

import argparse
import json
import os
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.confidence.measure import plain_numbers, read
from benchmarks.truth.sets import MAX_ROWS, Labelled, labelled
from compsil_kit import SelectionResult, select_k
from compsil_kit._method.subsample import resolve_sample_size

RESULTS = Path(__file__).parent / "results"
N_SUBSAMPLES, N_SEEDS, STARTS = 30, 10, (1, 5)


@cache
def sets() -> dict[str, Labelled]:
    """Return the labelled sets, keyed by name."""
    return {each.name: each for each in labelled()}


def run(name: str, seed: int) -> dict[str, Any]:
    """Return the results of selections on one set with one and with five initialisations."""
    data = sets()[name]
    X = data.load()
    ks = [k for k in data.ks if 3 * k < len(X)]
    size = min(MAX_ROWS, resolve_sample_size("auto", len(X), ks[-1]))
    record: dict[str, Any] = {
        "set": name, "collection": data.collection, "seed": seed, "k": data.k, "n": len(X), "d": X.shape[1], "ks": ks,
    }  # fmt: skip
    for starts in STARTS:
        result = select_k(
            X, ks=ks, n_starts=starts, n_subsamples=N_SUBSAMPLES, sample_size=size, random_state=seed,
            on_failure="skip", progress=False,
        )  # fmt: skip
        record[str(starts)] = {**plain_numbers(result), "probability": _plain(result.selection_probability)}
        record[f"choices {starts}"] = _choices(result)
    return record


def _choices(result: SelectionResult) -> dict[str, int | None]:
    return {name: result.choices[name] for name in ("composite", "micro", "macro")}


def _plain(values: NDArray[np.float64]) -> list[float | None]:
    return [round(float(value), 4) if np.isfinite(value) else None for value in values]


def main() -> None:
    """Run the selections that are not yet in the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=N_SEEDS)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--out", type=Path, default=RESULTS / "runs.jsonl")
    options = parser.parse_args()
    facts = {name: each.facts() for name, each in sets().items() if each.y is not None}
    (RESULTS / "facts.json").write_text(json.dumps(facts, indent=1) + "\n")
    known = {(record["set"], record["seed"]) for record in read(options.out)}
    # Run seed by seed, so that an interrupted run has the same seeds for every set.
    todo = [(name, seed) for seed in range(options.seeds) for name in sets() if (name, seed) not in known]
    with ProcessPoolExecutor(options.workers) as pool, options.out.open("a") as file:
        for record in pool.map(run, *zip(*todo, strict=True)) if todo else ():
            print(json.dumps(record), file=file, flush=True)


if __name__ == "__main__":
    main()
