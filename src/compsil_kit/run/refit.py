"""Cluster all rows into one k, with the clusterer and the first seed of a selection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from compsil_kit.method.clusterers import fit_all_rows
from compsil_kit.run.request import check_request
from compsil_kit.settings.keywords import SelectKeywords
from compsil_kit.util.checks import check_integer


def cluster_rows(X: Any, k: Any, keywords: Mapping[str, Any]) -> tuple[Any, NDArray[Any]]:
    """Return the fitted estimator (None for a function) and all labels; keywords are those of ``select_k``."""
    given = {**keywords, "ks": [check_integer("k", k, minimum=2)]}
    request = check_request(X, SelectKeywords, given, warn=False, whole=True)
    return fit_all_rows(request.job.clusterer, request.data.matrix, k, request.plan.seeds[0])
