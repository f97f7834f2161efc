"""compsil-kit for Prefect: a selection as a task, whose batches are tasks of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from prefect import get_run_logger, task, unmapped
from prefect.artifacts import create_markdown_artifact

from compsil_kit import SelectionResult, combine_batches, plan_batches, run_batch
from compsil_mlflow import log_if_active

__all__ = ["run_one", "select_k"]

RETRIES = 2
_PASSED_AGAIN = ("clusterer", "metric")


@task(name="compsil batch", retries=RETRIES, retry_delay_seconds=1, persist_result=False)
def run_one(load: Callable[[], Any], batch: dict[str, Any], again: dict[str, Any]) -> dict[str, Any]:
    """Load the data and compute one batch of subsamples; a batch that fails is retried alone.

    Parameters
    ----------
    load : callable
        Returns the data.
    batch : dict
        One of the batches of :func:`compsil_kit.plan_batches`.
    again : dict
        The clusterer and the metric, which a batch holds by name only.

    Returns
    -------
    dict
        The finished batch.
    """
    return run_batch(load(), batch, **again)


@task(name="compsil select k", persist_result=False)
def select_k(
    load: Callable[[], Any], *, n_batches: int = 4, artifact: str | None = "compsil-selection", **keywords: Any
) -> SelectionResult:
    """Select the number of clusters, with batches of subsamples as tasks that the flow's task runner divides.

    Parameters
    ----------
    load : callable
        Returns the data: a table of :func:`compsil_kit.prepare`, a frame or an array. Every task calls it, so data are
        passed by reference.
    n_batches : int, default=4
        Number of tasks among which the subsamples are divided.
    artifact : str or None, default="compsil-selection"
        The key of an artifact with the explanation, in lower case with dashes; None for none.
    **keywords
        As in :func:`compsil_kit.select_k`.

    Returns
    -------
    SelectionResult
        The selection, as :func:`compsil_kit.select_k` would have it. A run of MLflow that is active gets it, too.
    """
    again = {name: keywords[name] for name in _PASSED_AGAIN if name in keywords}
    table = load()
    batches = plan_batches(table, n_batches=n_batches, **keywords)
    finished = run_one.map(unmapped(load), batches, unmapped(again)).result()
    result = combine_batches(finished, preparation=getattr(table, "preparation", None))
    get_run_logger().info("%s", result.explain())
    if artifact is not None:
        create_markdown_artifact(result.explain(), key=artifact, description=f"k = {result.best_k}")
    log_if_active(result)
    return result
