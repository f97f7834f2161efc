"""Results on disk: one line of JSON per unit, appended whole or not at all, and the trials beside them."""

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
from compsil_kit._util.atomic import write_atomically

HERE = Path(__file__).parent
RESULTS = HERE / "results"


class Store:
    """The results of a run.

    ``units.jsonl`` is small and meant to be committed. The trials of every selection (micro and macro per k and
    subsample) go to a folder of their own, from which other transformations and rules are read without computing again.
    """

    def __init__(self, folder: Path = RESULTS, trials: Path | None = None) -> None:
        self.folder = folder
        self.path = folder / "units.jsonl"
        self.missing_path = folder / "missing.json"
        self.trials = folder.parent / f"{folder.name}-trials" if trials is None else trials

    def records(self) -> list[dict[str, Any]]:
        """Return all finished units, the later line where one was run again; a line cut short by a crash is none."""
        if not self.path.exists():
            return []
        lines = [json.loads(line) for line in self.path.read_bytes().split(b"\n")[:-1]]
        return list({record["unit"]: record for record in lines}.values())

    def done(self) -> set[str]:
        """Return the names of all finished units. A selection whose trials are not at hand has to be run again."""
        return {r["unit"] for r in self.records() if not has_trials(r) or self.trials_of(r["unit"]).exists()}

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the file for one writer, and cut off what a crash left unfinished."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.trials.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise RuntimeError(f"another run is writing to {self.path.name}; wait for it, or stop it.") from error
            file.seek(0)
            content = file.read()
            file.truncate(content.rfind(b"\n") + 1)
            yield

    def add(self, record: dict[str, Any], selection: dict[str, Any] | None) -> None:
        """Keep a finished unit: the trials first, so that a line never promises trials that are not there."""
        if selection is not None:
            write_atomically(self.trials_of(record["unit"]), gzip.compress(_json(selection), mtime=0))
        with self.path.open("ab") as file:
            file.write(_json(record) + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def tidy(self, order: Sequence[str]) -> None:
        """Write the units in their order, each once."""
        at = {name: i for i, name in enumerate(order)}
        records = sorted(self.records(), key=lambda record: at.get(record["unit"], len(at)))
        write_atomically(self.path, b"".join(_json(record) + b"\n" for record in records))

    def missing(self) -> dict[str, str]:
        """Return the sets that the last run which wanted them could not have, and why."""
        if not self.missing_path.exists():
            return {}
        known: dict[str, str] = json.loads(self.missing_path.read_text())
        return known

    def note_missing(self, missing: dict[str, str], found: Collection[str]) -> None:
        """Keep what a run found missing, and forget what it found; sets that it did not want stay as they were."""
        known = {key: why for key, why in self.missing().items() if key not in found} | missing
        write_atomically(self.missing_path, (json.dumps(dict(sorted(known.items())), indent=2) + "\n").encode())

    def trials_of(self, unit: str) -> Path:
        """Return where the trials of a unit are kept."""
        return self.trials / f"{unit.replace('/', '-')}.json.gz"

    def selection(self, unit: str) -> SelectionResult:
        """Return the kept selection of a unit."""
        return SelectionResult.from_dict(json.loads(gzip.decompress(self.trials_of(unit).read_bytes())))


def has_trials(record: dict[str, Any]) -> bool:
    """Tell whether a unit keeps trials beside its line."""
    return bool(record["part"] == "subsamples" and record["protocol"] != "runtime")


def _json(data: dict[str, Any]) -> bytes:
    return json.dumps(data, allow_nan=False, separators=(",", ":")).encode()
