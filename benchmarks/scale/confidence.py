"""Is the confidence right where subsamples are a small part of the rows? ``python -m benchmarks.scale.confidence``.

Generated sets of the kinds that the model was fitted on, but not those sets: once as they are, and once with forty
times as many rows and subsamples of the same size, where stability is seen on rows that all subsamples label. It
adds what is missing to results/confidence.jsonl.
"""

from __future__ import annotations

import argparse
import json
import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.confidence.fit import LEAST_RECALL
from benchmarks.confidence.generate import generate
from benchmarks.confidence.measure import FEWEST_KS, MOST_ROWS, candidates
from compsil_kit import select_k
from compsil_kit._method.subsample import resolve_sample_size

RESULTS = Path(__file__).parent / "results" / "confidence.jsonl"
# Far from the numbers of the sets that the model was fitted on.
FIRST, N_SETS = 1_000_000, 400
MORE = 40
MOST_DISTINCT = 20_000


def measured(number: int) -> dict[str, Any]:
    """Return what is said of one set, few and many rows of it, and whether it is right."""
    few, many = generate(number), generate(number, MORE)
    # Of many rows, a part tells how many distinct ones there are.
    ks = sorted({*candidates(few)} & {*candidates(replace(many, X=many.X[:MOST_DISTINCT]))})
    record: dict[str, Any] = {"number": number, "k": few.k, "rows": len(few.X), "columns": few.X.shape[1]}
    if len(ks) < FEWEST_KS or few.recalls().min() < LEAST_RECALL:
        return record
    size = min(MOST_ROWS, resolve_sample_size("auto", len(few.X), max(ks)))
    for name, X in (("few", few.X), ("many", many.X)):
        result = select_k(X, ks=ks, sample_size=size, random_state=number, on_failure="skip", progress=False)
        if result.confidence_note:
            continue
        likely = result.reweigh(criterion="likely")
        record[name] = {
            kind: [round(float(each.confidence[each._best_index]), 4), each.best_k == few.k]
            for kind, each in (("composite", result), ("likely", likely))
        }
    return record


def main() -> None:
    """Measure the sets that are missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=N_SETS)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    options = parser.parse_args()
    known = {json.loads(line)["number"] for line in RESULTS.read_text().splitlines()} if RESULTS.exists() else set()
    missing = [number for number in range(FIRST, FIRST + options.sets) if number not in known]
    with ProcessPoolExecutor(options.workers) as pool, RESULTS.open("a") as file:
        for record in pool.map(measured, missing):
            print(json.dumps(record), file=file, flush=True)


if __name__ == "__main__":
    main()
