"""compsil-kit for Dagster: an asset whose value is the number of clusters, computed in batches of subsamples."""

# This module does not postpone annotations, because Dagster inspects the annotation of the context.
from collections.abc import Callable, Iterator
from typing import Any, Unpack

import dagster as dg

from compsil_kit import SelectionResult, combine_batches, plan_batches, run_batch
from compsil_kit.adapters import SelectionKeywords
from compsil_mlflow import log_if_active

__all__ = ["select_k_asset"]


def select_k_asset(
    name: str,
    load: Callable[[], Any],
    *,
    n_batches: int = 4,
    retries: int = 2,
    asset: dict[str, Any] | None = None,
    **keywords: Unpack[SelectionKeywords],
) -> dg.AssetsDefinition:
    """Make an asset whose value is k*; each batch of subsamples is a separate step that is retried independently.

    Parameters
    ----------
    name : str
        The name of the asset.
    load : callable
        Returns the data: a table returned by :func:`compsil_kit.prepare`, a frame or an array. Every step calls it, so
        no data are passed between steps.
    n_batches : int, default=4
        Number of steps among which the subsamples are divided.
    retries : int, default=2
        Number of retries for a failed step.
    asset : dict, optional
        Arguments of :func:`dagster.graph_asset`, such as ``group_name`` and ``tags``.
    **keywords
        As in :func:`compsil_kit.select_k`; the result is bit-for-bit identical.

    Returns
    -------
    AssetsDefinition
        The asset. The metadata of its materializations contain k*, the selection probability, the score, the curve and
        the explanation. If an MLflow run is active, the selection is also logged to it.
    """
    settings: dict[str, Any] = dict(keywords)
    # Batches contain all settings except functions, estimators and the number of workers.
    for_batches = {name: settings[name] for name in ("clusterer", "metric", "n_jobs") if name in settings}
    for_result = {name: settings[name] for name in ("transform",) if callable(settings.get(name))}
    settings.pop("n_jobs", None)
    policy = dg.RetryPolicy(max_retries=retries)

    @dg.op(name=f"{name}_plan", out=dg.DynamicOut(), retry_policy=policy)
    def plan() -> Iterator[Any]:
        for at, batch in enumerate(plan_batches(load(), n_batches=n_batches, **settings)):
            yield dg.DynamicOutput(batch, mapping_key=str(at))

    @dg.op(name=f"{name}_batch", retry_policy=policy)
    def run(batch: Any) -> Any:
        return run_batch(load(), batch, **for_batches)

    @dg.op(name=f"{name}_combine", retry_policy=policy)
    def combine(context: dg.OpExecutionContext, batches: Any) -> dg.Output[int]:
        result = combine_batches(batches, preparation=getattr(load(), "preparation", None), **for_result)
        context.log.info(result.explain())
        log_if_active(result)
        return dg.Output(int(result.best_k), metadata=_metadata(result))

    @dg.graph_asset(name=name, **(asset or {}))
    def selection() -> Any:
        return combine(plan().map(run).collect())

    return selection


def _metadata(result: SelectionResult) -> dict[str, Any]:
    """Return the metadata that Dagster shows for a materialization."""
    table = result.curve.reset_index()[["k", "score", "sem", "probability"]]
    return {
        "best_k": int(result.best_k),
        "score": float(result.best_score),
        "probability": float(result.curve["probability"][result.best_k]),
        "explanation": dg.MetadataValue.md(result.explain()),
        "curve": dg.MetadataValue.md(f"```\n{table.round(4).to_string(index=False)}\n```"),
    }
