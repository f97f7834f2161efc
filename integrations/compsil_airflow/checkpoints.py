"""Checkpoints, from which the next attempt of a task resumes, and progress in the task log."""

from __future__ import annotations

import json
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

from compsil_airflow.compat import airflow_home
from compsil_airflow.storage import Place, check_writable, remote_path, resolve_place, write

AUTO = "auto"
# Seconds between two uploads of a checkpoint, and between two progress messages.
UPLOAD_SECONDS = PROGRESS_SECONDS = 5.0


class LogProgress:
    """A progress function that logs finished subsamples and rows read, every few seconds and at the end."""

    def __init__(self, log: Any) -> None:
        """Store the logger and start the timer."""
        self._log, self._last, self._done = log, time.monotonic(), 0

    def __call__(self, done: int, total: int) -> None:
        """Log the number of finished subsamples."""
        if done > self._done + 1:
            self._log.info("Resuming: %s of %s subsamples were finished by an earlier attempt", done, total)
        elif self._is_due() or done == total:
            self._write("%s of %s subsamples finished", done, total)
        self._done = done

    def rows(self, done: int, total: int) -> None:
        """Log the number of rows read from an out-of-core table, at most once every few seconds."""
        if self._is_due():
            self._write("%s of %s rows read", f"{done:,}", f"{total:,}")

    def _is_due(self) -> bool:
        return time.monotonic() - self._last >= PROGRESS_SECONDS

    def _write(self, text: str, *values: Any) -> None:
        self._log.info(text, *values)
        self._last = time.monotonic()


def resolve_checkpoint(checkpoint: Any, base_dir: Any, random_state: Any) -> Place | None:
    """Return the path or URI that the DAG passes as the checkpoint, or None; raise if it is not writable."""
    if checkpoint is None or checkpoint == AUTO:
        return None
    if random_state is None:
        raise ValueError(
            "checkpoint needs the same seeds in every run, but random_state=None draws new seeds each time. Pass "
            "an integer as random_state."
        )
    place = resolve_place("checkpoint", checkpoint, base_dir)
    check_writable("checkpoint", place)
    return place


def automatic_checkpoint(fingerprint: Any, task_instance: Any, log: Any) -> Path | None:
    """Return a path in Airflow's home folder for the task instance, its data and its settings, and create that folder.

    If the data or the settings change between two attempts, the second attempt cannot use the first checkpoint. It
    uses a file with a different name and deletes the old one. If the folder is not writable, the task continues
    without a checkpoint, because the user did not request one.
    """
    key = [getattr(task_instance, name) for name in ("dag_id", "run_id", "task_id", "map_index")]
    folder = airflow_home() / "compsil-checkpoints" / _safe(key[0])
    prefix = f"{_safe(key[2])}-{_digest(key)}"
    path = folder / f"{prefix}.{_digest(fingerprint)}.json"
    try:
        check_writable("checkpoint", path)
        for other in folder.glob(f"{prefix}.*.json"):
            if other != path:
                log.warning("The data or settings have changed since the last attempt, so its checkpoint is discarded.")
                other.unlink(missing_ok=True)
    except OSError as error:
        log.warning("No checkpoint is kept, so a retry starts from the beginning: %s", error)
        return None
    return path


def delete_checkpoint(place: Place, log: Any) -> None:
    """Delete a checkpoint that is no longer needed; if this fails, log a warning, because the task has succeeded."""
    try:
        (place if isinstance(place, Path) else remote_path(place)).unlink(missing_ok=True)
    except OSError as error:
        log.warning("The checkpoint could not be deleted: %s", error)


@dataclass
class Mirror:
    """The local copy of a checkpoint in an object store; ``upload`` uploads the copy if it has changed."""

    path: Path
    uri: str
    log: Any
    _sent: bytes = b""
    _last: float = field(default_factory=time.monotonic)

    def with_uploads(self, progress: Callable[[int, int], None]) -> Callable[[int, int], None]:
        """Return a progress function that also uploads the copy every few seconds."""

        def report_and_upload(done: int, total: int) -> None:
            progress(done, total)
            if time.monotonic() - self._last >= UPLOAD_SECONDS:
                self.upload()

        return report_and_upload

    def upload(self) -> None:
        """Upload the copy; if the upload fails, log a warning and continue."""
        self._last = time.monotonic()
        content = self.path.read_bytes() if self.path.exists() else b""
        if content in (b"", self._sent):
            return
        try:
            write(self.uri, content)
        except OSError as error:
            self.log.warning("checkpoint: %s could not be written: %s", self.uri, error)
        else:
            self._sent = content


@contextmanager
def mirrored(uri: str, log: Any) -> Iterator[Mirror]:
    """Download a checkpoint from an object store, and upload it when the block exits, even after an error."""
    remote = remote_path(uri)
    with tempfile.TemporaryDirectory(prefix="compsil-") as folder:
        mirror = Mirror(Path(folder) / "checkpoint.json", uri, log)
        if remote.exists():
            mirror.path.write_bytes(remote.read_bytes())
        try:
            yield mirror
        finally:
            mirror.upload()


def _safe(name: str) -> str:
    return re.sub(r"[^\w-]", "_", name)[:80]


def _digest(value: Any) -> str:
    return blake2b(json.dumps(value, sort_keys=True).encode(), digest_size=8).hexdigest()
