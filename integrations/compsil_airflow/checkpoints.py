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


def checkpoint_path(asked: Any, request: Request, task_instance: Any, log: Any, base_dir: Any) -> Path | None:
    """Return the file for a task's checkpoint, or None; its folder is made if need be."""
    if asked is None:
        return None
    if asked == AUTO:
        path = _own_place(request, task_instance, log)
    else:
        path = check_place("checkpoint", asked, base_dir)
        if not isinstance(path, Path):
            raise ValueError(f"checkpoint must be 'auto', a local path, or None; got {str(asked)!r}.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        error.add_note("checkpoint: pass the path of a file that can be written, or None to keep nothing.")
        raise
    return path


def _own_place(request: Request, task_instance: Any, log: Any) -> Path:
    """Return a file named by the task instance and by what it computes.

    If the data or the settings were changed between two attempts, the work of the first one is of no use any more: the
    second finds no file of its name, and removes the old one.
    """
    from compsil_kit.run.fingerprint import fingerprint

    key = [getattr(task_instance, name) for name in ("dag_id", "run_id", "task_id", "map_index")]
    folder = airflow_home() / "compsil-checkpoints" / _safe(key[0])
    who = f"{_safe(key[2])}-{_digest(key)}"
    path = folder / f"{who}.{_digest(fingerprint(request.X, request.job))}.json"
    for other in folder.glob(f"{who}.*.json"):
        if other != path:
            log.warning("The data or the settings changed since the last attempt: its subsamples are computed anew.")
            other.unlink(missing_ok=True)
    return path


def _safe(name: str) -> str:
    return re.sub(r"[^\w-]", "_", name)[:80]


def _digest(value: Any) -> str:
    return blake2b(json.dumps(value, sort_keys=True).encode(), digest_size=8).hexdigest()
