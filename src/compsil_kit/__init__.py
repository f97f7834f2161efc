"""How many clusters? Composite Silhouette: exact, fast, and honest about its uncertainty."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from compsil_kit.util.garbage import collector_at_rest

if TYPE_CHECKING:
    from compsil_kit.api import plan_selection, select_k, stream
    from compsil_kit.criteria.compare import compare
    from compsil_kit.criteria.comparison import Comparison
    from compsil_kit.data.dataset import PreparedTable
    from compsil_kit.data.table import prepare
    from compsil_kit.errors import ClusteringError, Interrupted, SelectionError
    from compsil_kit.estimator import CompositeSilhouette
    from compsil_kit.method.guarantees import Guarantee, hoeffding_radius, subsamples_for_margin
    from compsil_kit.method.plan import Plan
    from compsil_kit.method.silhouette import Silhouettes, silhouettes
    from compsil_kit.result.result import SelectionResult
    from compsil_kit.run.batches import combine_batches, plan_batches, run_batch
    from compsil_kit.run.refit import label_rows

__version__ = "0.1.0"

# Names are loaded when they are first used: importing the package costs nothing, which matters where a scheduler parses
# files that only mention it (scikit-learn brings NumPy, SciPy and, if installed, pandas).
_HOME = {
    "ClusteringError": "errors",
    "Comparison": "criteria.comparison",
    "CompositeSilhouette": "estimator",
    "Guarantee": "method.guarantees",
    "Interrupted": "errors",
    "Plan": "method.plan",
    "PreparedTable": "data.dataset",
    "SelectionError": "errors",
    "SelectionResult": "result.result",
    "Silhouettes": "method.silhouette",
    "combine_batches": "run.batches",
    "compare": "criteria.compare",
    "hoeffding_radius": "method.guarantees",
    "label_rows": "run.refit",
    "plan_batches": "run.batches",
    "plan_selection": "api",
    "prepare": "data.table",
    "run_batch": "run.batches",
    "select_k": "api",
    "silhouettes": "method.silhouette",
    "stream": "api",
    "subsamples_for_margin": "method.guarantees",
}

__all__ = [
    "ClusteringError",
    "Comparison",
    "CompositeSilhouette",
    "Guarantee",
    "Interrupted",
    "Plan",
    "PreparedTable",
    "SelectionError",
    "SelectionResult",
    "Silhouettes",
    "combine_batches",
    "compare",
    "hoeffding_radius",
    "label_rows",
    "plan_batches",
    "plan_selection",
    "prepare",
    "run_batch",
    "select_k",
    "silhouettes",
    "stream",
    "subsamples_for_margin",
]


def __getattr__(name: str) -> Any:
    """Load a public name from its module."""
    if name not in _HOME:
        raise AttributeError(f"module 'compsil_kit' has no attribute {name!r}")
    with collector_at_rest():
        return getattr(importlib.import_module(f"compsil_kit.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted([*globals(), *__all__])
