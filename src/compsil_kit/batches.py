"""Divide a selection into independent batches, run them anywhere, and combine the results.

Batches are plain data that can be written as strict JSON, so that a scheduler can pass them between machines. Each
batch contains the whole plan; a finished batch also contains the packed trials of its subsamples.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Unpack

from compsil_kit._config.setting import check_names, takes
from compsil_kit._data.dataset import Preparation
from compsil_kit._data.table import open_data
from compsil_kit._method.clusterers import NAMED_CLUSTERERS
from compsil_kit._method.metrics import METRIC_NAMES
from compsil_kit._method.selection import TRANSFORMS, transform_name
from compsil_kit._method.structure import Structure
from compsil_kit._result.records import dump, pack_trial, rebuild
from compsil_kit._result.trials import current_versions
from compsil_kit._run.batch_records import (
    DEFAULT_CHOICE,
    FORMAT,
    VERSION,
    Batch,
    check_planned,
    divide,
    passed_or_named,
    read_plan,
    read_trials,
    restore_preparation,
    shorten_preparation,
)
from compsil_kit._run.engine import run
from compsil_kit._run.fingerprint import fingerprint
from compsil_kit._run.planning import load, make_plan
from compsil_kit._run.structure import find_structure
from compsil_kit._types import ChoiceKeywords, ClustererLike, MetricLike, SelectionKeywords
from compsil_kit._util import schema
from compsil_kit.config import CHOICE, SelectionConfig, settings_of
from compsil_kit.events import Events
from compsil_kit.result import SelectionResult, collect


@takes(SelectionConfig, leave_out=("n_jobs",))
def plan_batches(
    X: Any, *, n_batches: int | None = None, batch_size: int | None = None, **keywords: Unpack[SelectionKeywords]
) -> list[Batch]:
    """Divide a selection into batches of subsamples that independent workers can run.

    The plan in each batch contains every decision, including the seeds drawn for ``random_state=None``; a worker needs
    only X and its batch. Batches stay small for any data: if X has many columns, their names are not stored in the
    batches but passed to :func:`combine_batches`.

    Parameters
    ----------
    X : array, sparse matrix or table of shape (n_rows, n_features)
        The data, in memory or out of core, as in :func:`select_k`; each batch reads an out-of-core table once.
    n_batches : int, optional
        Number of batches, of nearly equal size; at most the number of subsamples.
    batch_size : int, optional
        Number of subsamples per batch, instead of ``n_batches``.
    {keywords}

    Returns
    -------
    list of dict
        Batches for :func:`run_batch`, as plain data that can be written as strict JSON.

    Examples
    --------
    >>> from compsil_kit import combine_batches, plan_batches, run_batch
    >>> from compsil_kit.datasets import imbalanced_blobs
    >>> X, _ = imbalanced_blobs()
    >>> batches = plan_batches(X, ks=range(2, 8), n_batches=3)
    >>> combine_batches([run_batch(X, batch) for batch in batches]).best_k
    5
    """
    # The number of workers is a setting of run_batch.
    check_names(keywords, {name: each for name, each in settings_of(SelectionConfig).items() if name != "n_jobs"})
    config = SelectionConfig.from_dict(keywords)
    config.require_fixed_subsamples("batches, which run independently")
    table = open_data(X)
    plan = make_plan(table, config)
    data = load(table, plan, Events(), indices=[0], digest=True)
    shared = {
        "format": FORMAT,
        "version": VERSION,
        "plan": plan.to_dict(),
        "choice": {**config.choice, "transform": transform_name(config.transform)},
        "fingerprint": fingerprint(plan, data),
        "preparation": shorten_preparation(dump(data.preparation)),
    }
    parts = divide(len(plan.seeds), n_batches, batch_size)
    return [{**shared, "indices": list(part)} for part in parts]


def run_batch(
    X: Any,
    batch: Mapping[str, Any],
    *,
    clusterer: ClustererLike | None = None,
    metric: MetricLike | None = None,
    n_jobs: int | Literal["auto"] | None = None,
) -> Batch:
    """Compute the subsamples of one batch.

    Parameters
    ----------
    X : array, sparse matrix or table of shape (n_rows, n_features)
        The data for which the batch was planned; other data raise an error.
    batch : mapping
        A batch returned by :func:`plan_batches`, possibly after a round trip through JSON.
    clusterer : str, estimator or callable, optional
        The clusterer of the plan. A batch contains only its name, so an estimator or a function must be passed again.
    metric : str or callable, optional
        The metric of the plan. A batch contains only its name, so a function must be passed again.
    n_jobs : int or "auto", optional
        Number of workers, as in :func:`select_k`.

    Returns
    -------
    dict
        The batch with its trials, for :func:`combine_batches`, as plain data that can be written as strict JSON.

    Raises
    ------
    ValueError
        X, the clusterer, the metric or the library versions differ from the plan; the message lists the differences.
    ClusteringError
        A clusterer failed and the plan has ``on_failure="raise"``.
    """
    plan = read_plan(batch, "batch")
    planned, indices = batch["fingerprint"], batch["indices"]
    config = plan.config.changed(
        clusterer=passed_or_named("clusterer", clusterer, planned, NAMED_CLUSTERERS),
        metric=passed_or_named("metric", metric, planned, METRIC_NAMES),
        n_jobs=n_jobs,
        on_failure=planned["on_failure"],
    )
    plan = replace(
        plan,
        clusterer=config.resolved_clusterer.name,
        metric=config.resolved_metric.name,
        on_failure=config.on_failure,
        config=config,
    )
    table = open_data(X)
    # Check the shape first, because the planned rows can be read only from data of the same shape.
    shape = {"rows": table.shape[0], "features": table.shape[1], "dtype": str(table.dtype)}
    check_planned({name: planned.get(name) for name in shape}, shape)
    data = load(table, plan, Events(), indices=indices, digest=True)
    check_planned(planned, fingerprint(plan, data))
    # If clusterers silence warnings in two threads at the same time, the warning filters can stay changed.
    with warnings.catch_warnings():
        trials = sorted(run(data.matrix, plan, Events(), indices=indices), key=lambda trial: trial.index)
        # Only one batch runs the structure test.
        found = dump(find_structure(data.matrix, plan)) if 0 in indices else None
    done = {"indices": [trial.index for trial in trials], "structure": found, "versions": current_versions()}
    return schema.signed({**batch, **done, "trials": [pack_trial(trial, plan) for trial in trials]})


@takes(SelectionConfig, leave_out=tuple(name for name in settings_of(SelectionConfig) if name not in CHOICE))
def combine_batches(
    batches: Sequence[Mapping[str, Any]],
    *,
    preparation: Preparation | Mapping[str, Any] | None = None,
    **keywords: Unpack[ChoiceKeywords],
) -> SelectionResult:
    """Combine the finished batches of a selection; the result is bit-for-bit identical to :func:`select_k`.

    The batches contain every setting. Settings passed here change how k is selected from the same trials, as in
    :meth:`SelectionResult.reweigh`.

    Parameters
    ----------
    batches : sequence of mapping
        The batches returned by :func:`run_batch`, all batches of one plan, in any order.
    preparation : Preparation or mapping, optional
        The ``preparation`` attribute of the planned table, or its dict form, to store in the result. Needed only if the
        preparation is longer than a thousand characters, as for tables with many columns; otherwise the batches
        contain it.
    {keywords}

    Returns
    -------
    SelectionResult
        The choice, the curve, and every trial.

    Raises
    ------
    ValueError
        Batches are missing, duplicated, not run yet, or from another plan or other data; the message lists them.
    SelectionError
        Too many subsamples failed for every k; ``.result`` contains the causes.
    """
    if isinstance(batches, Mapping | str) or not isinstance(batches, Sequence) or not batches:
        raise ValueError("batches must be a non-empty list of batches returned by run_batch.")
    plan, *_ = [read_plan(batch, f"batches[{at}]") for at, batch in enumerate(batches)]
    first = batches[0]
    choice = dict(first.get("choice", DEFAULT_CHOICE))
    if choice["transform"] not in TRANSFORMS:
        if "transform" not in keywords:
            raise ValueError(
                f"batches were planned with transform={choice['transform']}, a function, which cannot be stored in a "
                "batch. Pass the same transform= again."
            )
        choice["transform"] = keywords["transform"]
    check_names(keywords, dict.fromkeys(CHOICE))
    # Validate each keyword and their combination.
    plan.config.changed(**{**choice, **keywords})
    trials = read_trials(batches, plan)
    plan = replace(plan, config=plan.config.changed(**choice))
    structures = (batch.get("structure") for batch in batches)
    others: dict[str, Any] = {
        "preparation": restore_preparation(first["preparation"], preparation),
        "structure": rebuild(Structure, next(filter(None, structures), None), "structure"),
        "versions": dict(first["versions"]),
    }
    result = collect(plan, trials, **plan.config.choice, **others).reweigh(**keywords)
    result._chosen()
    return result
