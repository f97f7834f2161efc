"""Store results on disk, with one line of JSON per unit and a file with its trials."""

from __future__ import annotations

import fcntl
import gzip
import json
import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from compsil_kit import SelectionResult
from compsil_kit._util.system import write_atomically

HERE = Path(__file__).parent
RESULTS = HERE / "results"


class Store:
    """The stored results of a run.

    ``units.jsonl`` is small and committed. The trials of every selection (micro and macro by k and subsample) are in a
    separate folder, so that other transformations and rules need no recomputation.
    """

    def __init__(self, folder: Path = RESULTS, trials: Path | None = None) -> None:
        self.folder = folder
        self.path = folder / "units.jsonl"
        self.missing_path = folder / "missing.json"
        self.trials = folder.parent / f"{folder.name}-trials" if trials is None else trials

    def records(self) -> list[dict[str, Any]]:
        """Return all finished units; use the last line for repeated units, and skip a line truncated by a crash."""
        if not self.path.exists():
            return []
        lines = [json.loads(line) for line in self.path.read_bytes().split(b"\n")[:-1]]
        return list({record["unit"]: record for record in lines}.values())

    def done(self) -> set[str]:
        """Return the names of all finished units; selections without trials count as unfinished."""
        return {r["unit"] for r in self.records() if not has_trials(r) or self.trials_of(r["unit"]).exists()}

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Lock the file, and remove a line truncated by a crash."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.trials.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise RuntimeError(f"another run is writing to {self.path.name}. Wait for it, or stop it.") from error
            file.seek(0)
            content = file.read()
            file.truncate(content.rfind(b"\n") + 1)
            yield

    def add(self, record: dict[str, Any], selection: dict[str, Any] | None) -> None:
        """Store a finished unit; write the trials first, so that there are trials for every line."""
        if selection is not None:
            write_atomically(self.trials_of(record["unit"]), gzip.compress(_json(selection), mtime=0))
        with self.path.open("ab") as file:
            file.write(_json(record) + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def tidy(self, order: Sequence[str]) -> None:
        """Sort the units, and remove duplicates."""
        at = {name: i for i, name in enumerate(order)}
        records = sorted(self.records(), key=lambda record: at.get(record["unit"], len(at)))
        write_atomically(self.path, b"".join(_json(record) + b"\n" for record in records))

    def missing(self) -> dict[str, str]:
        """Return the sets that were unavailable in their last run, and the reasons."""
        if not self.missing_path.exists():
            return {}
        known: dict[str, str] = json.loads(self.missing_path.read_text())
        return known

    def note_missing(self, missing: dict[str, str], found: Collection[str]) -> None:
        """Add missing sets and remove available sets; keep the entries for other sets."""
        known = {key: reason for key, reason in self.missing().items() if key not in found} | missing
        write_atomically(self.missing_path, (json.dumps(dict(sorted(known.items())), indent=2) + "\n").encode())

    def trials_of(self, unit: str) -> Path:
        """Return the file with the trials of a unit."""
        return self.trials / f"{unit.replace('/', '-')}.json.gz"

    def selection(self, unit: str) -> SelectionResult:
        """Load the selection of a unit."""
        return SelectionResult.from_dict(json.loads(gzip.decompress(self.trials_of(unit).read_bytes())))


def has_trials(record: dict[str, Any]) -> bool:
    """Return whether a unit has a file with trials."""
    return bool(record["part"] == "subsamples" and record["protocol"] != "runtime")


def _json(data: dict[str, Any]) -> bytes:
    return json.dumps(data, allow_nan=False, separators=(",", ":")).encode()
