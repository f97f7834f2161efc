"""Where the finished subsamples of a task are kept between its attempts."""

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
from typing import TYPE_CHECKING, Any

from compsil_airflow.compat import airflow_home
from compsil_airflow.paths import check_place, check_scheme, check_writable, remote_path, store

if TYPE_CHECKING:
    from compsil_kit._run.request import Request

AUTO = "auto"
# A copy in an object store is at most about this far behind.
UPLOAD_SECONDS = 5.0


def given_checkpoint(checkpoint: Any, base_dir: Any) -> Path | Any:
    """Return the file or the object that the user named for the checkpoint, if any; it must be writable."""
    if checkpoint is None or checkpoint == AUTO:
        return None
    place = check_place("checkpoint", checkpoint, base_dir)
    if isinstance(place, Path):
        check_writable("checkpoint", place)
    else:
        check_scheme("checkpoint", place)
    return place


def own_checkpoint(request: Request, task_instance: Any, log: Any) -> Path | None:
    """Return a file in Airflow's home, named after the task instance and what it computes; its folder is created.

    If the data or the settings change between two attempts, the checkpoint of the first attempt is useless: the second
    looks for a file of another name, and deletes the old one. Nobody asked for this file, so a folder that cannot be
    written costs the checkpoint and not the task.
    """
    key = [getattr(task_instance, name) for name in ("dag_id", "run_id", "task_id", "map_index")]
    folder = airflow_home() / "compsil-checkpoints" / _safe(key[0])
    prefix = f"{_safe(key[2])}-{_digest(key)}"
    path = folder / f"{prefix}.{_digest(request.fingerprint)}.json"
    try:
        check_writable("checkpoint", path)
        for other in folder.glob(f"{prefix}.*.json"):
            if other != path:
                log.warning("The data or the settings changed since the last attempt; its checkpoint is discarded.")
                other.unlink(missing_ok=True)
    except OSError as error:
        log.warning("No checkpoint is kept, so a retry starts from the beginning: %s", error)
        return None
    return path


def forget(place: Path | Any, log: Any) -> None:
    """Delete a checkpoint that is no longer needed; if that fails the task has succeeded all the same."""
    try:
        if isinstance(place, Path):
            place.unlink(missing_ok=True)
        else:
            remote = remote_path(place)
            if remote.exists():
                remote.unlink()
    except OSError as error:
        log.warning("The checkpoint could not be deleted: %s", error)


@dataclass
class Mirror:
    """The local copy of a checkpoint in an object store; ``upload`` sends it if it has changed."""

    path: Path
    place: Any
    log: Any
    _sent: bytes = b""
    _last: float = field(default_factory=time.monotonic)

    def telling(self, tell: Callable[[int, int], None]) -> Callable[[int, int], None]:
        """Return a progress function that also sends the copy every few seconds."""

        def tell_and_upload(done: int, total: int) -> None:
            tell(done, total)
            if time.monotonic() - self._last >= UPLOAD_SECONDS:
                self.upload()

        return tell_and_upload

    def upload(self) -> None:
        """Send the copy; a store that does not answer costs the checkpoint and not the task."""
        self._last = time.monotonic()
        content = self.path.read_bytes() if self.path.exists() else b""
        if content in (b"", self._sent):
            return
        try:
            store(self.place, content)
        except OSError as error:
            self.log.warning("checkpoint: %s could not be written: %s", self.place, error)
        else:
            self._sent = content


@contextmanager
def mirrored(place: Any, log: Any) -> Iterator[Mirror]:
    """Fetch a checkpoint from an object store, and send it back at the end, whatever ends the block."""
    remote = remote_path(place)
    with tempfile.TemporaryDirectory(prefix="compsil-") as folder:
        mirror = Mirror(Path(folder) / "checkpoint.json", place, log)
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
