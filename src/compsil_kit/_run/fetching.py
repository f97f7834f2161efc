"""Fetch the rows of all subsamples from a table outside memory: the seeds say which, one pass brings them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compsil_kit._data.sources.table import FetchedData, SourceTable
from compsil_kit._method.plan import Plan
from compsil_kit._method.subsample import common_rows, subsample_rows
from compsil_kit._run.pairs import with_predecessors
from compsil_kit._run.progress import make_row_meter
from compsil_kit._run.structure import compared_rows
from compsil_kit.errors import ROWS_READ, Interrupted


def fetch(
    table: SourceTable, plan: Plan, indices: Collection[int] | None, progress: Any, *, digest: bool
) -> FetchedData:
    """Return the rows of all subsamples, or of those in ``indices``; an interrupt says how far the pass got."""
    meter, n_read = make_row_meter(progress, plan.n_rows), 0

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
    """Return the numbers of all rows that a selection, or some subsamples of it, looks at, ascending."""
    wanted = range(len(plan.seeds)) if indices is None else with_predecessors(indices, plan)
    drawn = [subsample_rows(plan.seeds[index], plan.n_rows, plan.sample_size) for index in wanted]
    if plan.n_common:
        drawn.append(common_rows(plan.n_rows, plan.n_common))
    if plan.structure and (indices is None or 0 in indices):
        drawn.append(compared_rows(plan))
    return np.unique(np.concatenate(drawn))
