"""The checkpoint: a file of finished subsamples, from which a second run resumes."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Generator, Mapping
from contextlib import closing
from pathlib import Path
from threading import Lock, Timer
from typing import Any

from compsil_kit._data.dataset import Dataset
from compsil_kit._result.records import dump_trial, load_trial
from compsil_kit._result.trials import Trial
from compsil_kit._run.engine import run
from compsil_kit._run.fingerprint import Fingerprint, differences, fingerprint
from compsil_kit._util import schema
from compsil_kit._util.checks import describe
from compsil_kit._util.schema import check_digest, signed
from compsil_kit._util.system import locked, write_atomically
from compsil_kit.config import Events
from compsil_kit.plan import Plan

FORMAT = "compsil-kit/checkpoint"
VERSION = 1
# Seconds between two writes, or more if writing takes more than a twentieth of the time.
PAUSE_SECONDS = 1.0
PAUSE_SHARE = 20
_ADVICE = "Pass another path, or delete the file to start again."

_FILE = schema.record({"fingerprint": schema.mapping_of(schema.anything), "trials": schema.list_of(schema.anything)})

Records = dict[int, dict[str, Any]]


def resume(
    plan: Plan, data: Dataset, events: Events, *, pause_between: bool = False
) -> tuple[list[Trial], Generator[Trial, None, None]]:
    """Return the trials in the file, and an iterator that computes the others and adds them to the file."""
    path, own = Path(events.checkpoint or ""), fingerprint(plan, data)
    kept = _read(path, own) if path.exists() else {}
    # A trial also depends on the previous subsample, which may differ if the seeds were passed one by one.
    known = {index for index, seed in enumerate(plan.seeds) if seed in kept and _fits(kept[seed], plan.before(index))}
    done = [load_trial(kept[plan.seeds[index]], index, plan.ks) for index in sorted(known)]
    work = run(data.matrix, plan, events, done, pause_between=pause_between)
    return done, _keep(work, plan, _Writer(path, own, kept)) if len(done) < len(plan.seeds) else work


def _fits(record: Mapping[str, Any], before: int | None) -> bool:
    """Return whether a trial has this predecessor; trials of earlier releases do not record it."""
    return bool(record.get("after", before) == before)


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
    """Return the trials in the file by seed; raise if the file belongs to another selection or is no checkpoint."""
    try:
        data = json.loads(path.read_bytes())
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
            f"Continue with the release that wrote it. {_ADVICE}"
        )
    if theirs.get("on_failure") == "raise":
        # Nothing has failed so far, so skipping failures from now on changes no trial.
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
    # Without the error's text, which may quote the contents of an unrelated file.
    return ValueError(
        f"checkpoint: {path} is not a checkpoint of compsil-kit, or is damaged ({type(error).__name__}). {_ADVICE}"
    )


class _Writer:
    """Write trials to the file soon after they finish, and at the end, whatever ends the run."""

    def __init__(self, path: Path, own: Fingerprint, records: Records) -> None:
        self.path, self._own, self._records = path, own, dict(records)
        self._lock = Lock()
        self._timer: Timer | None = None
        self._pause = PAUSE_SECONDS
        self._unsaved = False
        self._problem: OSError | None = None

    def __enter__(self) -> _Writer:
        # At once: an error must be raised before the work, not after it.
        self._write()
        return self

    def add(self, trial: Trial, plan: Plan) -> None:
        """Add a trial, which is written within the next moments, even if no other one follows.

        A trial without agreements is left to the next run.
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
        self._warn()

    def __exit__(self, *_: object) -> None:
        timer = self._timer
        if timer is not None:
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
        data = signed({"format": FORMAT, "version": VERSION, "fingerprint": self._own, "trials": trials})
        write_atomically(self.path, json.dumps(data, allow_nan=False).encode())
        self._pause = max(PAUSE_SECONDS, PAUSE_SHARE * (time.monotonic() - start))
        self._unsaved = False

    def _warn(self) -> None:
        """Warn in the calling thread: a full disk must not go unnoticed, and must not end the run."""
        problem, self._problem = self._problem, None
        if problem is not None:
            warnings.warn(
                f"checkpoint: {self.path} could not be written ({problem.strerror}); the run continues, but the "
                "subsamples finished since the last write are not saved.",
                RuntimeWarning,
                stacklevel=2,
            )
