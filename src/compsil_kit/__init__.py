"""How many clusters? Composite Silhouette: exact, fast, and honest about its uncertainty."""

from __future__ import annotations

from importlib.metadata import version

from compsil_kit.api import plan_selection, select_k, stream
from compsil_kit.errors import ClusteringError, Interrupted, SelectionError
from compsil_kit.estimator import CompositeSilhouette
from compsil_kit.guarantees import Guarantee, hoeffding_radius, subsamples_for_margin
from compsil_kit.plan import Plan
from compsil_kit.result import SelectionResult
from compsil_kit.silhouette import Silhouettes, silhouettes

__version__ = version("compsil-kit")

__all__ = [
    "ClusteringError",
    "CompositeSilhouette",
    "Guarantee",
    "Interrupted",
    "Plan",
    "SelectionError",
    "SelectionResult",
    "Silhouettes",
    "hoeffding_radius",
    "plan_selection",
    "select_k",
    "silhouettes",
    "stream",
    "subsamples_for_margin",
]
