"""Open the data, and load and validate what a plan needs of them: the only step that reads rows."""

from __future__ import annotations

import warnings
from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compsil_kit._data.columns import MAX_SCALE_RATIO, check_enough_distinct, scale_ratio
from compsil_kit._data.dataset import Dataset, FetchedData, SourceTable, known_rows
from compsil_kit._method.clusterers import check_input_kind
from compsil_kit._method.metrics import check_metric_fits
from compsil_kit._method.structure import check_testable
from compsil_kit._method.subsample import common_rows, subsample_rows
from compsil_kit._run.planning import resolve_workers
from compsil_kit._run.progress import make_row_meter
from compsil_kit._run.structure import compared_rows
from compsil_kit._run.subsample import with_predecessors
from compsil_kit._util.warn import caller_level
from compsil_kit.config import Events
from compsil_kit.errors import ROWS_READ, Interrupted, ScaleWarning
from compsil_kit.plan import Plan


def load(
    table: Dataset | SourceTable,
    plan: Plan,
    events: Events,
    *,
    indices: Collection[int] | None = None,
    digest: bool = False,
    warn: bool = True,
) -> Dataset:
    """Return the data of a selection: finite, scaled, and validated against the settings.

    One pass over an out-of-core table fetches the rows of all subsamples, or of those in ``indices``. With ``digest``
    or a checkpoint it also computes a digest of all rows. ``warn`` is whether to report columns of different scales.
    """
    resolve_workers(plan, fetched=isinstance(table, SourceTable))
    data = table
    if isinstance(data, SourceTable):
        warn = warn and not data.prepared
        data = fetch(data, plan, events, indices, digest=digest or events.checkpoint is not None)
    clusterer, metric = plan.config.resolved_clusterer, plan.config.resolved_metric
    matrix = known_rows(data.matrix)
    check_input_kind(clusterer, matrix)
    check_metric_fits(metric, matrix)
    if plan.structure:
        check_testable(clusterer, metric, matrix)
    check_enough_distinct(matrix, plan.ks[-1], whole=matrix is data.matrix)
    if warn and not data.prepared and not metric.precomputed:
        warn_of_scale(
            matrix, "prepare(df, scale='standard') or StandardScaler; or keep them with prepare(df, scale=None)"
        )
    return data


def fetch(
    table: SourceTable, plan: Plan, events: Events, indices: Collection[int] | None, *, digest: bool
) -> FetchedData:
    """Fetch the rows of all subsamples, or of those in ``indices``, in one pass; an interrupt reports its progress."""
    meter, n_read = make_row_meter(events.progress, plan.n_rows), 0

    def tick(n_more: int) -> None:
        nonlocal n_read
        n_read += n_more
        meter.advance(n_more)

    try:
        return table.fetch(needed_rows(plan, indices), tick, digest=digest)
    except KeyboardInterrupt as stop:
        raise Interrupted(n_read, plan.n_rows, ROWS_READ, "nothing was computed yet") from stop
    finally:
        meter.close()


def needed_rows(plan: Plan, indices: Collection[int] | None = None) -> NDArray[np.int64]:
    """Return the ascending numbers of all rows that a selection, or some of its subsamples, uses."""
    wanted = range(len(plan.seeds)) if indices is None else with_predecessors(indices, plan)
    drawn = [subsample_rows(plan.seeds[index], plan.n_rows, plan.sample_size) for index in wanted]
    if plan.n_common:
        drawn.append(common_rows(plan.n_rows, plan.n_common))
    if plan.structure and (indices is None or 0 in indices):
        drawn.append(compared_rows(plan))
    return np.unique(np.concatenate(drawn))


def warn_of_scale(matrix: Any, advice: str) -> None:
    """Warn, at the caller's line, that columns of a large scale dominate the distances."""
    ratio = scale_ratio(matrix)
    if ratio > MAX_SCALE_RATIO:
        warnings.warn(
            f"the columns of X differ in scale by a factor of {ratio:,.0f}, and X is used unscaled: columns of a large "
            f"scale dominate the distances. Scale them first, with {advice}.",
            ScaleWarning,
            stacklevel=caller_level(),
        )
