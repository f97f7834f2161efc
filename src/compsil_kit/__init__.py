"""How many clusters? Composite Silhouette: exact, fast, and honest about its uncertainty."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compsil_kit._util.imports import lazy_names

if TYPE_CHECKING:
    from compsil_kit._criteria.compare import compare
    from compsil_kit._criteria.comparison import Comparison
    from compsil_kit._data.dataset import Preparation, PreparedTable
    from compsil_kit._data.sources.table import SourceTable
    from compsil_kit._data.table import prepare
    from compsil_kit._method.guarantees import Guarantee, hoeffding_radius, subsamples_for_margin
    from compsil_kit._method.silhouette import Silhouettes, silhouettes
    from compsil_kit._method.structure import Structure
    from compsil_kit.batches import combine_batches, plan_batches, run_batch
    from compsil_kit.config import ComparisonConfig, Events, SelectionConfig, TableConfig
    from compsil_kit.errors import ClusteringError, Interrupted, ScaleWarning, SelectionError
    from compsil_kit.estimator import CompositeSilhouette
    from compsil_kit.labels import label_rows
    from compsil_kit.plan import Plan
    from compsil_kit.result import SelectionResult
    from compsil_kit.select import plan_selection, select_k, stream

__version__ = "0.1.0"

_HOME = {
    "ClusteringError": "errors",
    "Comparison": "_criteria.comparison",
    "ComparisonConfig": "config",
    "CompositeSilhouette": "estimator",
    "Events": "config",
    "Guarantee": "_method.guarantees",
    "Interrupted": "errors",
    "Plan": "plan",
    "Preparation": "_data.dataset",
    "PreparedTable": "_data.dataset",
    "ScaleWarning": "errors",
    "SelectionConfig": "config",
    "SelectionError": "errors",
    "SelectionResult": "result",
    "Silhouettes": "_method.silhouette",
    "SourceTable": "_data.sources.table",
    "Structure": "_method.structure",
    "TableConfig": "config",
    "combine_batches": "batches",
    "compare": "_criteria.compare",
    "hoeffding_radius": "_method.guarantees",
    "label_rows": "labels",
    "plan_batches": "batches",
    "plan_selection": "select",
    "prepare": "_data.table",
    "run_batch": "batches",
    "select_k": "select",
    "silhouettes": "_method.silhouette",
    "stream": "select",
    "subsamples_for_margin": "_method.guarantees",
}

__all__ = [
    "ClusteringError",
    "Comparison",
    "ComparisonConfig",
    "CompositeSilhouette",
    "Events",
    "Guarantee",
    "Interrupted",
    "Plan",
    "Preparation",
    "PreparedTable",
    "ScaleWarning",
    "SelectionConfig",
    "SelectionError",
    "SelectionResult",
    "Silhouettes",
    "SourceTable",
    "Structure",
    "TableConfig",
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


__getattr__, __dir__ = lazy_names("compsil_kit", _HOME)
