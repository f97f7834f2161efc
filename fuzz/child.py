"""The child process for ``fuzz.faults``, which runs a selection, writes a report and prints its progress."""

from __future__ import annotations

import argparse
import json
import resource
import signal
import warnings
from contextlib import nullcontext
from itertools import count
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from compsil_kit import SelectionResult, combine_batches, plan_batches, run_batch, select_k
from compsil_kit._run import select as running
from compsil_kit._util.system import write_atomically

X = np.random.default_rng(5).normal(np.repeat([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0]], 300, axis=0))
N_SUBSAMPLES = 24
LARGE = 4_000_000
SETTINGS: dict[str, Any] = {"ks": range(2, 9), "n_subsamples": N_SUBSAMPLES}


def report(line: object) -> None:
    """Print the progress, which the parent uses to choose the moment of a fault."""
    print(line, flush=True)


def select(folder: Path, n_jobs: int) -> SelectionResult:
    """Run the selection with a checkpoint."""
    path = folder / "run.json"
    return select_k(X, **SETTINGS, n_jobs=n_jobs, checkpoint=path, progress=lambda done, _: report(done))


def batches(folder: Path, n_jobs: int) -> SelectionResult:
    """Run the batches without a checkpoint, and combine them."""
    finished = []
    for at, batch in enumerate(plan_batches(X, n_batches=N_SUBSAMPLES // 2, **SETTINGS)):
        path = folder / f"batch-{at}.json"
        if not path.exists():
            write_atomically(path, json.dumps(run_batch(X, batch, n_jobs=n_jobs)).encode())
        finished.append(json.loads(path.read_text()))
        report(2 * at + 2)
    return combine_batches(finished)


def writes(folder: Path) -> None:
    """Replace a large file in an endless loop; each version repeats a single letter."""
    for at in count():
        write_atomically(folder / "large", b"ab"[at % 2 : at % 2 + 1] * LARGE)
        report(at)


def main() -> None:
    """Run the selection, write the HTML report, and print the outcome as the last line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["select", "batches", "workers", "writes"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pause", type=float, default=running.PAUSE_SECONDS)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--room", type=int)
    given = parser.parse_args()
    running.PAUSE_SECONDS = given.pause
    # Processes that a shell starts in the background ignore SIGINT by default.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if given.room is not None:
        # Limit the size of files to simulate a full disk without privileges.
        resource.setrlimit(resource.RLIMIT_FSIZE, (given.room, resource.RLIM_INFINITY))
    report("begin")
    if given.what == "writes":
        writes(given.folder)
    processes = joblib.parallel_config(backend="loky", n_jobs=2) if given.what == "workers" else nullcontext()
    end: dict[str, Any] = {"error": None, "finished": None, "result": None}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with processes:
                result = (batches if given.what == "batches" else select)(given.folder, given.jobs)
            end["result"] = json.dumps(result.to_dict())
            report("report")
            result.report(given.folder / "report.html")
        except Exception as error:  # noqa: BLE001  (the parent judges the error)
            part = getattr(error, "result", None)
            end |= {"error": f"{type(error).__name__}: {error}", "finished": part and part.n_subsamples}
    report(json.dumps({**end, "warnings": [str(warning.message) for warning in caught]}))


if __name__ == "__main__":
    main()
