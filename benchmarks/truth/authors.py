"""Compare the authors' package with our composite on 52 sets: ``python -m benchmarks.truth.authors``."""

from __future__ import annotations

import json

import numpy as np

from benchmarks.paper.runs import authors_package
from benchmarks.truth.runs import RESULTS, sets
from compsil_kit import select_k

# Use a small budget, because the authors' package is slow.
MAX_ROWS, SEEDS = 1000, list(range(10))


def main() -> None:
    """Write the choices of both packages, and the largest difference between their scores."""
    with (RESULTS / "authors.jsonl").open("w") as file:
        for name, data in sets().items():
            if data.collection != "collection":
                continue
            X = data.load()
            X = X[np.random.default_rng(0).permutation(len(X))[:MAX_ROWS]]
            settings = {"ks": [k for k in data.ks if 3 * k < len(X)], "random_state": SEEDS}
            ours = select_k(X, n_subsamples=len(SEEDS), progress=False, **settings)
            table, theirs = authors_package(X, settings)
            apart = float(np.abs(ours.scores - table["S_mM"].to_numpy()).max())
            record = {"set": name, "k": data.k, "authors": theirs, "ours": ours.best_k, "apart": apart}
            print(json.dumps(record), file=file, flush=True)


if __name__ == "__main__":
    main()
