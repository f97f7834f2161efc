"""A run that is killed goes on where it stopped, and ends with the same results."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks.paper import __main__ as main
from benchmarks.paper import online
from benchmarks.paper.protocols import Unit, quick_units, units
from benchmarks.paper.runs import run
from benchmarks.paper.store import Store

ROOT = Path(__file__).parents[2]
WANTED = [Unit("literal", "Wne", seed=seed) for seed in (42, 142, 242, 342)]
SCRIPT = """
import sys
from pathlib import Path
from benchmarks.paper.__main__ import reproduce
from benchmarks.paper.protocols import Unit
from benchmarks.paper.store import Store
wanted = [Unit("literal", "Wne", seed=seed) for seed in (42, 142, 242, 342)]
reproduce(Store(Path(sys.argv[1])), wanted, 1)
"""


def start(folder):
    return subprocess.Popen([sys.executable, "-c", SCRIPT, str(folder)], cwd=ROOT, stderr=subprocess.DEVNULL)


def without_times(store):
    return [{name: value for name, value in record.items() if name != "seconds"} for record in store.records()]


def test_killed_and_continued(tmp_path):
    whole, torn = Store(tmp_path / "whole"), Store(tmp_path / "torn")
    assert start(whole.folder).wait(120) == 0

    process = start(torn.folder)
    deadline = time.monotonic() + 120
    while len(torn.records()) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    before = len(torn.records())
    assert 2 <= before < len(WANTED)
    with torn.path.open("ab") as file:
        file.write(b'{"unit":"literal/Wne/kmeans/9')

    assert len(torn.records()) == before
    assert start(torn.folder).wait(120) == 0
    assert without_times(torn) == without_times(whole)
    for unit in WANTED:
        assert torn.selection(unit.name).scores.tolist() == whole.selection(unit.name).scores.tolist()


def test_a_missing_set_is_reported_and_its_source_asked_once(tmp_path, monkeypatch):
    asked = []

    def refuse(*_, **__):
        asked.append(1)
        raise ConnectionError("no network")

    monkeypatch.setenv("COMPSIL_DATA", str(tmp_path))
    monkeypatch.setattr(online, "fetch_openml", refuse)
    monkeypatch.setattr(main, "MISSING", {})
    store = Store(tmp_path / "results")
    wanted = [Unit("literal", "Bld", seed=42), Unit("literal", "Bld", seed=142), WANTED[0]]
    missing = main.reproduce(store, wanted, 1)
    assert list(missing) == ["Bld"]
    assert "no network" in missing["Bld"]
    assert len(asked) == 1
    assert store.done() == {WANTED[0].name}


def test_only_one_run_writes(tmp_path):
    store = Store(tmp_path / "results")
    with store.writing(), pytest.raises(RuntimeError, match="another run is writing"), store.writing():
        pass


def test_a_unit_whose_trials_are_gone_is_done_again(tmp_path):
    store = Store(tmp_path / "results")
    with store.writing():
        record, selection = run(WANTED[0])
        store.add(record, selection)
    assert store.done() == {WANTED[0].name}
    store.trials_of(WANTED[0].name).unlink()
    assert store.done() == set()
    store.add({**record, "seconds": 0.0}, selection)
    store.tidy([WANTED[0].name])
    assert [json.loads(line)["seconds"] for line in store.path.read_text().splitlines()] == [0.0]


def test_names_are_unique():
    for some in (list(units()), list(quick_units())):
        assert len({unit.name for unit in some}) == len(some)
    assert {unit.name for unit in quick_units()} <= {unit.name for unit in units()}


def test_both_halves_have_all_rows_once():
    first, _ = run(Unit("first-half", "S3"))
    second, _ = run(Unit("second-half", "S3"))
    assert first["n"] + second["n"] == 2300
    assert first["values"] != second["values"]


@pytest.mark.parametrize("clusterer", ["kmeans", "gmm"])
def test_criteria_on_all_the_data(clusterer):
    record, selection = run(Unit("literal", "Wne", clusterer, part="full"))
    assert selection is None
    assert ("gap" in record["choices"]) == (clusterer == "kmeans")
    assert record["choices"]["full-micro"] == 3
    assert record["n_repeats"] == 30
