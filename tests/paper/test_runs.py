"""Benchmark units: resuming after a kill, missing data, timings, and the results of each kind of unit."""

import os
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from waiting import PATIENCE

from benchmarks.paper import __main__ as main
from benchmarks.paper import online, runs
from benchmarks.paper.protocols import FAST, VARIANTS, Unit, quick_units, settings, units
from benchmarks.paper.runs import run
from benchmarks.paper.store import Store, has_trials

ROOT = Path(__file__).parents[2]
UNITS = [Unit("literal", "Wne", seed=seed) for seed in (42, 142, 242, 342)]
SCRIPT = """
import sys, threading
from itertools import count
from pathlib import Path
from benchmarks.paper import __main__ as main
from benchmarks.paper.protocols import Unit
from benchmarks.paper.store import Store

def attempt_or_block(unit, attempt=main.attempt, number=count(1).__next__):
    if number() == int(sys.argv[2]):
        print("blocked", flush=True)
        threading.Event().wait()
    return attempt(unit)

main.attempt = attempt_or_block
main.reproduce(Store(Path(sys.argv[1])), [Unit("literal", "Wne", seed=s) for s in (42, 142, 242, 342)], 1)
"""


def start(folder, block_at=0):
    """Run all units in a new process, which prints "blocked" and blocks at unit number ``block_at``."""
    command = [sys.executable, "-c", SCRIPT, str(folder), str(block_at)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def finish(folder):
    with start(folder) as process:
        process.communicate(timeout=PATIENCE)
    return process.returncode


def without_times(store):
    return [{name: value for name, value in record.items() if name != "seconds"} for record in store.records()]


def test_killed_run_resumes_to_the_same_results(tmp_path):
    whole, killed = Store(tmp_path / "whole"), Store(tmp_path / "killed")
    assert finish(whole.folder) == 0
    with start(killed.folder, block_at=3) as process:
        assert "blocked\n" in iter(process.stdout.readline, "")
        process.kill()
    with killed.path.open("ab") as file:
        file.write(b'{"unit":"literal/Wne/kmeans/9')
    assert len(killed.records()) == 2
    assert finish(killed.folder) == 0
    assert without_times(killed) == without_times(whole)
    for unit in UNITS:
        assert killed.selection(unit.name).scores.tolist() == whole.selection(unit.name).scores.tolist()


def test_missing_data_set_is_reported_and_requested_only_once(tmp_path, monkeypatch):
    requests = []

    def refuse(*_, **__):
        requests.append(1)
        raise ConnectionError("no network")

    monkeypatch.setenv("COMPSIL_DATA", str(tmp_path))
    monkeypatch.setattr(online, "fetch_openml", refuse)
    monkeypatch.setattr(runs, "MISSING", {})
    monkeypatch.setattr(main, "MISSING", runs.MISSING)
    store = Store(tmp_path / "results")
    wanted = [Unit("literal", "Bld", seed=42), Unit("literal", "Bld", part="cost"), UNITS[0]]
    missing = main.reproduce(store, wanted, 1)
    assert list(missing) == ["Bld"]
    assert "no network" in missing["Bld"]
    assert len(requests) == 1
    assert store.done() == {UNITS[0].name}
    assert store.missing() == missing

    # A run that does not use the data set keeps the entry; a run that loads the data set removes the entry.
    main.reproduce(store, UNITS[:1], 1)
    assert store.missing() == missing
    runs.MISSING.clear()
    blood = pd.DataFrame(np.random.default_rng(0).normal(size=(748, 5)))
    monkeypatch.setattr(online, "fetch_openml", lambda **_: types.SimpleNamespace(data=blood))
    assert main.reproduce(store, wanted, 1) == {}
    assert store.missing() == {}


def test_interrupted_run_records_missing_data_sets(tmp_path, monkeypatch):
    def interrupted(todo, workers):
        yield todo[0], None, None, "unreachable"
        raise KeyboardInterrupt

    monkeypatch.setattr(main, "MISSING", {})
    monkeypatch.setattr(main, "attempts", interrupted)
    store = Store(tmp_path / "results")
    with store.writing():
        store.note_missing({"Wne": "missing", "Stl": "missing"}, found=())
    with pytest.raises(KeyboardInterrupt):
        main.reproduce(store, [Unit("literal", "Bld"), *UNITS], 1)
    assert store.missing() == {"Bld": "unreachable", "Stl": "missing", "Wne": "missing"}


@pytest.mark.parametrize("workers", [1, 2])
def test_timed_units_run_last_and_in_this_process(workers, monkeypatch):
    monkeypatch.setattr(main, "attempt", lambda unit: (unit, os.getpid()))
    monkeypatch.setattr(main, "warm_up", lambda: None)
    timed = [Unit("half", "S3", part="cost"), Unit("runtime", "N1000")]
    found = list(main.attempts([*timed, *UNITS], workers))
    assert [unit for unit, _ in found[-2:]] == timed
    assert {unit for unit, _ in found[:-2]} == set(UNITS)
    assert {process for _, process in found[-2:]} == {os.getpid()}
    assert (os.getpid() in {process for _, process in found[:-2]}) == (workers == 1)


def test_cost_unit_has_the_same_settings_as_the_selection():
    unit = Unit("half", "Wne", part="cost")
    record, selection = run(unit)
    assert selection is None
    assert not has_trials(record)
    assert record["seconds"] > 0
    assert (record["n"], record["sample_size"], record["n_subsamples"]) == (178, 89, 30)
    for variant in VARIANTS:
        one, other = (settings(Unit(variant, "S4", part=part)) for part in ("cost", "subsamples"))
        assert one == other
    assert {(u.protocol, u.data) for u in units() if u.part == "cost"} == {(v, key) for v in VARIANTS for key in FAST}


def test_short_run_times_are_medians_of_three(monkeypatch):
    calls, select_k = [], runs.select_k
    monkeypatch.setattr(runs, "select_k", lambda *args, **keywords: calls.append(1) or select_k(*args, **keywords))
    monkeypatch.setattr(runs, "MAX_REPEATED_ROWS", 1_000)
    for n, measurements in ((1_000, 3), (1_001, 1)):
        calls.clear()
        record, _ = run(Unit("runtime", f"N{n}"))
        assert len(calls) == measurements
        assert record["n"] == n
        assert min(record["seconds"], record["seconds_standard"]) > 0


@pytest.mark.parametrize(("step", "code"), [("evidence", 2), ("all", 0)])
def test_page_is_written_only_from_the_committed_results(step, code, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(main, "quick_units", lambda: iter(UNITS[:1]))
    monkeypatch.setattr(main.evidence, "write", lambda folder: pytest.fail("the page was written"))
    arguments = ["paper", step, "--quick", "--workers", "1", "--results", str(tmp_path / "results")]
    monkeypatch.setattr(sys, "argv", arguments)
    assert main.main() == code
    assert "The page is not written" in capsys.readouterr().out


def test_store_allows_one_writer(tmp_path):
    store = Store(tmp_path / "results")
    with store.writing(), pytest.raises(RuntimeError, match="another run is writing"), store.writing():
        pass


def test_unit_without_trials_is_repeated(tmp_path):
    store = Store(tmp_path / "results")
    with store.writing():
        record, selection = run(UNITS[0])
        store.add(record, selection)
    assert store.done() == {UNITS[0].name}
    store.trials_of(UNITS[0].name).unlink()
    assert store.done() == set()
    store.add({**record, "seconds": 0.0}, selection)
    store.tidy([UNITS[0].name])
    assert [record["seconds"] for record in store.records()] == [0.0]
    assert len(store.path.read_text().splitlines()) == 1


def test_unit_names_are_unique():
    for some in (list(units()), list(quick_units())):
        assert len({unit.name for unit in some}) == len(some)
    assert {unit.name for unit in quick_units()} <= {unit.name for unit in units()}


def test_halves_partition_the_rows():
    first, second = (run(Unit(protocol, "S3"))[0] for protocol in ("first-half", "second-half"))
    assert first["n"] + second["n"] == 2300
    assert first["values"] != second["values"]


@pytest.mark.parametrize("clusterer", ["kmeans", "gmm"])
def test_full_units_apply_the_criteria_to_all_rows(clusterer):
    record, selection = run(Unit("literal", "Wne", clusterer, part="full"))
    assert selection is None
    assert ("gap" in record["choices"]) == (clusterer == "kmeans")
    assert record["choices"]["full-micro"] == 3
    assert record["n_repeats"] == 30
