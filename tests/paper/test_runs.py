"""A run that is killed goes on where it stopped, and ends with the same results."""

import http.server
import json
import os
import subprocess
import sys
import threading
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
WANTED = [Unit("literal", "Wne", seed=seed) for seed in (42, 142, 242, 342)]
SCRIPT = """
import sys, threading
from pathlib import Path
from benchmarks.paper import __main__ as main
from benchmarks.paper.protocols import Unit
from benchmarks.paper.store import Store

def stuck_at(number):
    tried, attempt = [], main.attempt
    def attempt_or_wait(unit):
        tried.append(unit)
        if len(tried) == number:
            print("stuck", flush=True)
            threading.Event().wait()
        return attempt(unit)
    return attempt_or_wait

main.attempt = stuck_at(int(sys.argv[2]))
wanted = [Unit("literal", "Wne", seed=seed) for seed in (42, 142, 242, 342)]
main.reproduce(Store(Path(sys.argv[1])), wanted, 1)
"""


def start(folder, stuck_at=0):
    """Run all units, or wait for ever at one of them and say so."""
    command = [sys.executable, "-c", SCRIPT, str(folder), str(stuck_at)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def finish(folder):
    with start(folder) as process:
        process.communicate(timeout=PATIENCE)
    return process.returncode


def without_times(store):
    return [{name: value for name, value in record.items() if name != "seconds"} for record in store.records()]


def test_killed_and_continued(tmp_path):
    whole, torn = Store(tmp_path / "whole"), Store(tmp_path / "torn")
    assert finish(whole.folder) == 0

    with start(torn.folder, stuck_at=3) as process:
        assert "stuck\n" in iter(process.stdout.readline, "")
        process.kill()
    before = len(torn.records())
    assert before == 2
    with torn.path.open("ab") as file:
        file.write(b'{"unit":"literal/Wne/kmeans/9')

    assert len(torn.records()) == before
    assert finish(torn.folder) == 0
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
    monkeypatch.setattr(runs, "MISSING", {})
    monkeypatch.setattr(main, "MISSING", runs.MISSING)
    store = Store(tmp_path / "results")
    wanted = [Unit("literal", "Bld", seed=42), Unit("literal", "Bld", part="cost"), WANTED[0]]
    missing = main.reproduce(store, wanted, 1)
    assert list(missing) == ["Bld"]
    assert "no network" in missing["Bld"]
    assert len(asked) == 1
    assert store.done() == {WANTED[0].name}
    assert store.missing() == missing

    # A run that does not want the set leaves what is known of it; one that has it forgets it.
    main.reproduce(store, WANTED[:1], 1)
    assert store.missing() == missing
    runs.MISSING.clear()
    blood = pd.DataFrame(np.random.default_rng(0).normal(size=(748, 5)))
    monkeypatch.setattr(online, "fetch_openml", lambda **_: types.SimpleNamespace(data=blood))
    assert main.reproduce(store, wanted, 1) == {}
    assert store.missing() == {}


def test_a_run_that_is_stopped_keeps_what_it_found_missing(tmp_path, monkeypatch):
    def stopped(todo, workers):
        yield todo[0], None, None, "out of reach"
        raise KeyboardInterrupt

    monkeypatch.setattr(main, "MISSING", {})
    monkeypatch.setattr(main, "attempts", stopped)
    store = Store(tmp_path / "results")
    with store.writing():
        store.note_missing({"Wne": "not there", "Stl": "nor this"}, found=())
    with pytest.raises(KeyboardInterrupt):
        main.reproduce(store, [Unit("literal", "Bld"), *WANTED], 1)
    assert store.missing() == {"Bld": "out of reach", "Stl": "nor this", "Wne": "not there"}


class Refusal(http.server.BaseHTTPRequestHandler):
    """A proxy that lets nobody through, and counts who asks."""

    asked: list

    def do_CONNECT(self):
        self.asked.append(self.path)
        self.send_error(503)

    def log_message(self, *_):
        pass


def test_every_process_asks_for_a_missing_set_once(tmp_path, monkeypatch):
    (tmp_path / "empty").mkdir()
    monkeypatch.setattr(Refusal, "asked", [], raising=False)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Refusal) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        proxy = {"https_proxy": f"http://127.0.0.1:{server.server_port}", "no_proxy": ""}
        # As a user calls it: functions of the module __main__ reach other processes in another way than the rest.
        called = subprocess.run(
            [sys.executable, "-m", "benchmarks.paper", "run", "--quick", "--only", "Pks", "--workers", "2",
             "--results", str(tmp_path / "results")],
            cwd=ROOT, env={**os.environ, **proxy, "COMPSIL_DATA": str(tmp_path / "empty")},
            capture_output=True, text=True, timeout=PATIENCE, check=True,
        )  # fmt: skip
        server.shutdown()
    assert "missing: Pks. parkinsons.npz is not in the local folder" in called.stdout
    assert 1 <= len(Refusal.asked) <= 2
    assert "Tunnel connection failed: 503" in Store(tmp_path / "results").missing()["Pks"]


@pytest.mark.parametrize("workers", [1, 2])
def test_what_is_timed_runs_last_and_alone(workers, monkeypatch):
    monkeypatch.setattr(main, "attempt", lambda unit: (unit, os.getpid()))
    monkeypatch.setattr(main, "warm_up", lambda: None)
    timed = [Unit("half", "S3", part="cost"), Unit("runtime", "N1000")]
    found = list(main.attempts([*timed, *WANTED], workers))
    assert [unit for unit, _ in found[-2:]] == timed
    assert {unit for unit, _ in found[:-2]} == set(WANTED)
    assert {process for _, process in found[-2:]} == {os.getpid()}
    assert (os.getpid() in {process for _, process in found[:-2]}) == (workers == 1)


def test_cost_is_the_time_of_a_selection():
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


def test_short_runtimes_are_measured_three_times(monkeypatch):
    calls = []

    def counted(*arguments, **keywords):
        calls.append(1)
        return select(*arguments, **keywords)

    select = runs.select_k
    monkeypatch.setattr(runs, "select_k", counted)
    monkeypatch.setattr(runs, "SHORT", 1_000)
    for n, measurements in ((1_000, 3), (1_001, 1)):
        calls.clear()
        record, _ = run(Unit("runtime", f"N{n}"))
        assert len(calls) == measurements
        assert record["n"] == n
        assert record["seconds"] > 0
        assert record["seconds_standard"] > 0


@pytest.mark.parametrize(("step", "code"), [("evidence", 2), ("all", 0)])
def test_no_page_of_other_results(step, code, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(main, "quick_units", lambda: iter(WANTED[:1]))
    monkeypatch.setattr(
        sys, "argv", ["paper", step, "--quick", "--workers", "1", "--results", str(tmp_path / "results")]
    )
    assert main.main() == code
    assert "No page is written: it is made from the committed results only" in capsys.readouterr().out


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


@pytest.mark.parametrize(
    ("words", "complaint"), [("--only Wine", "invalid choice: 'Wine'"), ("--workers 0", "at least 1")]
)
def test_a_slip_of_the_pen_is_told(words, complaint, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["paper", "run", *words.split()])
    with pytest.raises(SystemExit):
        main.main()
    assert complaint in capsys.readouterr().err
