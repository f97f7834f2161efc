"""compsil-kit for Prefect: a selection as a task, whose batches are tasks of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack

from prefect import get_run_logger, task, unmapped
from prefect.artifacts import create_markdown_artifact

from compsil_kit import SelectionResult, combine_batches, plan_batches, run_batch
from compsil_kit.adapters import SelectionKeywords
from compsil_mlflow import log_if_active

__all__ = ["run_one", "select_k"]

RETRIES = 2


@task(name="compsil batch", retries=RETRIES, retry_delay_seconds=1, persist_result=False)
def run_one(load: Callable[[], Any], batch: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
    """Load the data and compute one batch of subsamples; a batch that fails is retried alone.

    Parameters
    ----------
    load : callable
        Returns the data.
    batch : dict
        One of the batches of :func:`compsil_kit.plan_batches`.
    settings : dict
        Keywords of :func:`compsil_kit.run_batch`: the clusterer and the metric, which a batch contains by name only,
        and the number of workers.

    Returns
    -------
    dict
        The finished batch.
    """
    return run_batch(load(), batch, **settings)


@task(name="compsil select k", persist_result=False)
def select_k(
    load: Callable[[], Any],
    *,
    n_batches: int = 4,
    artifact: str | None = "compsil-selection",
    **keywords: Unpack[SelectionKeywords],
) -> SelectionResult:
    """Select the number of clusters, with batches of subsamples as tasks of the flow's task runner.

    Parameters
    ----------
    load : callable
        Returns the data: a table of :func:`compsil_kit.prepare`, a frame or an array. Every task calls it, so data are
        passed by reference.
    n_batches : int, default=4
        Number of tasks among which the subsamples are divided.
    artifact : str or None, default="compsil-selection"
        The key of an artifact with the explanation, in lower case with dashes; None creates none.
    **keywords
        As in :func:`compsil_kit.select_k`.

    Returns
    -------
    SelectionResult
        The selection, equal to that of :func:`compsil_kit.select_k` bit for bit. It is also logged to an active MLflow
        run.
    """
    settings: dict[str, Any] = dict(keywords)
    # Batches contain every setting except functions and estimators, and the number of workers.
    for_batches = {name: settings[name] for name in ("clusterer", "metric", "n_jobs") if name in settings}
    for_result = {name: settings[name] for name in ("transform",) if callable(settings.get(name))}
    settings.pop("n_jobs", None)
    table = load()
    batches = plan_batches(table, n_batches=n_batches, **settings)
    finished = run_one.map(unmapped(load), batches, unmapped(for_batches)).result()
    result = combine_batches(finished, preparation=getattr(table, "preparation", None), **for_result)
    get_run_logger().info("%s", result.explain())
    if artifact is not None:
        create_markdown_artifact(result.explain(), key=artifact, description=f"k = {result.best_k}")
    log_if_active(result)
    return result
