"""Everything that is decided before computing, as a frozen :class:`Plan` that can be printed and saved."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from compsil_kit.method.clusterers import Clusterer
from compsil_kit.method.metrics import CLOSED_FORMS, Metric
from compsil_kit.method.silhouette import MIN_COMPILED_POINTS
from compsil_kit.method.subsample import make_seeds
from compsil_kit.util.checks import check_integer, check_real, describe, is_integer
from compsil_kit.util.format import format_ks, format_seconds
from compsil_kit.util.optional import has

POINTS_PER_CLUSTER = 30
# Fractions of the data by number of rows (method, "Subsample size").
FRACTIONS = ((2_000, 0.8), (20_000, 0.6), (math.inf, 0.4))
# More subsamples, or larger k, than anyone can mean: refused at once instead of filling the memory with seeds.
MOST = 1_000_000


@dataclass(frozen=True)
class Plan:
    """What a selection will compute.

    Attributes
    ----------
    n_rows, n_features : int
        Shape of the data.
    ks : tuple of int
        Candidate counts, ascending.
    n_subsamples, n_calibration : int
        Subsamples that are scored, and further ones that only estimate the largest discrepancies.
    sample_size : int
        Rows in each subsample.
    seeds : tuple of int
        One seed per subsample, the scored ones first.
    clusterer, metric, dtype : str
        Names of what will be used.
    """

    n_rows: int
    n_features: int
    ks: tuple[int, ...]
    n_subsamples: int
    n_calibration: int
    sample_size: int
    seeds: tuple[int, ...]
    clusterer: str
    metric: str
    dtype: str

    @property
    def n_pairs(self) -> int:
        """Pairs of points whose distance is computed, over all subsamples."""
        if self.metric in (*CLOSED_FORMS, "precomputed"):
            return 0
        return len(self.seeds) * (self.sample_size * (self.sample_size - 1) // 2)

    @property
    def n_clusterings(self) -> int:
        """Clusterings to compute, over all subsamples and ks."""
        return len(self.seeds) * len(self.ks)

    @property
    def whole_data(self) -> bool:
        """Whether every subsample is the whole data set."""
        return self.sample_size == self.n_rows

    def estimate_seconds(self, n_workers: int = 1) -> float:
        """Return a rough guess of the running time; the clusterer's share is known for the named ones only.

        Parameters
        ----------
        n_workers : int, default=1
            Workers that share the subsamples.

        Returns
        -------
        float
            Seconds, meant to be right within a factor of three.
        """
        compiled = has("numba") and self.sample_size >= MIN_COMPILED_POINTS
        per_pair = (1.4e-9 if compiled else 3.2e-9) + 6e-11 * self.n_features
        if self.metric != "euclidean":
            per_pair = 4e-9 + 1e-9 * self.n_features
        clustering = sum(_clustering_seconds(self.clusterer, self.sample_size, self.n_features, k) for k in self.ks)
        return (self.n_pairs * per_pair + len(self.seeds) * clustering) / n_workers

    def __str__(self) -> str:
        """Say in a few lines what will be done."""
        calibration = f" and {self.n_calibration} for calibration" if self.n_calibration else ""
        return (
            f"{self.n_subsamples} subsamples{calibration} of {self.sample_size:,} of {self.n_rows:,} rows "
            f"({self.n_features:,} features, {self.dtype})\n"
            f"k in {format_ks(self.ks)}, clusterer {self.clusterer}, metric {self.metric}\n"
            f"{self.n_clusterings:,} clusterings, {self.n_pairs:,} pairs of distances, "
            f"roughly {format_seconds(self.estimate_seconds())} on one worker"
        )


def make_plan(
    shape: tuple[int, int],
    dtype: str,
    *,
    ks: Any,
    n_subsamples: Any,
    n_calibration: Any,
    sample_size: Any,
    random_state: Any,
    clusterer: Clusterer,
    metric: Metric,
) -> Plan:
    """Check the parameters against the data and decide what will be computed."""
    counts = check_ks(ks, max(shape[0], 2))
    n_subsamples = check_integer("n_subsamples", n_subsamples, minimum=1, maximum=MOST)
    n_calibration = check_integer("n_calibration", n_calibration, minimum=0, maximum=MOST)
    size = resolve_sample_size(sample_size, shape[0], counts[-1])
    if counts[-1] >= size:
        raise ValueError(
            f"ks must be smaller than the number of rows in a subsample; got k={counts[-1]} with subsamples of "
            f"{size} rows (X: n_samples={shape[0]}, n_features={shape[1]}). Pass smaller ks, or more rows."
        )
    return Plan(
        n_rows=shape[0],
        n_features=shape[1],
        ks=counts,
        n_subsamples=n_subsamples,
        n_calibration=n_calibration,
        sample_size=size,
        seeds=make_seeds(random_state, n_subsamples, n_calibration),
        clusterer=clusterer.name,
        metric=metric.name,
        dtype=dtype,
    )


def check_ks(ks: Any, most: int = MOST) -> tuple[int, ...]:
    """Return the candidate counts, ascending and without repetition; it stops at the first one above ``most``."""
    if is_integer(ks):
        ks = [ks]
    flat = not isinstance(ks, np.ndarray) or ks.ndim == 1
    if isinstance(ks, str | bytes | dict) or not isinstance(ks, Iterable) or not flat:
        raise TypeError(f"ks must be integers of at least 2, such as range(2, 11); got {describe(ks)}.")
    counts = set()
    for k in ks:
        counts.add(check_integer("ks", k, minimum=2))
        if k > most:
            raise ValueError(f"ks must be smaller than the number of rows, {most:,}; got k={describe(int(k))}.")
    if not counts:
        raise ValueError("ks must hold at least one integer of at least 2; it is empty.")
    return tuple(sorted(counts))


def resolve_sample_size(sample_size: Any, n_rows: int, k_max: int) -> int:
    """Return the number of rows in a subsample (method, "Subsample size")."""
    if sample_size == "auto":
        fraction = next(share for limit, share in FRACTIONS if n_rows <= limit)
        return min(n_rows, max(POINTS_PER_CLUSTER * k_max, math.floor(fraction * n_rows)))
    if is_integer(sample_size):
        size = check_integer("sample_size", sample_size, minimum=3)
        if size > n_rows:
            raise ValueError(f"sample_size must be at most the number of rows, {n_rows}; got {size}.")
        return size
    if isinstance(sample_size, float | np.floating):
        fraction = check_real("sample_size as a fraction", sample_size, low=0.0, high=1.0)
        return check_integer("sample_size in rows", math.floor(fraction * n_rows), minimum=3)
    error = ValueError if isinstance(sample_size, str) else TypeError
    raise error(
        "sample_size must be 'auto', an integer number of rows, or a fraction of the rows in (0, 1]; "
        f"got {describe(sample_size)}."
    )


def _clustering_seconds(name: str, rows: int, features: int, k: int) -> float:
    """Guess the time of one clustering; constants were measured once and are meant to be right within a factor of 3."""
    linear = 1.5e-3 + rows * k * features * 1.5e-8
    quadratic = rows**2 * 4e-8
    return {
        "gmm": linear + rows * k * features**2 * 2e-8,
        "agglomerative": quadratic,
        "AgglomerativeClustering": quadratic,
        "kmedoids": quadratic,
        "spectral": quadratic * 4,
        "SpectralClustering": quadratic * 4,
    }.get(name, linear)
