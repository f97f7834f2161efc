"""A file that keeps finished subsamples, so that a second run continues where the first one ended."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Generator, Mapping
from contextlib import closing
from pathlib import Path
from threading import Event, Lock, Timer
from typing import Any, NoReturn

from compsil_kit._method.plan import Plan
from compsil_kit._result.records import dump_trial, load_trial
from compsil_kit._result.trials import Trial
from compsil_kit._run.adaptive import compute
from compsil_kit._run.fingerprint import Fingerprint, differences
from compsil_kit._run.request import Request
from compsil_kit._util import schema
from compsil_kit._util.atomic import locked, write_atomically
from compsil_kit._util.checks import describe
from compsil_kit._util.schema import check_digest, signed

FORMAT = "compsil-kit/checkpoint"
VERSION = 1
# The file is never further behind than this, unless writing it takes long: then it gets a twentieth of the time.
PAUSE_SECONDS = 1.0
PAUSE_SHARE = 20
_WAY_OUT = "Pass another path, or delete the file to start again."

_FILE = schema.record({"fingerprint": schema.mapping_of(schema.anything), "trials": schema.list_of(schema.anything)})

Records = dict[int, dict[str, Any]]


def resume(
    path: Path, request: Request, stop: Event | None = None, *, in_rounds: bool = False
) -> tuple[list[Trial], Generator[Trial, None, None]]:
    """Return the trials that the file holds, and an iterator that computes the others and keeps them there."""
    own, plan = request.fingerprint, request.plan
    kept = _read(path, own) if path.exists() else {}
    # A trial also depends on the subsample before it, which may be another one where seeds are given one by one.
    known = {index for index, seed in enumerate(plan.seeds) if seed in kept and _fits(kept[seed], plan.before(index))}
    done = [load_trial(kept[plan.seeds[index]], index, plan.ks) for index in sorted(known)]
    work = compute(request, done, stop, in_rounds=in_rounds)
    return done, _compute(work, request, _Keeper(path, own, kept)) if len(done) < len(plan.seeds) else work


def _fits(record: Mapping[str, Any], before: int | None) -> bool:
    """Tell whether a trial is that of a subsample after this one; those of earlier releases do not say."""
    return bool(record.get("after", before) == before)


def _compute(work: Generator[Trial, None, None], request: Request, keeper: _Keeper) -> Generator[Trial, None, None]:
    with locked(keeper.path), keeper, closing(work) as trials:
        for trial in trials:
            try:
                keeper.add(trial, request.plan)
            except KeyboardInterrupt:
                # In the middle of it: what is in the result is to be in the file, and the other way round.
                keeper.add(trial, request.plan)
                yield trial
                raise
            yield trial


def _read(path: Path, own: Fingerprint) -> Records:
    """Return the trials in the file by their seeds; a file of another selection, or of anything else, is refused."""
    try:
        data = json.loads(path.read_bytes(), parse_constant=_refuse_constant)
        if not isinstance(data, Mapping) or data.get("format") != FORMAT:
            raise ValueError("another format")
        version = data.get("version")
        check_digest(data, "the file")
        found = _FILE(data, "the file") if version == VERSION else {"fingerprint": {}, "trials": []}
    except (ValueError, RecursionError) as error:
        raise _damaged(path, error) from error
    theirs, trials = found["fingerprint"], found["trials"]
    if version != VERSION:
        raise ValueError(
            f"checkpoint: {path} has version {describe(version)} of {FORMAT}; this release reads version {VERSION}. "
            f"Continue with the release that wrote it. {_WAY_OUT}"
        )
    if theirs.get("on_failure") == "raise":
        # Nothing has failed so far, so to skip failures from now on changes no trial.
        theirs["on_failure"] = own["on_failure"]
    differing = differences(theirs, own)
    if differing:
        raise ValueError(f"checkpoint: {path} belongs to another selection: {'; '.join(differing)}. {_WAY_OUT}")
    try:
        for record in trials:
            load_trial(record, 0, own["ks"])
    except ValueError as error:
        raise _damaged(path, error) from error
    return {int(record["seed"]): record for record in trials}


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _damaged(path: Path, error: Exception) -> ValueError:
    # Only the kind of error: its text may quote a file that is something else altogether.
    return ValueError(
        f"checkpoint: {path} is not a checkpoint of compsil-kit, or it is damaged ({type(error).__name__}). {_WAY_OUT}"
    )


class _Keeper:
    """Writes trials to the file, soon after they come and at the end, whatever ends the run."""

    def __init__(self, path: Path, own: Fingerprint, records: Records) -> None:
        self.path, self._own, self._records = path, own, dict(records)
        self._lock = Lock()
        self._timer: Timer | None = None
        self._pause = PAUSE_SECONDS
        self._unsaved = False
        self._problem: OSError | None = None

    def __enter__(self) -> _Keeper:
        # At once: a place that cannot be written to is an error before the work, not after it.
        self._write()
        return self

    def add(self, trial: Trial, plan: Plan) -> None:
        """Take one more trial; the file has it within the next moments, even if no other one follows.

        One that lacks its agreements is left to the next run.
        """
        if not trial.whole:
            return
        record = dump_trial(trial, plan)
        with self._lock:
            self._records[record["seed"]] = record
            self._unsaved = True
            if self._timer is None:
                self._timer = Timer(self._pause, self._save)
                self._timer.name, self._timer.daemon = "compsil-checkpoint", True
                self._timer.start()
        self._complain()

    def __exit__(self, *_: object) -> None:
        timer = self._timer
        if timer is not None:
            timer.cancel()
        self._save()
        self._complain()

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
        data = signed({"format": FORMAT, "version": VERSION, "fingerprint": self._own, "trials": trials})
        write_atomically(self.path, json.dumps(data, allow_nan=False).encode())
        self._pause = max(PAUSE_SECONDS, PAUSE_SHARE * (time.monotonic() - start))
        self._unsaved = False

    def _complain(self) -> None:
        """Warn in the thread that called: a full disk must neither go unnoticed nor cost the run that fills it."""
        problem, self._problem = self._problem, None
        if problem is not None:
            warnings.warn(
                f"checkpoint: {self.path} could not be written ({problem.strerror}); the run continues, but the "
                "subsamples finished since the last write are not saved.",
                RuntimeWarning,
                stacklevel=2,
            )
