"""Estimate the run time of a selection: scanning the data, clustering, distances and the structure test.

The constants were measured. Estimates are accurate to within a factor of two for k-means on data with clusters, and to
within a factor of three for other clusterers. Without clusters, the number of k-means iterations is unpredictable.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from compsil_kit._method.clusterers import PLAIN_KMEANS
from compsil_kit._method.silhouette import MIN_COMPILED_SILHOUETTE_POINTS
from compsil_kit._method.structure import N_NULL, N_STARTS, REFERENCE_KINDS, n_compared
from compsil_kit._util.imports import has

if TYPE_CHECKING:
    from compsil_kit.plan import Plan

# Bytes per second that one process can read, decode and validate.
SCAN_RATE = 1.0e9
# Fixed costs in seconds, such as loading the compiled kernels.
ONCE = 0.3


@dataclass(frozen=True)
class Cost:
    """Time in seconds that each task takes a single worker; all tasks except scanning are shared among workers."""

    scanning: float
    clustering: float
    distances: float
    structure: float = 0.0

    def seconds(self, n_workers: int = 1) -> float:
        """Return the total time in seconds with ``n_workers`` workers."""
        return ONCE + self.scanning + (self.clustering + self.distances + self.structure) / n_workers


def cost_of(plan: Plan) -> Cost:
    """Estimate the cost of a plan."""
    clustering = len(plan.seeds) * (plan.n_starts * sum(_clustering(plan, k) for k in plan.ks))
    structure = 0.0
    if plan.structure:
        # The test clusters a sample of the data and many small reference data sets.
        each = replace(plan, sample_size=n_compared(plan), seeds=plan.seeds[:1], n_starts=N_STARTS, structure=False)
        cost = cost_of(each)
        structure = (1 + N_NULL * len(REFERENCE_KINDS)) * (cost.clustering + cost.distances)
    return Cost(plan.scanned_bytes / SCAN_RATE, clustering, plan.n_pairs * _pair(plan), structure)


def _pair(plan: Plan) -> float:
    """Return the time in seconds per pair of points, for all values of k together."""
    if plan.metric != "euclidean":
        return 4e-9 + 1e-9 * plan.n_features
    if not has("numba") or plan.sample_size < MIN_COMPILED_SILHOUETTE_POINTS:
        return 3.2e-9 + 6e-11 * plan.n_features
    single = plan.dtype == "float32"
    return 0.7e-9 + 2.6e-11 * plan.n_features if single else 1.2e-9 + 5.6e-11 * plan.n_features


def _clustering(plan: Plan, k: int) -> float:
    """Return the time in seconds for one clustering."""
    rows, features = plan.sample_size, plan.n_features
    linear, quadratic = 1.5e-3 + rows * k * features * 1.5e-8, rows**2 * 4e-8
    if plan.clusterer in PLAIN_KMEANS and has("numba"):
        # With few features, the cost per point dominates. In single precision, scikit-learn computes initial centres.
        linear = 3e-4 + rows * k * (7.5e-8 + 4e-9 * features if plan.dtype == "float32" else 2.8e-8 + 1e-9 * features)
    return {
        "gmm": linear + rows * k * features**2 * 2e-8,
        "agglomerative": quadratic,
        "AgglomerativeClustering": quadratic,
        "kmedoids": quadratic,
        "spectral": quadratic * 4,
        "SpectralClustering": quadratic * 4,
    }.get(plan.clusterer, linear)
