"""Compare the labels of compiled k-means with scikit-learn's: ``python -m benchmarks.kmeans_labels --fits 20000``.

The random data sets have difficult shapes, sizes, scales and dtypes; k, seeds, initialisations and tolerances vary.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from compsil_kit._kmeans.fit import Fits

Array = NDArray[Any]

SIZES, FEATURES = (20, 60, 128, 129, 256, 257, 300, 700, 1500), (1, 2, 3, 4, 5, 8, 10, 17, 33, 64)
KINDS = ("blobs", "normal", "uniform", "lattice", "copies", "constant", "far", "offset", "line", "scales", "rounded")


def make(kind: str, rng: np.random.Generator) -> Array:
    """Return a data set of the given kind and a random size."""
    m, d = int(rng.choice(SIZES)), int(rng.choice(FEATURES))
    if kind == "blobs":
        seed, spread = int(rng.integers(10**6)), float(rng.uniform(0.1, 5))
        return np.asarray(make_blobs(m, d, centers=int(rng.integers(2, 12)), cluster_std=spread, random_state=seed)[0])
    X = rng.normal(size=(m, d))
    ones = np.ones((m, d))
    changed: dict[str, Callable[[], Array]] = {
        "normal": lambda: X,
        "uniform": lambda: rng.uniform(size=(m, d)),
        "lattice": lambda: rng.integers(0, int(rng.integers(2, 6)), size=(m, d)) * ones,
        "copies": lambda: X[rng.integers(0, max(12, m // 4), m)],
        "constant": lambda: np.where(np.arange(d) == rng.integers(d), 3.7, X),
        "far": lambda: np.where(np.arange(m)[:, None] == rng.integers(m), X * 10.0 ** rng.integers(1, 6), X),
        "offset": lambda: X + 10.0 ** rng.integers(1, 7),
        "line": lambda: np.arange(m)[:, None] * ones,
        "scales": lambda: X * 10.0 ** rng.integers(-16, 16),
        "rounded": lambda: np.where(rng.uniform(size=(m, d)) < 0.5, X.round(1), X),
    }
    return changed[kind]()


def compare_fits(seed: int, n_fits: int, kind: str | None = None, dtype: str | None = None) -> Counter[str]:
    """Fit with both implementations, and count differences and fallbacks to scikit-learn."""
    rng, counts = np.random.default_rng(seed), Counter[str]()
    settings = {"assume_finite": True, "skip_parameter_validation": True}
    with threadpool_limits(1), sklearn.config_context(**settings), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        while counts["fits"] < n_fits:
            X = make(kind or str(rng.choice(KINDS)), rng).astype(dtype or str(rng.choice(["float32", "float64"])))
            fits = Fits(X, tol := float(rng.choice([1e-4, 1e-4, 0.0, 1e-2])))
            for k in np.unique(rng.integers(2, min(30, len(X) // 2), 5)).tolist():
                start = "k-means++" if rng.uniform() < 0.8 else X[rng.choice(len(X), k, replace=False)]
                keywords = {"n_init": int(rng.choice([1, 1, 3])), "max_iter": int(rng.choice([300, 300, 2, 5]))}
                if not isinstance(start, str):
                    keywords["n_init"] = 1
                draw = int(rng.integers(2**32))
                ours, theirs = (KMeans(k, init=start, tol=tol, random_state=draw, **keywords) for _ in range(2))
                counts["different"] += not np.array_equal(fits.labels(ours), theirs.fit(X).labels_)
            counts += fits.counts
    return counts


def main() -> int:
    """Print the counts, and return 1 as the exit status if any labels differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fits", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    counts = compare_fits(given.seed, given.fits)
    print(", ".join(f"{counts[name]:,} {name}" for name in ("fits", "different", "settled", "starts", "handed over")))
    return int(counts["different"] > 0)


if __name__ == "__main__":
    sys.exit(main())
