"""Script that computes user-visible results. Its output must not depend on the CPU or its optimised kernels.

``python tests/answers.py PART [PART ...]`` prints one JSON object; PARTS contains the available parts.
"""

import json
import re
import sys
import warnings
from itertools import product

import numpy as np
import pandas as pd
from sklearn.datasets import load_wine, make_blobs

import compsil_pandas  # noqa: F401  (registers the accessor)
from compsil_kit import CompositeSilhouette, compare, prepare, select_k, silhouettes
from compsil_kit._method.clusterers import NAMED_CLUSTERERS
from compsil_kit._run import structure
from compsil_kit._show.cluster_plots import project
from compsil_kit.datasets import imbalanced_blobs


def _random(seed):
    return np.random.default_rng(seed)


def _normal(seed, *shape):
    return _random(seed).normal(size=shape)


def _white(seed):
    """Return points whose principal components all have the same variance."""
    X = _normal(seed, 240, 2 + seed)
    return np.linalg.qr(X - X.mean(axis=0))[0]


def _mirrored(seed):
    X = _normal(seed, 130, 2 + seed % 4)
    return np.vstack([X, -X])


def _standardised(seed):
    X = _normal(seed, 250, 2 + seed % 2)
    return (X - X.mean(axis=0)) / X.std(axis=0)


def _blobs(seed, n=400):
    return make_blobs(n, 3, centers=4, cluster_std=1.5, random_state=seed)[0]


def continuous():
    """Data sets in which rounding could affect directions and order, but no row is equally close to two centres."""
    kinds = {
        "round": lambda seed: _normal(seed, 200 + 100 * (seed % 3), 2 + seed),
        "equal spreads": _white,
        "copies": lambda seed: _normal(seed, 100, 3)[_random(seed + 1).integers(0, 100, 260)],
        "constant columns": lambda seed: np.pad(
            _normal(seed, 250, 2 + seed % 2), ((0, 0), (0, 1 + seed % 3)), constant_values=7.3
        ),
        "mirrored": _mirrored,
        "standardised": _standardised,
        "blobs": _blobs,
    }
    for kind, seed in product(kinds, range(5)):
        yield f"{kind} {seed}", kinds[kind](seed)
    yield "rank 2 of 5", _normal(1, 300, 2) @ _normal(2, 2, 5)
    yield "wide", _normal(3, 60, 150)
    yield "one column", _normal(4, 300, 1)
    yield "coin flip", np.column_stack([_blobs(5), _random(5).integers(0, 2, 400)])


def grids():
    """Data on a grid, where rows are equally close to two centres and scikit-learn's matrix product breaks the tie."""
    for seed in range(7):
        yield f"grid {seed}", _random(seed).integers(0, 3 + seed % 6, size=(300, 2 + seed % 4)).astype(float)
    yield "ratings", np.clip(np.round(_random(8).normal(3, 1, size=(300, 6))), 1, 5)
    yield "rounded", np.round(_blobs(9), 1)
    angles = np.linspace(0, 2 * np.pi, 240, endpoint=False)
    yield "circle", np.column_stack([np.cos(angles), np.sin(angles)])
    yield "corners", np.repeat(np.array(list(product([0.0, 1.0], repeat=3))), 30, axis=0)


def _rounded(values, decimals=9):
    # Adding zero turns negative zeros into positive zeros.
    return (np.round(np.asarray(values, dtype=float), decimals) + 0.0).tolist()


def _read(result):
    """Return the text and the numbers of a result."""
    return {
        "best_k": result.best_k,
        "text": repr(result) + result.explain(),
        "probability": _rounded(result.selection_probability),
        "confidence": None if result.confidence is None else _rounded(result.confidence),
        "scores": _rounded(result.scores),
    }


def structures():
    """Return the p-values and statistics of the structure test for 50 data sets."""
    structure.N_NULL = 3
    found = {}
    for name, X in [*continuous(), *grids()]:
        outcome = select_k(X, ks=range(2, 7), n_subsamples=1, structure=True, on_failure="skip").structure
        found[name] = outcome.p_values, _rounded(outcome.statistic)
    return found


def _selected(sets):
    found = {}
    for name, X in sets:
        model = CompositeSilhouette(ks=range(2, 8), n_subsamples=8, on_failure="skip").fit(X)
        found[name] = {**_read(model.result_), "labels": model.labels_.tolist()}
        found[name]["map"] = _rounded(project(X)[0], 6)
    return found


def selections():
    """Return selections, labels and maps on continuous data."""
    large = [("many rows", _blobs(0, 4000)), ("many columns", _normal(0, 1600, 80))]
    return _selected([*continuous(), *large])


def on_grids():
    """Return selections, labels and maps on grids."""
    return _selected(grids())


def interfaces():
    """Return results for other clusterers, metrics and criteria, and the output of the other interfaces."""
    X, wine = _blobs(1), load_wine(as_frame=True).data
    settings = [{"clusterer": name} for name in NAMED_CLUSTERERS]
    settings += [{"metric": name} for name in ("manhattan", "cosine", "mahalanobis")]
    settings += [{"criterion": name, "n_starts": 3} for name in ("micro", "stable", "likely")]
    settings += [{"rule": "lcb"}, {"n_subsamples": "auto"}, {"n_calibration": 4}, {"transform": "step"}]
    found = {str(each): _read(select_k(X, **{"ks": range(2, 6), "n_subsamples": 6, **each})) for each in settings}
    single = select_k(_blobs(2, 1600).astype(np.float32), n_subsamples=4)
    found["single precision"] = single.best_k, repr(single) + single.explain()
    comparison = compare(X, ks=range(2, 7), n_subsamples=4, n_references=4)
    found["comparison"] = repr(comparison) + comparison.explain()
    result = wine.compsil.select_k(n_subsamples=8)
    # Omit encoded images, because the numbers already cover their content.
    found["card"] = re.sub(r"base64,[^\"']+", "", result._repr_html_())
    labels = wine.compsil.cluster(result.best_k)
    found["profile"] = wine.compsil.profile(labels).to_string()
    found["labels"] = labels.tolist()
    found["prepared"] = _rounded(prepare(wine, scale="robust").matrix)
    found["silhouettes"] = repr(silhouettes(wine, labels))
    found["data"] = _rounded(imbalanced_blobs()[0], 12)
    return found


PARTS = {part.__name__: part for part in (structures, selections, on_grids, interfaces)}

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    pd.set_option("display.width", 200)
    print(json.dumps({part: PARTS[part]() for part in sys.argv[1:]}))
