"""Run the structure test, which clusters the data and reference data without clusters in the same way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from threading import Event
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray

from compsil_kit._method.reference_data import references
from compsil_kit._method.structure import (
    N_NULL,
    REFERENCE_KINDS,
    Structure,
    break_ties,
    judge,
    n_compared,
    n_starts,
    standardised,
)
from compsil_kit._method.subsample import STRUCTURE_STREAM, derive_seed, subsample_rows
from compsil_kit._run.subsample import cluster_all, score_labelings
from compsil_kit._run.workers import Tick, in_threads, n_workers, one_blas_thread
from compsil_kit.plan import Plan

Array = NDArray[np.float64]


def n_steps(plan: Plan) -> int:
    """Return the number of steps: one for the data and one for each group of reference data sets."""
    return 1 + N_NULL if plan.structure else 0


def compared_rows(plan: Plan) -> NDArray[np.int64]:
    return subsample_rows(derive_seed(plan.seeds[0], 0, stream=STRUCTURE_STREAM), plan.n_rows, n_compared(plan))


def find_structure(
    X: Any, plan: Plan, advance: Callable[[], None] = lambda: None, stop: Event | None = None
) -> Structure | None:
    """Return the outcome of the test, or None if it was not planned or ``stop`` was set before it finished."""
    if not plan.structure:
        return None
    points = standardised(X[compared_rows(plan)])
    # Candidates with too few distinct points are skipped regardless of on_failure.
    plan = replace(plan, n_starts=n_starts(len(points)), on_failure="skip")
    with sklearn.config_context(skip_parameter_validation=True), one_blas_thread():
        draws = references(points)

    def work(step: int, tick: Tick) -> tuple[int, Array]:
        """Return silhouettes of shape (n_sets, n_candidates); step 0 is the data, the other steps are references."""
        # The random numbers depend only on the step, so that results do not depend on the number of workers.
        seed = derive_seed(plan.seeds[0], step, stream=STRUCTURE_STREAM)
        random = np.random.default_rng(seed)
        sets = [break_ties(points, random)] if step == 0 else [draw(random) for draw in draws.values()]
        return step, np.array([_silhouettes(each, seed, plan, tick) for each in sets])

    found: dict[int, Array] = {}
    workers = n_workers(plan.config.n_jobs)
    for step, values in in_threads(work, range(n_steps(plan)), workers, stop, skip_parameter_validation=True):
        found[step] = values
        advance()
    if len(found) < n_steps(plan):
        return None
    drawn = np.array([found[step] for step in range(1, n_steps(plan))])
    return judge(found[0][0], {name: drawn[:, at] for at, name in enumerate(REFERENCE_KINDS)}, len(points))


def _silhouettes(points: Array, seed: int, plan: Plan, tick: Tick) -> Array:
    """Return the micro-averaged silhouette of the best initialisation per k; NaN where the clustering failed."""
    points.setflags(write=False)
    _, best, _ = cluster_all(points, 0, plan, tick, seed=seed)
    return score_labelings(points, best, plan, tick)[0]
