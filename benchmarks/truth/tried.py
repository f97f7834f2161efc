"""Compute criteria from the literature on the same subsamples: ``python -m benchmarks.truth.tried``.

Near-neighbour indices (WCNN, DuNN: Gagolewski 2021), a null reference per k (as in M3C), instability corrected by the
instability of null data, agreement with another clusterer (Ward), BIC of a mixture, more initialisations for larger k,
and two classic criteria.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import NearestNeighbors

from benchmarks.truth.runs import RESULTS, sets
from compsil_kit import silhouettes
from compsil_kit._method.clusterers import resolve_clusterer
from compsil_kit._method.labels import adjusted_rand, shared_rows, within_shares
from compsil_kit._method.metrics import resolve_metric
from compsil_kit._method.subsample import derive_seed, resolve_sample_size, subsample_rows

Array = NDArray[Any]
N_SUBSAMPLES, N_NULL, MAX_ROWS, N_NEIGHBOURS = 6, 2, 1500, 25
KMEANS = resolve_clusterer("kmeans", resolve_metric("euclidean"))


def measured(X: Array, ks: list[int], seed: int, *, everything: bool) -> dict[str, Array]:
    """Return the criteria for each k, averaged over subsamples; without ``everything``, only the cheap criteria."""
    size = min(MAX_ROWS, resolve_sample_size("auto", len(X), ks[-1]))
    rows: dict[str, list[list[float]]] = {}
    before: tuple[Array, list[Array]] | None = None
    for index in range(N_SUBSAMPLES):
        own = derive_seed(seed, index)
        here = subsample_rows(own, len(X), size)
        points = np.ascontiguousarray(X[here])
        label, grown = KMEANS.labeler(points, 5), KMEANS.labeler(points, max(ks))
        labelings = [label(k, own)[1] for k in ks]
        found = {"micro, best of 5": [each.micro for each in silhouettes(points, labelings)]}
        found["within"] = within_shares(points, labelings)
        if before is not None:
            there, at = shared_rows(before[0], here)
            pairs = zip(before[1], labelings, strict=True)
            found["stability"] = [adjusted_rand(old[there], new[at]) for old, new in pairs]
        if everything:
            found |= _others(points, labelings, ks, own)
            found["micro, more initialisations for larger k"] = [
                each.micro for each in silhouettes(points, [grown(k, own)[1] for k in ks])
            ]
        for name, values in found.items():
            rows.setdefault(name, []).append(values)
        before = here, labelings
    return {name: np.nanmean(np.array(values), axis=0) for name, values in rows.items()}


def _others(points: Array, labelings: list[Array], ks: list[int], seed: int) -> dict[str, list[float]]:
    distances, near = NearestNeighbors(n_neighbors=min(N_NEIGHBOURS + 1, len(points))).fit(points).kneighbors(points)
    distances, near = distances[:, 1:], near[:, 1:]
    together = [codes[near] == codes[:, None] for codes in labelings]
    ward = linkage(points, "ward")
    found = {
        "WCNN": [float(same.mean()) for same in together],
        "DuNN": [_dunn(distances, same) for same in together],
        "agreement with Ward": [
            adjusted_rand(codes, fcluster(ward, k, "maxclust") - 1) for codes, k in zip(labelings, ks, strict=True)
        ],
    }
    mixtures = [GaussianMixture(k, random_state=seed, reg_covar=1e-6).fit(points) for k in ks]
    return {**found, "mixture, BIC": [-float(mixture.bic(points)) for mixture in mixtures]}


def _dunn(distances: Array, same: Array) -> float:
    """Return the smallest near-neighbour distance between clusters divided by the largest within clusters."""
    across, within = distances[~same], distances[same]
    nearest = across.min() if across.size else distances.max()
    return float(nearest / within.max()) if within.size and within.max() > 0 else 0.0


def null_like(X: Array, seed: int) -> Array:
    """Return Gaussian data with the mean and covariance of X."""
    centred = X - X.mean(axis=0)
    _, spread, axes = np.linalg.svd(centred, full_matrices=False)
    scores = np.random.default_rng(seed).normal(size=(len(X), len(spread))) * spread / np.sqrt(len(X))
    return np.asarray(scores @ axes + X.mean(axis=0))


def tried(name: str, seed: int) -> dict[str, Any]:
    """Return the k selected by each criterion on one set."""
    data = sets()[name]
    X = data.load()
    ks = [k for k in data.ks if 4 * k < len(X)]
    own = measured(X, ks, seed, everything=True)
    nulls = [measured(null_like(X, draw), ks, seed + draw, everything=False) for draw in range(N_NULL)]
    null = {key: np.mean([each[key] for each in nulls], axis=0) for key in nulls[0]}
    within, n = own.pop("within"), min(len(X), MAX_ROWS)
    curves = {
        **own,
        "micro x stability": own["micro, best of 5"] * np.maximum(own["stability"], 0.0),
        "micro minus null-data micro": own["micro, best of 5"] - null["micro, best of 5"],
        "stability minus null-data stability": own["stability"] - null["stability"],
        "gap to null data": np.log(null["within"]) - np.log(np.maximum(within, 1e-12)),
        "Calinski-Harabasz": (1 - within) / (np.array(ks) - 1) * (n - np.array(ks)) / np.maximum(within, 1e-12),
    }
    choices = {key: ks[int(np.nanargmax(values))] for key, values in curves.items()}
    return {"set": name, "collection": data.collection, "seed": seed, "k": data.k, "choices": choices}


def main() -> None:
    """Run the criteria on every set in the collection."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--out", type=Path, default=RESULTS / "tried.jsonl")
    options = parser.parse_args()
    with options.out.open("w") as file:
        for seed in range(options.seeds):
            for name, data in sets().items():
                if data.collection == "collection":
                    print(json.dumps(tried(name, seed)), file=file, flush=True)


if __name__ == "__main__":
    main()
