"""compsil-kit for Dagster: the number of clusters as an asset, computed in batches of subsamples."""

# Annotations are not postponed: Dagster looks at the class of the context.
from collections.abc import Callable, Iterator
from typing import Any

import dagster as dg

from compsil_kit import combine_batches, plan_batches, run_batch
from compsil_mlflow import log_if_active

__all__ = ["select_k_asset"]

_PASSED_AGAIN = ("clusterer", "metric")


def select_k_asset(
    name: str,
    load: Callable[[], Any],
    *,
    n_batches: int = 4,
    retries: int = 2,
    asset: dict[str, Any] | None = None,
    **keywords: Any,
) -> dg.AssetsDefinition:
    """Make an asset whose value is k*; each batch of subsamples is a step of its own, which is retried alone.

    Parameters
    ----------
    name : str
        The name of the asset.
    load : callable
        Returns the data: a table of :func:`compsil_kit.prepare`, a frame or an array. Every step calls it, so data are
        passed by reference.
    n_batches : int, default=4
        Number of steps among which the subsamples are divided.
    retries : int, default=2
        How often a failed step is retried.
    asset : dict, optional
        Arguments of :func:`dagster.graph_asset`, such as ``group_name`` and ``tags``.
    **keywords
        As in :func:`compsil_kit.select_k`.

    Returns
    -------
    AssetsDefinition
        The asset. Its materializations carry the selection probability, the score, the curve and the explanation as
        metadata. A run of MLflow that is active gets the selection, too.
    """
    again = {key: keywords[key] for key in _PASSED_AGAIN if key in keywords}
    policy = dg.RetryPolicy(max_retries=retries)

    @dg.op(name=f"{name}_plan", out=dg.DynamicOut(), retry_policy=policy)
    def plan() -> Iterator[Any]:
        for at, batch in enumerate(plan_batches(load(), n_batches=n_batches, **keywords)):
            yield dg.DynamicOutput(batch, mapping_key=str(at))

    @dg.op(name=f"{name}_batch", retry_policy=policy)
    def run(batch: Any) -> Any:
        return run_batch(load(), batch, **again)

    @dg.op(name=f"{name}_combine", retry_policy=policy)
    def combine(context: dg.OpExecutionContext, batches: Any) -> dg.Output[int]:
        result = combine_batches(batches, preparation=getattr(load(), "preparation", None))
        context.log.info(result.explain())
        log_if_active(result)
        return dg.Output(int(result.best_k), metadata=_metadata(result))

    @dg.graph_asset(name=name, **(asset or {}))
    def selection() -> Any:
        return combine(plan().map(run).collect())

    return selection


def _metadata(result: Any) -> dict[str, Any]:
    """Return what Dagster shows beside a materialization."""
    table = result.curve.reset_index()[["k", "score", "sem", "probability"]]
    return {
        "best_k": int(result.best_k),
        "score": float(result.best_score),
        "probability": float(result.selection_probability[result._best_index]),
        "explanation": dg.MetadataValue.md(result.explain()),
        "curve": dg.MetadataValue.md(f"```\n{table.round(4).to_string(index=False)}\n```"),
    }
