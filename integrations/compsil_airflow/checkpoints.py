"""Where the finished subsamples of a task are kept between its attempts."""

from __future__ import annotations

import json
import re
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compsil_airflow.compat import airflow_home
from compsil_airflow.paths import check_place

if TYPE_CHECKING:
    from compsil_kit.run.request import Request

AUTO = "auto"


def given_checkpoint(checkpoint: Any, base_dir: Any) -> Path | None:
    """Return the file that the user named for the checkpoint, if any; its folder is created."""
    if checkpoint is None or checkpoint == AUTO:
        return None
    path = check_place("checkpoint", checkpoint, base_dir)
    if not isinstance(path, Path):
        raise ValueError(f"checkpoint must be 'auto', a local path, or None; got {str(checkpoint)!r}.")
    return _with_folder(path)


def own_checkpoint(request: Request, task_instance: Any, log: Any) -> Path:
    """Return a file in Airflow's home, named after the task instance and what it computes; its folder is created.

    If the data or the settings change between two attempts, the checkpoint of the first attempt is useless: the second
    looks for a file of another name, and deletes the old one.
    """
    key = [getattr(task_instance, name) for name in ("dag_id", "run_id", "task_id", "map_index")]
    folder = airflow_home() / "compsil-checkpoints" / _safe(key[0])
    prefix = f"{_safe(key[2])}-{_digest(key)}"
    path = folder / f"{prefix}.{_digest(request.fingerprint)}.json"
    for other in folder.glob(f"{prefix}.*.json"):
        if other != path:
            log.warning("The data or the settings changed since the last attempt; its checkpoint is discarded.")
            other.unlink(missing_ok=True)
    return _with_folder(path)


def _with_folder(path: Path) -> Path:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        error.add_note("checkpoint: pass the path of a file that can be written, or None to keep no checkpoint.")
        raise
    return path


def _safe(name: str) -> str:
    return re.sub(r"[^\w-]", "_", name)[:80]


def _digest(value: Any) -> str:
    return blake2b(json.dumps(value, sort_keys=True).encode(), digest_size=8).hexdigest()
