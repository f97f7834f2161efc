"""Run a checked request: all at once, or one growing result after another."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Generator, Sequence
from contextlib import closing
from threading import Event
from typing import Any

from compsil_kit._result.trials import Trial
from compsil_kit._run.adaptive import compute
from compsil_kit._run.checkpoint import resume
from compsil_kit._run.engine import n_workers
from compsil_kit._run.progress import Meter, make_meter
from compsil_kit._run.request import Request, chosen
from compsil_kit._run.structure import find_structure, n_steps
from compsil_kit._util.format import format_seconds
from compsil_kit.errors import Interrupted
from compsil_kit.result import SelectionResult

logger = logging.getLogger("compsil_kit")

# From this estimate on, the plan is announced before the work starts.
LONG_SECONDS = 60.0


def run_selection(request: Request, progress: Any = None) -> SelectionResult:
    """Return the selection; whatever ends the run early carries the finished part as ``.result``."""
    meter = make_meter(progress, len(request.plan.seeds) + n_steps(request.plan))
    trials: list[Trial] = []
    try:
        trials, arriving = _begin(request)
        _announce(request, meter, len(trials))
        # Clusterers that silence warnings in two threads at once leave the filters changed; this puts them back.
        with warnings.catch_warnings(), closing(arriving):
            for trial in arriving:
                trials.append(trial)
                # What lacks its agreements is in the result, but will be computed again.
                if trial.whole:
                    meter.advance()
            structure = find_structure(request.data.matrix, request.job, request.n_jobs, meter.advance)
    except KeyboardInterrupt as stop:
        raise _interrupted(request, trials) from stop
    except BaseException as error:
        # Whatever ended the run, memory, a progress function or a worker: what was finished is not lost.
        error.result = request.partial(trials)  # type: ignore[attr-defined]
        raise
    finally:
        meter.close()
    return chosen(request.result(trials, structure, finished=True))


def stream_selection(
    request: Request, stop: Event | None = None, *, in_rounds: bool = False
) -> Generator[SelectionResult, None, None]:
    """Return a generator of growing results; it ends early when ``stop`` is set. A checkpoint is read at once.

    ``in_rounds`` lets the workers rest while a result is looked at.
    """
    return _grow(request, *_begin(request, stop, in_rounds=in_rounds), stop)


def _begin(
    request: Request, stop: Event | None = None, *, in_rounds: bool = False
) -> tuple[list[Trial], Generator[Trial, None, None]]:
    """Return the trials that are known already, and an iterator that computes the others."""
    if request.checkpoint is None:
        return [], compute(request, [], stop, in_rounds=in_rounds)
    return resume(request.checkpoint, request, stop, in_rounds=in_rounds)


def _grow(
    request: Request, trials: list[Trial], arriving: Generator[Trial, None, None], stop: Event | None
) -> Generator[SelectionResult, None, None]:
    with closing(arriving):
        known = request.partial(trials)
        if known is not None:
            yield known
        for trial in arriving:
            trials.append(trial)
            # Calibration subsamples go first, but one may finish late: the last result is always the whole one.
            growing = request.partial(trials)
            if growing is not None:
                yield growing
    if len(trials) == len(request.plan.seeds) or (request.plan.adaptive and not _is_set(stop)):
        structure = find_structure(request.data.matrix, request.job, request.n_jobs, stop=stop)
        if structure is not None or request.plan.adaptive:
            yield request.result(trials, structure, finished=True)


def _is_set(stop: Event | None) -> bool:
    return stop is not None and stop.is_set()


def first_words(request: Request) -> str:
    """Return what there is to say before the first subsample: the first run on a machine begins by compiling."""
    if request.job.clusterer.must_compile(request.data.matrix, request.plan.sample_size * request.plan.n_starts):
        return "Compiling k-means, once on this machine; this may take half a minute."
    return ""


def announce_compiling(request: Request, meter: Meter) -> None:
    """Say the first words, if there are any."""
    words = first_words(request)
    if words:
        meter.announce(words)


def _announce(request: Request, meter: Meter, n_done: int) -> None:
    if n_done:
        meter.resume(n_done)
    announce_compiling(request, meter)
    n_all = len(request.plan.seeds)
    seconds = request.plan.estimate_seconds(n_workers(request.n_jobs)) * (1 - n_done / n_all)
    if seconds >= LONG_SECONDS:
        known = f" ({n_done} of {n_all} subsamples are finished already)" if n_done else ""
        text = f"Estimated time: {format_seconds(seconds)}{known}.\n{request.plan}"
        logger.info(text)
        meter.announce(text)


def _interrupted(request: Request, trials: Sequence[Trial]) -> Interrupted:
    kept = "" if request.checkpoint is None else f" and in {request.checkpoint}, from which the same call continues"
    where = f"the finished part is in this exception's .result (sys.last_value.result in a notebook){kept}."
    stopped = Interrupted(len(trials), len(request.plan.seeds), "subsamples", where)
    stopped.result = request.partial(trials)
    return stopped
