"""compsil-kit for MLflow: log a selection as parameters, metrics and artifacts of a run."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from compsil_kit import SelectionResult

__all__ = ["log_if_active", "log_mlflow"]

FOLDER = "compsil"


def log_mlflow(result: SelectionResult, labels: Any = None) -> str:
    """Log a selection to the active MLflow run, or to a new run if none is active.

    All settings are logged as parameters. k*, its score and its selection probability are logged as metrics, and so is
    the curve, with k as the step. The plot, the report, the result as JSON and the labels are logged as artifacts in
    the ``compsil`` folder.

    Parameters
    ----------
    result : SelectionResult
        The selection.
    labels : DataFrame or Series, optional
        The cluster of each row.

    Returns
    -------
    str
        The run ID.

    Examples
    --------
    ::

        with mlflow.start_run():
            log_mlflow(select_k(X))
    """
    import mlflow

    mlflow.log_params(_parameters(result))
    mlflow.log_metrics(_finite(_choice(result)))
    for k, row in zip(result.ks, result.curve.to_dict("records"), strict=True):
        mlflow.log_metrics(_finite({f"curve_{name}": value for name, value in row.items()}), step=int(k))
    _log_artifacts(mlflow, result, labels)
    return str(mlflow.active_run().info.run_id)


def log_if_active(result: SelectionResult, labels: Any = None) -> str | None:
    """Log a selection if an MLflow run is active in this process, without importing MLflow.

    Parameters
    ----------
    result, labels
        As in :func:`log_mlflow`.

    Returns
    -------
    str or None
        The run ID, or None if no run is active.
    """
    mlflow = sys.modules.get("mlflow")
    if mlflow is None or mlflow.active_run() is None:
        return None
    return log_mlflow(result, labels)


def _parameters(result: SelectionResult) -> dict[str, Any]:
    """Return the settings of a selection and the size of the data, with names prefixed by ``compsil_``."""
    from compsil_kit.adapters import format_ks

    plan, preparation = result.plan, result.preparation
    parameters = {
        **result.settings,
        "ks": format_ks(result.ks),
        "n_rows": plan.n_rows,
        "n_features": plan.n_features,
        "first_seed": plan.seeds[0],
        "scale": None if preparation is None else preparation.scale,
    }
    return {f"compsil_{name}": value for name, value in parameters.items()}


def _choice(result: SelectionResult) -> dict[str, Any]:
    """Return k*, its score and its selection probability."""
    k = result.best_k
    return {"best_k": k, "best_score": result.best_score, "probability": result.curve["probability"][k]}


def _finite(values: dict[str, Any]) -> dict[str, float]:
    """Return the finite values, because tracking stores reject NaN or store it as zero."""
    return {name: float(value) for name, value in values.items() if math.isfinite(value)}


def _log_artifacts(mlflow: Any, result: SelectionResult, labels: Any) -> None:
    from matplotlib.figure import Figure

    from compsil_kit.adapters import render

    figure = Figure(figsize=(7, 4), layout="constrained")
    result.plot(ax=figure.subplots())
    mlflow.log_figure(figure, f"{FOLDER}/curve.png")
    mlflow.log_text(render(result), f"{FOLDER}/report.html")
    mlflow.log_dict(result.to_dict(), f"{FOLDER}/selection.json")
    if labels is not None:
        mlflow.log_text(labels.to_csv(index=False), f"{FOLDER}/labels.csv")
