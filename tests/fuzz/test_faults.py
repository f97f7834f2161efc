"""One round of each kind of fault, and the detection of violated properties."""

import json

import pytest

from fuzz import faults
from fuzz.judge import PropertyViolated


@pytest.fixture(scope="module")
def whole():
    return faults.uninterrupted()


@pytest.mark.parametrize("name", faults.JOBS)
def test_runs_survive_each_kind_of_fault(name, whole):
    assert faults.run_round(name, 1, 3, 3, whole)


def test_resumed_run_must_equal_the_uninterrupted_one(whole, tmp_path):
    expected = whole[0]
    end = {"error": None, "result": expected}
    faults.check_end(end, expected, tmp_path)
    with pytest.raises(PropertyViolated, match="the same result"):
        faults.check_end({**end, "result": expected.replace("0.7", "0.6", 1)}, expected, tmp_path)
    with pytest.raises(PropertyViolated, match="succeeds"):
        faults.check_end({}, expected, tmp_path)
    (tmp_path / ".run.json.lock").touch()
    with pytest.raises(PropertyViolated, match="temporary files"):
        faults.check_end(end, expected, tmp_path)


def test_incomplete_files_are_detected(tmp_path):
    (tmp_path / "report.html").write_text("<html>")
    with pytest.raises(PropertyViolated, match="report is complete"):
        faults.check_files(tmp_path)
    (tmp_path / "report.html").unlink()
    (tmp_path / "run.json").write_text(json.dumps({"trials": [], "digest": "no"}))
    with pytest.raises(ValueError, match="damaged"):
        faults.check_files(tmp_path)


def test_failed_rounds_set_the_exit_code_and_print_the_seed(monkeypatch, capsys):
    def fail(*_):
        raise PropertyViolated("it broke")

    monkeypatch.setattr(faults, "uninterrupted", lambda: ("", []))
    monkeypatch.setattr(faults, "run_round", fail)
    assert faults.main(["--only", "kills", "--rounds", "2", "--seed", "5"]) == 1
    out = capsys.readouterr().out
    assert "it broke" in out
    assert "python -m fuzz.faults --only kills --rounds 2 --seed 5" in out
    monkeypatch.setattr(faults, "run_round", lambda *_: "fine")
    assert faults.main(["--only", "kills", "--rounds", "1"]) == 0
