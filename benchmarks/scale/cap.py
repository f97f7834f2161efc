"""Compare limits on the size of subsamples with the paper's 40 % on data sets of 200,000 rows.

One limit is run twice with different subsamples, to show the effect of noise alone.
``python -m benchmarks.scale.cap`` adds missing runs to results/cap.jsonl.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

from tqdm import tqdm

from benchmarks.scale.sets import N_ROWS, SETS, generate
from compsil_kit import select_k

RESULTS = Path(__file__).parent / "results" / "cap.jsonl"
N_SEEDS, N_SUBSAMPLES = 10, 10
# Requested sizes, keyed by their name in the results.
SIZES: dict[str, int | str] = {"5000": 5_000, "10000": 10_000, "20000": 20_000, "again": 20_000, "paper": "paper"}
# Number of candidates above the true k.
BEYOND = 4


def runs() -> list[dict[str, object]]:
    """Return the finished runs."""
    return [json.loads(line) for line in RESULTS.read_text().splitlines()] if RESULTS.exists() else []


def main() -> None:
    """Run the missing runs."""
    done = {(run["set"], run["seed"], str(run["asked"])) for run in runs()}
    todo = [(name, seed, asked) for seed in range(N_SEEDS) for name in SETS for asked in SIZES]
    for name, seed, asked in tqdm([job for job in todo if job not in done]):
        X = generate(name, seed)
        started, cpu = time.perf_counter(), time.process_time()
        ks = range(2, SETS[name].k + BEYOND + 1)
        drawn = seed + N_SEEDS if asked == "again" else seed
        result = select_k(X, ks=ks, sample_size=SIZES[asked], n_subsamples=N_SUBSAMPLES, random_state=drawn)
        found = {
            "set": name, "seed": seed, "asked": asked, "size": result.plan.sample_size, "rows": N_ROWS,
            "k": SETS[name].k, "best": result.best_k,
            "probability": float(result.selection_probability[result._best_index]),
            "scores": [round(float(score), 6) for score in result.scores],
            "seconds": round(time.perf_counter() - started, 2), "cpu": round(time.process_time() - cpu, 2),
        }  # fmt: skip
        with RESULTS.open("a") as file:
            file.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
