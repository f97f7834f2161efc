"""A selection in parts that share nothing: plan it once, run the batches wherever you like, combine what they return.

Batches are plain data for strict JSON, so that a scheduler can carry them from machine to machine. A finished one holds
the trials of its subsamples, packed.
"""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Unpack

from compsil_kit._data.dataset import Preparation
from compsil_kit._method.clusterers import NAMED
from compsil_kit._method.metrics import NAMES
from compsil_kit._method.plan import Plan
from compsil_kit._result.records import dump, dump_plan, load_plan, load_preparation, pack_trial, read_trial
from compsil_kit._result.trials import Trial, current_versions
from compsil_kit._run.engine import run
from compsil_kit._run.fingerprint import differences
from compsil_kit._run.request import check_request, chosen
from compsil_kit._run.structure import structure_of_batch, structure_of_batches
from compsil_kit._settings.keywords import ChoiceKeywords, PlanKeywords, SelectKeywords, defaults_of, keywords_of
from compsil_kit._settings.rules import ON_FAILURE, check_fixed, check_together
from compsil_kit._settings.surfaces import check_keywords, takes
from compsil_kit._util import schema
from compsil_kit._util.checks import check_integer, describe
from compsil_kit._util.format import few
from compsil_kit.result import SelectionResult, collect

FORMAT = "compsil-kit/batch"
VERSION = 1
DIGEST = "digest of the preparation"
# A longer account of the table, with the names of many columns, does not travel with every batch.
MOST_PREPARATION = 1000

_PLANNED = {
    "plan": schema.anything,
    "fingerprint": schema.record(
        {"clusterer": schema.text, "metric": schema.text, "on_failure": schema.choice(ON_FAILURE)}
    ),
    "preparation": schema.optional(schema.mapping_of(schema.anything)),
    "indices": schema.list_of(schema.anything),
}
_FINISHED = {**_PLANNED, "trials": schema.anything, "versions": schema.mapping_of(schema.text)}

Batch = dict[str, Any]


@takes(PlanKeywords)
def plan_batches(
    X: Any, *, n_batches: int | None = None, batch_size: int | None = None, **keywords: Unpack[PlanKeywords]
) -> list[Batch]:
    """Divide a selection into batches of subsamples that independent workers can run.

    Everything is decided here, fresh seeds of ``random_state=None`` included; workers only need X and their batch.
    Batches stay small whatever the data: names of many columns are left to ``preparation`` in :func:`combine_batches`.

    Parameters
    ----------
    X : array, sparse matrix or table of shape (n_rows, n_features)
        The data, in memory or outside it, as in :func:`select_k`; of the latter each batch makes a pass of its own.
    n_batches : int, optional
        Number of batches, as even as can be; no more than there are subsamples.
    batch_size : int, optional
        Subsamples in a batch, instead of ``n_batches``.
    {keywords}

    Returns
    -------
    list of dict
        Batches for :func:`run_batch`, plain data for strict JSON.

    Examples
    --------
    >>> from compsil_kit import combine_batches, plan_batches, run_batch
    >>> from compsil_kit.datasets import imbalanced_blobs
    >>> X, _ = imbalanced_blobs()
    >>> batches = plan_batches(X, ks=range(2, 8), n_batches=3)
    >>> combine_batches([run_batch(X, batch) for batch in batches]).best_k
    5
    """
    check_fixed(keywords, "batches, which cannot wait for each other")
    request = check_request(X, PlanKeywords, keywords, indices=[0], digest=True)
    shared = {
        "format": FORMAT,
        "version": VERSION,
        "plan": dump_plan(request.plan),
        "fingerprint": request.fingerprint,
        "preparation": _short(dump(request.data.preparation)),
    }
    parts = _divide(len(request.plan.seeds), n_batches, batch_size)
    return [{**shared, "indices": list(part)} for part in parts]


def run_batch(
    X: Any,
    batch: Mapping[str, Any],
    *,
    clusterer: Any = None,
    metric: str | Callable[..., float] | None = None,
    n_jobs: int | str | None = None,
) -> Batch:
    """Compute the subsamples of one batch.

    Parameters
    ----------
    X : array, sparse matrix or table of shape (n_rows, n_features)
        The data for which the batch was planned; other data are refused.
    batch : mapping
        One of the batches that :func:`plan_batches` returned, or what JSON made of it.
    clusterer : str, estimator or callable, optional
        The clusterer of the plan. Names travel with the batch; an estimator or a function must be passed again.
    metric : str or callable, optional
        The metric of the plan; again, a function must be passed once more.
    n_jobs : int or "auto", optional
        Workers, as in :func:`select_k`.

    Returns
    -------
    dict
        The batch with its trials, plain data for strict JSON, for :func:`combine_batches`.

    Raises
    ------
    ValueError
        X, clusterer, metric or library versions differ from those of the plan; the message says which.
    ClusteringError
        A clusterer failed and the plan says ``on_failure="raise"``.
    """
    plan = _read(batch, "batch")
    fingerprint = batch["fingerprint"]
    settings = {name: getattr(plan, name) for name in keywords_of(PlanKeywords) if hasattr(plan, name)}
    settings |= {"on_failure": fingerprint["on_failure"], "random_state": plan.seeds, "n_jobs": n_jobs}
    settings["clusterer"] = _given("clusterer", clusterer, fingerprint, NAMED)
    settings["metric"] = _given("metric", metric, fingerprint, NAMES)
    request = check_request(X, SelectKeywords, settings, indices=batch["indices"], digest=True)
    differing = differences(fingerprint, request.fingerprint)
    if differing:
        raise ValueError(
            f"batch was planned for another selection: {'; '.join(differing)}. "
            "Run it with what plan_batches was given, or plan anew."
        )
    # As in select_k: clusterers that silence warnings in two threads at once leave the filters changed.
    with warnings.catch_warnings():
        work = run(request.data.matrix, request.job, request.n_jobs, batch["indices"])
        trials = sorted(work, key=lambda trial: trial.index)
        found = structure_of_batch(request.data.matrix, request.job, request.n_jobs, batch["indices"])
    done = {"indices": [trial.index for trial in trials], "structure": found, "versions": current_versions()}
    return schema.signed({**batch, **done, "trials": [pack_trial(trial, plan) for trial in trials]})


@takes(ChoiceKeywords)
def combine_batches(
    batches: Sequence[Mapping[str, Any]],
    *,
    preparation: Preparation | Mapping[str, Any] | None = None,
    **keywords: Unpack[ChoiceKeywords],
) -> SelectionResult:
    """Put the finished batches of a selection together; the result is that of :func:`select_k`, bit for bit.

    Parameters
    ----------
    batches : sequence of mapping
        What :func:`run_batch` returned for every batch of a plan, in any order.
    preparation : Preparation or mapping, optional
        The ``preparation`` of the table that was planned, or the same as a dict, for the result to remember. It is
        needed only if the names of its columns are longer than a thousand characters; otherwise batches hold it.
    {keywords}

    Returns
    -------
    SelectionResult
        The choice, the curve, and every trial.

    Raises
    ------
    ValueError
        Batches are missing, given twice, not run yet, or not of the same plan and data; the message says which.
    SelectionError
        Every k lost too many subsamples; ``.result`` holds the causes.
    """
    if isinstance(batches, Mapping | str) or not isinstance(batches, Sequence) or not batches:
        raise ValueError("batches must be a non-empty list of what run_batch returned.")
    plans = [_read(batch, f"batches[{at}]") for at, batch in enumerate(batches)]
    plan, first = plans[0], batches[0]
    choice = check_keywords(ChoiceKeywords, keywords)
    check_together({**defaults_of(SelectKeywords), **choice, "n_subsamples": plan.n_subsamples})
    trials: list[Trial] = []
    for at, batch in enumerate(batches):
        _check_same(batch, first, at)
        trials += _trials(batch, at, plan)
    _check_whole([trial.index for trial in trials], plan)
    others = {**choice, "preparation": _whole(first["preparation"], preparation), "versions": dict(first["versions"])}
    return chosen(collect(plan, trials, **others, structure=structure_of_batches(batches)))


def _short(preparation: Batch | None) -> Batch | None:
    """Return what a batch holds of a preparation: all of it, or if that is long, a digest to know it again."""
    if preparation is None or len(json.dumps(preparation)) <= MOST_PREPARATION:
        return preparation
    return {"n_columns": len(preparation["columns"]), DIGEST: schema.digest(preparation)}


def _whole(held: Mapping[str, Any] | None, given: Preparation | Mapping[str, Any] | None) -> Preparation | None:
    """Return the preparation that the batches hold, or the given one if they hold its digest."""
    if held is None or DIGEST not in held:
        return load_preparation(held)
    if given is None:
        warnings.warn(
            f"the names of {held['n_columns']:,} columns do not travel with batches, and are missing in the result; "
            "pass preparation=table.preparation of the prepared table to combine_batches.",
            RuntimeWarning,
            stacklevel=3,
        )
        return None
    plain = dump(given) if isinstance(given, Preparation) else dict(given)
    if schema.digest(plain) != held[DIGEST]:
        raise ValueError("preparation is not that of the table for which the batches were planned.")
    return load_preparation(plain)


def _divide(n_items: int, n_batches: Any, batch_size: Any) -> list[range]:
    """Return consecutive ranges of about equal length, or of a given one."""
    if (n_batches is None) == (batch_size is None):
        raise ValueError("pass either n_batches or batch_size.")
    if batch_size is not None:
        step = check_integer("batch_size", batch_size, minimum=1)
        return [range(low, min(low + step, n_items)) for low in range(0, n_items, step)]
    n_parts = min(n_items, check_integer("n_batches", n_batches, minimum=1))
    edges = [n_items * part // n_parts for part in range(n_parts + 1)]
    return [range(low, high) for low, high in pairwise(edges)]


def _read(batch: Any, name: str) -> Plan:
    """Return the plan of a batch, if it is one."""
    if not isinstance(batch, Mapping) or batch.get("format") != FORMAT:
        raise ValueError(f"{name} must be what plan_batches or run_batch returned, with format {FORMAT!r}.")
    if batch.get("version") != VERSION:
        raise ValueError(
            f"{name} has version {describe(batch.get('version'))} of {FORMAT}; this release reads version {VERSION}. "
            "Use one release for planning, running and combining."
        )
    schema.record(_FINISHED if "trials" in batch else _PLANNED)(batch, name)
    plan = load_plan(batch["plan"], f"{name}.plan")
    schema.list_of(schema.integer(0, len(plan.seeds) - 1))(batch["indices"], f"{name}.indices")
    return plan


def _given(name: str, value: Any, planned: Mapping[str, Any], names: Any) -> Any:
    """Return the clusterer or the metric: as passed, or by the name that travels with the batch."""
    if value is not None:
        return value
    if planned[name] not in names:
        raise ValueError(
            f"batch was planned with {name}={planned[name]}, which a batch cannot hold. Pass the same {name}= again."
        )
    return planned[name]


def _check_same(batch: Mapping[str, Any], first: Mapping[str, Any], at: int) -> None:
    differing = differences(batch["fingerprint"], first["fingerprint"])
    if not differing and json.dumps(batch["plan"]) != json.dumps(first["plan"]):
        differing = ["its plan has other seeds or numbers of subsamples"]
    if differing:
        raise ValueError(
            f"batches must belong to one selection; batches[{at}] differs from batches[0]: {'; '.join(differing)}."
        )
    if "trials" not in batch:
        raise ValueError(f"batches[{at}] has not been run: pass what run_batch returned for it.")


def _trials(batch: Mapping[str, Any], at: int, plan: Plan) -> list[Trial]:
    """Return the trials of a finished batch."""
    try:
        schema.check_digest(batch, "batch")
        return [
            read_trial(record, index, plan) for index, record in zip(batch["indices"], batch["trials"], strict=True)
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"batches[{at}] is damaged: its trials are not those of its subsamples. Run it again."
        ) from error


def _check_whole(found: list[int], plan: Plan) -> None:
    """Refuse subsamples that are missing or there twice."""
    doubled = sorted(index for index, count in Counter(found).items() if count > 1)
    if doubled:
        raise ValueError(f"batches contain subsamples {few(doubled)} more than once. Pass each batch once.")
    n_all = len(plan.seeds)
    missing = sorted(set(range(n_all)) - set(found))
    if missing:
        raise ValueError(f"batches are missing subsamples {few(missing)} of {n_all}. Pass all planned batches.")
