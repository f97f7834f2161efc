"""Measure the calibration of the confidence with small subsamples: ``python -m benchmarks.scale.confidence``.

New generated sets of the kinds used for fitting the model, as generated and with forty times as many rows and
subsamples of the same size, where the stability is measured on rows common to all subsamples. Adds missing runs to
results/confidence.jsonl.
"""

from __future__ import annotations

import argparse
import json
import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.confidence.fit import MIN_RECALL
from benchmarks.confidence.generate import generate
from benchmarks.confidence.measure import MAX_ROWS, MIN_KS, candidates
from compsil_kit import select_k
from compsil_kit._method.subsample import resolve_sample_size

RESULTS = Path(__file__).parent / "results" / "confidence.jsonl"
# These indices are outside the range that was used for fitting the model.
FIRST, N_SETS = 1_000_000, 400
MORE = 40
MAX_DISTINCT_ROWS = 20_000


def measured(number: int) -> dict[str, Any]:
    """Return the confidence on one data set with few and with many rows, and whether the choices are correct."""
    few, many = generate(number), generate(number, MORE)
    # A part of the rows is sufficient to count distinct rows.
    ks = sorted({*candidates(few)} & {*candidates(replace(many, X=many.X[:MAX_DISTINCT_ROWS]))})
    record: dict[str, Any] = {"number": number, "k": few.k, "rows": len(few.X), "columns": few.X.shape[1]}
    if len(ks) < MIN_KS or few.recalls().min() < MIN_RECALL:
        return record
    size = min(MAX_ROWS, resolve_sample_size("auto", len(few.X), max(ks)))
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
    """Measure the data sets without results."""
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
