"""Make the plan of a selection: everything random or costly is decided here."""

from __future__ import annotations

from compsil_kit._data.dataset import Dataset
from compsil_kit._data.sources.table import SourceTable
from compsil_kit._method.likelihood import why_unknown
from compsil_kit._method.selection import LIKELY, MULTI_INIT_CRITERIA
from compsil_kit._method.subsample import make_seeds, resolve_sample_size
from compsil_kit._util.checks import describe
from compsil_kit.config import SelectionConfig
from compsil_kit.plan import Plan

# Initialisations for the criteria that score the best of several.
SEVERAL_STARTS = 5


def make_plan(table: Dataset | SourceTable, config: SelectionConfig) -> Plan:
    """Decide what will be computed, from the settings and the shape of the data.

    Parameters
    ----------
    table : Dataset or SourceTable
        The data, as :func:`compsil_kit.adapters.open_data` returns them; only their shape and dtype are read.
    config : SelectionConfig
        The settings.
    """
    n_rows, n_features = table.shape
    largest = config.ks[-1]
    _check_k(largest, n_rows, "rows", table.shape, "Pass smaller ks, or more rows.")
    size = resolve_sample_size(config.sample_size, n_rows, largest)
    advice = "Pass smaller ks, or a larger sample_size."
    _check_k(largest, size, "rows in a subsample", table.shape, advice)
    if config.resolved_metric.precomputed and isinstance(getattr(table, "n_bytes", None), int):
        raise ValueError("metric='precomputed' needs the matrix of distances in memory. Load it first.")
    plan = Plan(
        n_rows=n_rows,
        n_features=n_features,
        ks=tuple(config.ks),
        n_subsamples=config.max_subsamples,
        n_calibration=config.n_calibration,
        sample_size=size,
        seeds=make_seeds(config.random_state, config.max_subsamples, config.n_calibration),
        clusterer=config.resolved_clusterer.name,
        metric=config.resolved_metric.name,
        dtype=str(table.dtype),
        n_starts=resolve_starts(config, config.criterion),
        structure=config.structure,
        adaptive=config.criterion if config.adaptive else "",
        scanned_bytes=getattr(table, "n_bytes", 0),
        on_failure=config.on_failure,
        config=config,
    )
    _check_criterion(config.criterion, plan)
    return plan


def _check_k(largest: int, limit: int, what: str, shape: tuple[int, int], advice: str) -> None:
    if largest >= limit:
        raise ValueError(
            f"ks must be smaller than the number of {what}, {limit:,}; got k={describe(largest)} "
            f"(X: n_samples={shape[0]}, n_features={shape[1]}). {advice}"
        )


def resolve_starts(config: SelectionConfig, criterion: str) -> int:
    """Return the number of initialisations of each clustering for a criterion.

    Parameters
    ----------
    config : SelectionConfig
        The settings.
    criterion : str
        The criterion by which k is selected.
    """
    clusterer, n_starts = config.resolved_clusterer, config.n_starts
    if isinstance(n_starts, str):
        return SEVERAL_STARTS if criterion in MULTI_INIT_CRITERIA and clusterer.takes_starts else 1
    if n_starts > 1 and not clusterer.takes_starts:
        raise ValueError(
            f"n_starts must be 1 with clusterer={clusterer.name!r}, which has no n_init, or has fixed initial centres; "
            f"got {n_starts}. Leave n_starts out, or pass clusterer='kmeans'."
        )
    return n_starts


def _check_criterion(criterion: str, plan: Plan) -> None:
    """Raise before the run if the criterion is undefined for this selection."""
    reason = why_unknown(plan, plan.n_subsamples) if criterion == LIKELY else ""
    if reason:
        raise ValueError(
            f"criterion='likely' selects k by the confidence, which is not available here: {reason}. Pass "
            "criterion='stable' or another."
        )
