"""Run a plan: all at once, or as a stream of growing results."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Generator, Sequence
from contextlib import closing

from compsil_kit._data.dataset import Dataset
from compsil_kit._method.structure import Structure
from compsil_kit._result.trials import Trial
from compsil_kit._run.checkpoint import resume
from compsil_kit._run.engine import run
from compsil_kit._run.progress import Meter, make_meter
from compsil_kit._run.structure import find_structure, n_steps
from compsil_kit._run.workers import n_workers
from compsil_kit._util.format import format_seconds
from compsil_kit.config import Events
from compsil_kit.errors import Interrupted
from compsil_kit.plan import Plan
from compsil_kit.result import SelectionResult, collect

logger = logging.getLogger("compsil_kit")

# The plan is announced before runs that take at least this long.
LONG_SECONDS = 60.0


def run_selection(plan: Plan, data: Dataset, events: Events) -> SelectionResult:
    """Return the selection; an exception that ends the run early has the finished part as ``.result``."""
    meter = make_meter(events.progress, len(plan.seeds) + n_steps(plan))
    trials: list[Trial] = []
    try:
        trials, arriving = _start(plan, data, events)
        _announce(plan, data, meter, len(trials))
        # Clusterers that silence warnings in two threads at once leave the filters changed.
        with warnings.catch_warnings(), closing(arriving):
            for trial in arriving:
                trials.append(trial)
                # A trial without agreements is part of the result, but is computed again by the next run.
                if trial.whole:
                    meter.advance()
            structure = find_structure(data.matrix, plan, meter.advance)
    except KeyboardInterrupt as stop:
        kept = "" if events.checkpoint is None else f" and in {events.checkpoint}, from which the same call continues"
        where = f"the finished part is in this exception's .result (sys.last_value.result in a notebook){kept}."
        stopped = Interrupted(len(trials), len(plan.seeds), "subsamples", where)
        stopped.result = _partial(plan, data, trials)
        raise stopped from stop
    except BaseException as error:
        # Memory, a progress function or a worker may have ended the run: the finished part is kept.
        error.result = _partial(plan, data, trials)  # type: ignore[attr-defined]
        raise
    finally:
        meter.close()
    result = _collect(plan, data, trials, structure, finished=True)
    result._chosen()
    return result


def stream_selection(plan: Plan, data: Dataset, events: Events) -> Generator[SelectionResult, None, None]:
    """Return a generator of growing results; the checkpoint is read at once."""
    return _grow(plan, data, events, *_start(plan, data, events))


def _start(plan: Plan, data: Dataset, events: Events) -> tuple[list[Trial], Generator[Trial, None, None]]:
    """Return the trials of the checkpoint, and an iterator that computes the others."""
    events.require_repeatable(plan.config.random_state)
    if events.checkpoint is not None:
        return resume(plan, data, events)
    return [], run(data.matrix, plan, events)


def _grow(
    plan: Plan, data: Dataset, events: Events, trials: list[Trial], arriving: Generator[Trial, None, None]
) -> Generator[SelectionResult, None, None]:
    with closing(arriving):
        known = _partial(plan, data, trials)
        if known is not None:
            yield known
        for trial in arriving:
            trials.append(trial)
            growing = _partial(plan, data, trials)
            if growing is not None:
                yield growing
    if len(trials) == len(plan.seeds) or (plan.adaptive and not events.stopped):
        structure = find_structure(data.matrix, plan, stop=events.stop)
        if structure is not None or plan.adaptive:
            yield _collect(plan, data, trials, structure, finished=True)


def _collect(
    plan: Plan, data: Dataset, trials: Sequence[Trial], structure: Structure | None = None, *, finished: bool = False
) -> SelectionResult:
    choice, preparation = plan.config.choice, data.preparation
    return collect(plan, trials, finished=finished, **choice, preparation=preparation, structure=structure)


def _partial(plan: Plan, data: Dataset, trials: Sequence[Trial]) -> SelectionResult | None:
    """Return the result of the finished trials; None without a scored one."""
    return _collect(plan, data, trials) if any(trial.index < plan.n_subsamples for trial in trials) else None


def compile_notice(plan: Plan, data: Dataset) -> str:
    """Return a notice if the run begins with compilation, as the first run on a machine does; otherwise empty text."""
    if plan.config.resolved_clusterer.must_compile(data.matrix, plan.sample_size * plan.n_starts):
        return "Compiling k-means, once on this machine; this may take half a minute."
    return ""


def _announce(plan: Plan, data: Dataset, meter: Meter, n_done: int) -> None:
    if n_done:
        meter.resume(n_done)
    meter.announce(compile_notice(plan, data))
    n_all = len(plan.seeds)
    seconds = plan.estimate_seconds(n_workers(plan.config.n_jobs)) * (1 - n_done / n_all)
    if seconds >= LONG_SECONDS:
        known = f" ({n_done} of {n_all} subsamples are finished already)" if n_done else ""
        text = f"Estimated time: {format_seconds(seconds)}{known}.\n{plan}"
        logger.info(text)
        meter.announce(text)
