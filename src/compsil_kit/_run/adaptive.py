"""Run the subsamples of a selection; where there are as many as it takes, in rounds with the ks that can still win."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from threading import Event

from compsil_kit._method.selection import ROUND, review_candidates
from compsil_kit._result.trials import Trial
from compsil_kit._run.engine import Round, run
from compsil_kit._run.request import Request


def compute(
    request: Request, known: Sequence[Trial], stop: Event | None = None, *, in_rounds: bool = False
) -> Generator[Trial, None, None]:
    """Return an iterator that computes the trials of a selection that are not known yet."""
    if request.plan.adaptive:
        return _until_sure(request, list(known), stop, in_rounds=in_rounds)
    done = {trial.index for trial in known}
    missing = [index for index in range(len(request.plan.seeds)) if index not in done]
    return run(request.data.matrix, request.job, request.n_jobs, missing, stop, in_rounds=in_rounds)


def _until_sure(
    request: Request, trials: list[Trial], stop: Event | None, *, in_rounds: bool
) -> Generator[Trial, None, None]:
    """Yield the trials that are missing, until what all of them say is sure, or the most subsamples are done.

    What a round runs depends on the trials of earlier rounds alone, so that a run that continues from a checkpoint
    computes what an uninterrupted one does.
    """
    planned = _rounds(request, trials)
    work = run(request.data.matrix, request.job, request.n_jobs, stop=stop, in_rounds=in_rounds, rounds=planned)
    with closing(work):
        for trial in work:
            trials.append(trial)
            yield trial


def _rounds(request: Request, trials: list[Trial]) -> Iterator[Round]:
    """Yield the subsamples that each round lacks, and the positions of its ks; ``trials`` grows meanwhile."""
    plan = request.plan
    going_on = tuple(range(len(plan.ks)))
    for low in range(0, plan.n_subsamples, ROUND):
        indices = range(low, min(low + ROUND, plan.n_subsamples))
        # Those for calibration go with the first round: weights depend on them.
        wanted = [*(range(plan.n_subsamples, len(plan.seeds)) if low == 0 else ()), *indices]
        done = {trial.index for trial in trials}
        missing = [index for index in wanted if index not in done]
        if missing:
            yield missing, going_on
        so_far = [trial for trial in trials if trial.index < indices.stop or trial.index >= plan.n_subsamples]
        result = request.result(so_far)
        enough, going_on = review_candidates(result.selection_probability, result._selectable, going_on)
        if enough:
            return
