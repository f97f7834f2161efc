"""Run a plan, for one result or a stream of growing results, and save finished subsamples to a checkpoint file."""

from __future__ import annotations

import json
import logging
import time
import warnings
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from threading import Lock, Timer
from typing import Any

from compsil_kit._data.dataset import Dataset
from compsil_kit._method.structure import Structure
from compsil_kit._result.records import dump_trial, load_trial
from compsil_kit._result.trials import Trial
from compsil_kit._run.engine import run
from compsil_kit._run.fingerprint import Fingerprint, differences, fingerprint
from compsil_kit._run.progress import Meter
from compsil_kit._run.structure import find_structure, n_steps
from compsil_kit._run.workers import n_workers
from compsil_kit._util import schema
from compsil_kit._util.checks import describe
from compsil_kit._util.format import format_seconds
from compsil_kit._util.system import locked, write_atomically
from compsil_kit.errors import Interrupted
from compsil_kit.events import Events
from compsil_kit.plan import Plan
from compsil_kit.result import SelectionResult, collect

logger = logging.getLogger("compsil_kit")

# The plan is shown before runs that are estimated to take at least this long.
LONG_SECONDS = 60.0

FORMAT = "compsil-kit/checkpoint"
VERSION = 1
# Minimum time between two writes. The pause is at least PAUSE_SHARE times as long as the last write.
PAUSE_SECONDS = 1.0
PAUSE_SHARE = 20
_ADVICE = "Pass another path, or delete the file to start over."

_FILE = schema.record({"fingerprint": schema.mapping_of(schema.anything), "trials": schema.list_of(schema.anything)})

Records = dict[int, dict[str, Any]]


def run_selection(plan: Plan, data: Dataset, events: Events) -> SelectionResult:
    """Return the selection; an exception that ends the run early has the partial result as ``.result``."""
    meter = Meter(events.progress, len(plan.seeds) + n_steps(plan))
    trials: list[Trial] = []
    try:
        trials, arriving = _start(plan, data, events)
        _announce(plan, data, meter, len(trials))
        # If clusterers silence warnings in two threads at the same time, the warning filters can stay changed.
        with warnings.catch_warnings(), closing(arriving):
            for trial in arriving:
                trials.append(trial)
                # A trial without agreements is part of the result, but the next run computes it again.
                if trial.whole:
                    meter.advance()
            structure = find_structure(data.matrix, plan, meter.advance)
    except KeyboardInterrupt as stop:
        saved = "" if events.checkpoint is None else f" Repeat the same call to resume from {events.checkpoint}."
        where = f"the partial result is in this exception's .result (sys.last_value.result in a notebook).{saved}"
        stopped = Interrupted(len(trials), len(plan.seeds), "subsamples", where)
        stopped.result = _partial(plan, data, trials)
        raise stopped from stop
    except BaseException as error:
        # The run may have been ended by a worker, a progress function or lack of memory; keep the partial result.
        error.result = _partial(plan, data, trials)  # type: ignore[attr-defined]
        raise
    finally:
        meter.close()
    result = _collect(plan, data, trials, structure, finished=True)
    result._chosen()
    return result


def stream_selection(plan: Plan, data: Dataset, events: Events) -> Generator[SelectionResult, None, None]:
    """Return a generator of growing results; the checkpoint is read before the first result is requested."""
    return _grow(plan, data, events, *_start(plan, data, events))


def _start(plan: Plan, data: Dataset, events: Events) -> tuple[list[Trial], Generator[Trial, None, None]]:
    """Return the trials in the checkpoint, and an iterator that computes the missing trials and saves them."""
    events.require_repeatable(plan.config.random_state)
    if events.checkpoint is None:
        return [], run(data.matrix, plan, events)
    path, own = Path(events.checkpoint), fingerprint(plan, data)
    kept = _read(path, own) if path.exists() else {}
    # A trial also depends on the previous subsample, which may differ if a list of seeds was passed.
    # Earlier releases did not store the previous seed.
    done = [
        load_trial(kept[seed], index, plan.ks)
        for index, seed in enumerate(plan.seeds)
        if seed in kept and kept[seed].get("after", plan.before(index)) == plan.before(index)
    ]
    work = run(data.matrix, plan, events, done)
    return done, _keep(work, plan, _Writer(path, own, kept)) if len(done) < len(plan.seeds) else work


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
    """Return the result of the finished trials, or None if none of the subsamples has been scored."""
    return _collect(plan, data, trials) if any(trial.index < plan.n_subsamples for trial in trials) else None


def compile_notice(plan: Plan, data: Dataset) -> str:
    """Return a notice if code must be compiled first, as in the first run on a machine, or an empty string."""
    if plan.config.resolved_clusterer.must_compile(data.matrix, plan.sample_size * plan.n_starts):
        return "Compiling k-means, once per machine; this may take half a minute."
    return ""


def _announce(plan: Plan, data: Dataset, meter: Meter, n_done: int) -> None:
    if n_done:
        meter.resume(n_done)
    meter.announce(compile_notice(plan, data))
    n_all = len(plan.seeds)
    seconds = plan.estimate_seconds(n_workers(plan.config.n_jobs)) * (1 - n_done / n_all)
    if seconds >= LONG_SECONDS:
        known = f" ({n_done} of {n_all} subsamples are already finished)" if n_done else ""
        text = f"Estimated time: {format_seconds(seconds)}{known}.\n{plan}"
        logger.info(text)
        meter.announce(text)


# --- the checkpoint ---------------------------------------------------------------------------------------------------


def _keep(work: Generator[Trial, None, None], plan: Plan, writer: _Writer) -> Generator[Trial, None, None]:
    with locked(writer.path), writer, closing(work) as trials:
        for trial in trials:
            try:
                writer.add(trial, plan)
            except KeyboardInterrupt:
                # The result and the file must contain the same trials.
                writer.add(trial, plan)
                yield trial
                raise
            yield trial


def _read(path: Path, own: Fingerprint) -> Records:
    """Return the trials in the file by seed; raise if the file is corrupted or belongs to another selection."""
    try:
        data = json.loads(path.read_bytes())
        if not isinstance(data, Mapping) or data.get("format") != FORMAT:
            raise ValueError
        version = data.get("version")
        schema.check_digest(data, "the file")
        found = _FILE(data, "the file") if version == VERSION else {"fingerprint": {}, "trials": []}
    except (ValueError, RecursionError) as error:
        raise _damaged(path, error) from error
    theirs, trials = found["fingerprint"], found["trials"]
    if version != VERSION:
        raise ValueError(
            f"checkpoint: {path} has version {describe(version)} of {FORMAT}; this release reads version {VERSION}. "
            f"Continue with the release that wrote the file. {_ADVICE}"
        )
    if theirs.get("on_failure") == "raise":
        # Nothing has failed so far, so skipping failures from now on does not change any trial.
        theirs["on_failure"] = own["on_failure"]
    differing = differences(theirs, own)
    if differing:
        raise ValueError(f"checkpoint: {path} belongs to another selection: {'; '.join(differing)}. {_ADVICE}")
    try:
        for record in trials:
            load_trial(record, 0, own["ks"])
    except ValueError as error:
        raise _damaged(path, error) from error
    return {int(record["seed"]): record for record in trials}


def _damaged(path: Path, error: Exception) -> ValueError:
    # The message of the original error is omitted, because it may quote the contents of an unrelated file.
    return ValueError(
        f"checkpoint: {path} is not a compsil-kit checkpoint, or is corrupted ({type(error).__name__}). {_ADVICE}"
    )


class _Writer:
    """Write trials to the file shortly after they finish, and again when the run ends for any reason."""

    def __init__(self, path: Path, own: Fingerprint, records: Records) -> None:
        self.path, self._own, self._records = path, own, dict(records)
        self._lock = Lock()
        self._timer: Timer | None = None
        self._pause = PAUSE_SECONDS
        self._unsaved = False
        self._problem: OSError | None = None

    def __enter__(self) -> _Writer:
        # Raise errors in writing before the computation, not after it.
        self._write()
        return self

    def add(self, trial: Trial, plan: Plan) -> None:
        """Add a trial; it is written shortly afterwards, even if no other trial follows."""
        if not trial.whole:
            # The agreements are missing, so the next run must compute this trial again.
            return
        record = dump_trial(trial, plan)
        with self._lock:
            self._records[record["seed"]] = record
            self._unsaved = True
            if self._timer is None:
                self._timer = Timer(self._pause, self._save)
                self._timer.name, self._timer.daemon = "compsil-checkpoint", True
                self._timer.start()
        self._warn()

    def __exit__(self, *_: object) -> None:
        if (timer := self._timer) is not None:
            timer.cancel()
        self._save()
        self._warn()

    def _save(self) -> None:
        with self._lock:
            self._timer = None
            if not self._unsaved:
                return
            try:
                self._write()
            except OSError as error:
                self._problem = error

    def _write(self) -> None:
        start = time.monotonic()
        trials = list(self._records.values())
        data = schema.signed({"format": FORMAT, "version": VERSION, "fingerprint": self._own, "trials": trials})
        write_atomically(self.path, json.dumps(data, allow_nan=False).encode())
        self._pause = max(PAUSE_SECONDS, PAUSE_SHARE * (time.monotonic() - start))
        self._unsaved = False

    def _warn(self) -> None:
        """Warn in the calling thread if writing failed; a full disk should not end the run."""
        problem, self._problem = self._problem, None
        if problem is not None:
            warnings.warn(
                f"checkpoint: {self.path} could not be written ({problem.strerror}); the run continues, but the "
                "subsamples finished since the last write are not saved.",
                RuntimeWarning,
                stacklevel=2,
            )
