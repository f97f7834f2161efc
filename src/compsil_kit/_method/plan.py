"""Everything that is decided before computing, as a frozen :class:`Plan` that can be printed and saved."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any

import numpy as np

from compsil_kit._method.agreement import MIN_SHARED_PER_CLUSTER
from compsil_kit._method.clusterers import PLAIN_KMEANS, Clusterer
from compsil_kit._method.cost import cost_of
from compsil_kit._method.metrics import CLOSED_FORMS, Metric
from compsil_kit._method.selection import AUTO, CRITERIA, MAX_AUTO_SUBSAMPLES, MULTI_INIT_CRITERIA, ROUND
from compsil_kit._method.subsample import SEED_LIMIT, make_seeds
from compsil_kit._util import schema
from compsil_kit._util.checks import check_integer, check_real, describe, is_integer
from compsil_kit._util.format import format_bytes, format_ks, format_seconds

POINTS_PER_CLUSTER = 30
# Fractions of the data by number of rows (method, "Subsample size").
FRACTIONS = ((2_000, 0.8), (20_000, 0.6), (math.inf, 0.4))
# Where the automatic size ends: more rows cost the square of their number, and hardly change the choice.
MOST_ROWS = 20_000
PAPER = "paper"
# More subsamples, or larger k, than anyone can mean: refused at once instead of filling the memory with seeds.
MOST = 1_000_000
# Candidates: more of them would be hours of work, and gigabytes of labels, within a single subsample.
MOST_KS = 1_000
MOST_STARTS = 1_000
# Starts for the criteria that judge the best of several.
SEVERAL_STARTS = 5
# Subsamples of less than this part of the rows share too few of them for clusterings to be compared on those.
SCARCE = 1 / 20
MOST_COMMON = 2_000


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
    n_starts : int
        Starts of each clustering, beside whose first one the best is kept.
    structure : bool
        Whether the data are also compared with data without clusters.
    adaptive : str
        The criterion by which it is seen how many subsamples it takes, and which ks are left out on the way; empty if
        their number is fixed. ``n_subsamples`` is then the most there can be and, in a result, those there were.
    scanned_bytes : int
        What is read of a table outside memory, about, before it is packed or compressed; 0 in memory.
    """

    # With the checks of plans that come from a file.
    n_rows: Annotated[int, schema.integer(2)]
    n_features: Annotated[int, schema.integer(1)]
    ks: Annotated[tuple[int, ...], schema.list_of(schema.integer(2))]
    n_subsamples: Annotated[int, schema.integer(1, MOST)]
    n_calibration: Annotated[int, schema.integer(0, MOST)]
    sample_size: Annotated[int, schema.integer(3)]
    seeds: Annotated[tuple[int, ...], schema.list_of(schema.integer(0, SEED_LIMIT - 1))]
    clusterer: Annotated[str, schema.text]
    metric: Annotated[str, schema.text]
    dtype: Annotated[str, schema.choice(("float32", "float64"))]
    n_starts: Annotated[int, schema.integer(1, MOST_STARTS)] = 1
    structure: Annotated[bool, schema.flag] = False
    adaptive: Annotated[str, schema.choice(("", *CRITERIA))] = ""
    scanned_bytes: Annotated[int, schema.integer(0)] = 0

    def before(self, index: int) -> int | None:
        """Return the seed of the subsample whose clusterings are compared with those of this one, or None.

        Parameters
        ----------
        index : int
            Place of a subsample; the first one, and those for calibration, are compared with none.
        """
        return self.seeds[index - 1] if 0 < index < self.n_subsamples else None

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
    def n_fetched(self) -> int:
        """Distinct rows in all subsamples, and among those that all of them label, as many as are to be expected."""
        untouched = (1 - self.sample_size / self.n_rows) ** len(self.seeds) * (1 - self.n_common / self.n_rows)
        return round(self.n_rows * (1 - untouched))

    @property
    def n_shared(self) -> int:
        """Rows that two subsamples share, as many as are to be expected."""
        return self.sample_size**2 // self.n_rows

    @property
    def n_common(self) -> int:
        """Rows, the same for all subsamples, on which their clusterings are compared; 0 if on those that two share."""
        by_means = self.clusterer in PLAIN_KMEANS and self.metric == "euclidean"
        few = self.sample_size < SCARCE * self.n_rows or self.n_shared < MIN_SHARED_PER_CLUSTER * self.ks[-1]
        return min(self.sample_size, MOST_COMMON) if by_means and few else 0

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
            Seconds, meant to be right within a factor of two for k-means on data with clusters, of three for other
            clusterers. On data without clusters k-means takes more steps: up to seven times as long where it was tried.
        """
        return cost_of(self).seconds(n_workers)

    def __str__(self) -> str:
        """Say in a few lines what will be done."""
        calibration = f" and {self.n_calibration} for calibration" if self.n_calibration else ""
        starts = f" of {self.n_starts} starts" if self.n_starts > 1 else ""
        least = f"{ROUND} to " if self.adaptive else ""
        most = "at most " if self.adaptive else ""
        read = (
            f"reads {self.n_rows:,} rows once ({format_bytes(self.scanned_bytes)}), keeps about {self.n_fetched:,}\n"
            if self.scanned_bytes
            else ""
        )
        return (
            f"{read}{least}{self.n_subsamples} subsamples{calibration} of {self.sample_size:,} of {self.n_rows:,} rows "
            f"({self.n_features:,} features, {self.dtype})\n"
            f"k in {format_ks(self.ks)}, clusterer {self.clusterer}, metric {self.metric}\n"
            f"{most}{self.n_clusterings:,} clusterings{starts}, {self.n_pairs:,} pairs of distances, "
            f"about {format_seconds(self.estimate_seconds())} with one worker"
        )


def make_plan(
    shape: tuple[int, int], dtype: str, settings: Mapping[str, Any], clusterer: Clusterer, metric: Metric
) -> Plan:
    """Decide what will be computed, from checked settings and the shape of the data."""
    n_rows, n_features = shape
    ks, n_calibration = settings["ks"], settings["n_calibration"]
    n_subsamples = most_subsamples(settings["n_subsamples"])
    adaptive = settings["criterion"] if settings["n_subsamples"] == AUTO else ""
    if ks[-1] >= n_rows:
        raise ValueError(
            f"ks must be smaller than the number of rows, {n_rows:,}; got k={describe(ks[-1])} "
            f"(X: n_samples={n_rows}, n_features={n_features}). Pass smaller ks, or more rows."
        )
    size = resolve_sample_size(settings["sample_size"], n_rows, ks[-1])
    if ks[-1] >= size:
        raise ValueError(
            f"ks must be smaller than the number of rows in a subsample, {size:,}; got k={ks[-1]} "
            f"(X: n_samples={n_rows}, n_features={n_features}). Pass smaller ks, or a larger sample_size."
        )
    seeds = make_seeds(settings["random_state"], n_subsamples, n_calibration)
    names = clusterer.name, metric.name, dtype
    n_starts = resolve_starts(settings["n_starts"], settings["criterion"], clusterer)
    how = n_starts, settings["structure"], adaptive
    return Plan(n_rows, n_features, ks, n_subsamples, n_calibration, size, seeds, *names, *how)


def most_subsamples(n_subsamples: int | str) -> int:
    """Return how many subsamples there can be."""
    return MAX_AUTO_SUBSAMPLES if isinstance(n_subsamples, str) else n_subsamples


def check_subsamples(n_subsamples: Any) -> int | str:
    """Return the number of subsamples as it was given, if it can be one."""
    if isinstance(n_subsamples, str) and n_subsamples == AUTO:
        return n_subsamples
    if isinstance(n_subsamples, str):
        raise TypeError(
            "n_subsamples must be an integer of at least 1, or 'auto' for as many as it takes; got "
            f"{describe(n_subsamples)}."
        )
    return check_integer("n_subsamples", n_subsamples, minimum=1, maximum=MOST)


def check_ks(ks: Any) -> tuple[int, ...]:
    """Return the candidate counts, ascending and without repetition."""
    if is_integer(ks):
        ks = [ks]
    flat = not isinstance(ks, np.ndarray) or ks.ndim == 1
    if isinstance(ks, str | bytes | dict) or not isinstance(ks, Iterable) or not flat:
        raise TypeError(f"ks must be integers of at least 2, such as range(2, 11); got {describe(ks)}.")
    # One more than may be there tells that there are too many, however long a range or an iterator is.
    counts = list(islice(ks, MOST_KS + 1))
    if not counts:
        raise ValueError("ks must hold at least one integer of at least 2; it is empty.")
    distinct = {check_integer("ks", k, minimum=2) for k in counts}
    if len(counts) > MOST_KS:
        raise ValueError(
            f"ks must hold at most {MOST_KS:,} candidates. Pass fewer, for instance range(2, 21), or with larger steps."
        )
    return tuple(sorted(distinct))


def check_sample_size(sample_size: Any) -> str | int | float:
    """Return the size of subsamples as it was given, if it can be one."""
    if isinstance(sample_size, str) and sample_size in (AUTO, PAPER):
        return sample_size
    if is_integer(sample_size):
        return check_integer("sample_size", sample_size, minimum=3)
    if isinstance(sample_size, float | np.floating):
        return check_real("sample_size as a fraction", sample_size, low=0.0, high=1.0)
    error = ValueError if isinstance(sample_size, str) else TypeError
    raise error(
        "sample_size must be 'auto', 'paper', an integer number of rows, or a fraction of the rows in (0, 1]; "
        f"got {describe(sample_size)}."
    )


def check_starts(n_starts: Any) -> str | int:
    """Return the number of starts as it was given, if it can be one."""
    if isinstance(n_starts, str) and n_starts == "auto":
        return n_starts
    return check_integer("n_starts", n_starts, minimum=1, maximum=MOST_STARTS)


def resolve_starts(n_starts: str | int, criterion: str, clusterer: Clusterer) -> int:
    """Return the number of starts of each clustering; several for a criterion that judges the best of them."""
    if isinstance(n_starts, str):
        return SEVERAL_STARTS if criterion in MULTI_INIT_CRITERIA and clusterer.takes_starts else 1
    if n_starts > 1 and not clusterer.takes_starts:
        raise ValueError(
            f"n_starts must be 1 with clusterer={clusterer.name!r}, which has no n_init, or starts from given centres; "
            f"got {n_starts}. Leave n_starts out, or pass clusterer='kmeans'."
        )
    return n_starts


def resolve_sample_size(sample_size: str | int | float, n_rows: int, k_max: int) -> int:
    """Return the number of rows in a subsample (method, "Subsample size")."""
    if isinstance(sample_size, str):
        fraction = next(share for limit, share in FRACTIONS if n_rows <= limit)
        most = MOST_ROWS if sample_size == AUTO else n_rows
        return min(n_rows, max(POINTS_PER_CLUSTER * k_max, min(most, math.floor(fraction * n_rows))))
    if isinstance(sample_size, float):
        return check_integer("sample_size in rows", math.floor(sample_size * n_rows), minimum=3)
    if sample_size > n_rows:
        raise ValueError(f"sample_size must be at most the number of rows, {n_rows}; got {sample_size}.")
    return sample_size
