"""Run CARVE 1.0.0 on the same data sets: ``python benchmarks/truth/run_carve.py convex.npz carve.jsonl``.

This needs a separate environment with Python 3.12, NumPy, scikit-learn and ``carve-validate``, without this package.
"""

from __future__ import annotations

import json
import sys
import warnings

import numpy as np
from carve import CARVE
from sklearn.cluster import KMeans

warnings.filterwarnings("ignore")
# Use a small budget, because CARVE fits a random forest for each resample and k.
N_RESAMPLES, N_TREES, MAX_ROWS, SEED = 10, 25, 500, 0


def main(source: str, target: str) -> None:
    """Write the k selected by each CARVE rule from the same candidates as for the other criteria."""
    with np.load(source) as stored, open(target, "w") as file:
        for key in sorted(key for key in stored.files if key.startswith("X_")):
            X, k = np.asarray(stored[key], dtype=float), len(np.unique(stored[f"y_{key[2:]}"]))
            if key.startswith("X_real_"):
                X = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
            X = X[np.random.default_rng(SEED).permutation(len(X))[:MAX_ROWS]]
            ks = [each for each in range(max(2, k - 5), k + 6) if 4 * each < len(X)]
            record = {"set": key[2:], "k": k, "choices": {}}
            try:
                # Use the same clusterer as for the other criteria.
                grid = [(KMeans, {"n_clusters": ks, "n_init": [5]})]
                model = CARVE(
                    n_clusters=np.array(ks), n_resamples=N_RESAMPLES, n_trees=N_TREES, estimator_param_grids=grid,
                    random_state=SEED,
                ).fit(X)  # fmt: skip
                for measure in ("stability", "generalizability"):
                    for rule in ("max", "1se"):
                        record["choices"][f"{measure}, {rule}"] = int(model.get_k(measure=measure, rule=rule))
            except Exception as error:  # noqa: BLE001  (failures of CARVE are recorded)
                record["failed"] = type(error).__name__
            print(json.dumps(record), file=file, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
