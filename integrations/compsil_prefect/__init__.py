"""compsil-kit for Prefect: a selection as a task, which runs each batch of subsamples as a separate task."""

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
    """Load the data and run one batch of subsamples; each batch is retried independently.

    Parameters
    ----------
    load : callable
        Returns the data.
    batch : dict
        A batch returned by :func:`compsil_kit.plan_batches`.
    settings : dict
        Keyword arguments for :func:`compsil_kit.run_batch`: the number of workers, and the clusterer and the metric,
        because a batch contains only their names.

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
    """Select the number of clusters; batches of subsamples run as tasks on the flow's task runner.

    Parameters
    ----------
    load : callable
        Returns the data: a table returned by :func:`compsil_kit.prepare`, a frame or an array. Every task calls it, so
        no data are passed between tasks.
    n_batches : int, default=4
        Number of tasks among which the subsamples are divided.
    artifact : str or None, default="compsil-selection"
        The key of the artifact that contains the explanation, in lower case with dashes; None disables the artifact.
    **keywords
        As in :func:`compsil_kit.select_k`.

    Returns
    -------
    SelectionResult
        The selection, bit-for-bit identical to the result of :func:`compsil_kit.select_k`. If an MLflow run is active,
        the selection is also logged to it.
    """
    settings: dict[str, Any] = dict(keywords)
    # Batches contain all settings except functions, estimators and the number of workers.
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
