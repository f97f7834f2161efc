"""Cluster all rows into one k, with the clusterer and the first seed of a selection."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from compsil_kit._data.given import as_given
from compsil_kit._data.sources.table import FetchedData, SourceTable
from compsil_kit._method.all_rows import fit_all_rows
from compsil_kit._method.clusterers import resolve_clusterer
from compsil_kit._method.labels import number_by_size
from compsil_kit._method.metrics import resolve_metric
from compsil_kit._method.selection import AUTO
from compsil_kit._method.subsample import subsample_rows
from compsil_kit._run.request import check_request
from compsil_kit._settings.keywords import SelectKeywords, defaults_of, keywords_of
from compsil_kit._settings.surfaces import check_keywords, takes
from compsil_kit._util.checks import check_integer

Array = NDArray[Any]


def cluster_rows(X: Any, k: Any, keywords: Mapping[str, Any]) -> tuple[Any, Array]:
    """Return the fitted estimator (None for a function) and all labels; keywords are those of ``select_k``."""
    request = check_request(X, SelectKeywords, _for_one(k, keywords), warn=False, whole=True)
    return fit_all_rows(request.job.clusterer, request.data.matrix, k, request.plan.seeds[0])


@takes(SelectKeywords)
def label_rows(X: Any, k: int, **keywords: Unpack[SelectKeywords]) -> Iterator[NDArray[np.int64]]:
    """Cluster all rows into k, and yield their labels in the order of the rows, some rows at a time.

    A table in memory is clustered whole. Of a large one outside memory, the clusterer is fitted to the rows of the
    first subsample, which one pass fetches; a second pass then asks it for the cluster of every row. ``"kmeans"`` takes
    the best of ten starts.

    Parameters
    ----------
    X : array, sparse matrix or table of shape (n_rows, n_features)
        The data, in memory or outside it, as in :func:`select_k`.
    k : int
        Number of clusters.
    {keywords}

    Yields
    ------
    ndarray of int
        The clusters of the next rows; 0 is the largest one among the rows that the clusterer was fitted to.

    Examples
    --------
    >>> from compsil_kit import label_rows
    >>> from compsil_kit.datasets import imbalanced_blobs
    >>> X, _ = imbalanced_blobs()
    >>> [len(labels) for labels in label_rows(X, 5)]
    [2300]
    """
    data = as_given(X)
    if not isinstance(data, SourceTable):
        return iter([number_by_size(cluster_rows(data, k, keywords)[1])])
    given = _for_one(k, keywords)
    _check_predicts(given)
    request = check_request(data, SelectKeywords, given, warn=False, indices=[0])
    plan, fetched = request.plan, request.data
    assert isinstance(fetched, FetchedData)
    rows = fetched.matrix[subsample_rows(plan.seeds[0], plan.n_rows, plan.sample_size)]
    estimator, labels = fit_all_rows(request.job.clusterer, rows, k, plan.seeds[0])
    return _predicted(data, fetched, estimator, labels)


def _for_one(k: Any, keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keywords for one k; where it was left open how many subsamples there are, their seeds tell."""
    known = keywords_of(SelectKeywords)
    # Nothing is chosen any more, and some ways of choosing need several ks; but mistakes stay mistakes.
    choosing = {name: known[name].default for name in ("criterion", "rule", "structure")}
    for name in choosing.keys() & keywords.keys():
        known[name].check(keywords[name])
    given = {**keywords, **choosing, "ks": [check_integer("k", k, minimum=2)], "checkpoint": None}
    seeds = given.get("random_state")
    if given.get("n_subsamples") == AUTO and isinstance(seeds, Sequence):
        given["n_subsamples"] = len(seeds) - given.get("n_calibration", 0)
    return given


def _check_predicts(given: Mapping[str, Any]) -> None:
    """Refuse a clusterer that can say nothing of rows that it was not fitted to, before the table is read."""
    settings = {**defaults_of(SelectKeywords), **check_keywords(SelectKeywords, given)}
    metric = resolve_metric(settings["metric"])
    clusterer = resolve_clusterer(settings["clusterer"], metric)
    if not hasattr(clusterer.estimator, "predict"):
        raise ValueError(
            f"clusterer={clusterer.name!r} has no predict, so it can label only rows that it was fitted to, and X is "
            "too large for that. Pass 'kmeans', 'gmm' or another clusterer with predict; or load X."
        )


def _predicted(table: SourceTable, fetched: FetchedData, estimator: Any, labels: Array) -> Iterator[Array]:
    names, first = np.unique(labels, return_index=True)
    ranks = number_by_size(labels)[first]
    n_seen = 0
    for rows in table.matrices(fetched.moments):
        n_seen += len(rows)
        yield ranks[np.searchsorted(names, estimator.predict(rows))]
    table.check_length(n_seen)
