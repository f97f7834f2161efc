"""A round of each kind of fault, at fixed moments; and properties that do not hold are noticed."""

import json

import pytest

from fuzz import faults
from fuzz.judge import Broken


@pytest.fixture(scope="module")
def whole():
    return faults.undisturbed()


@pytest.mark.parametrize("name", faults.JOBS)
def test_a_round_of_each_kind(name, whole):
    assert faults.run_round(name, 1, 3, 3, whole)


def test_the_end_is_compared_bit_by_bit(whole, tmp_path):
    expected = whole[0]
    end = {"error": None, "result": expected}
    faults.check_end(end, expected, tmp_path)
    with pytest.raises(Broken, match="the same bits"):
        faults.check_end({**end, "result": expected.replace("0.7", "0.6", 1)}, expected, tmp_path)
    with pytest.raises(Broken, match="ends well"):
        faults.check_end({}, expected, tmp_path)
    (tmp_path / ".run.json.lock").touch()
    with pytest.raises(Broken, match="left over"):
        faults.check_end(end, expected, tmp_path)


def test_half_a_file_is_noticed(tmp_path):
    (tmp_path / "report.html").write_text("<html>")
    with pytest.raises(Broken, match="report is whole"):
        faults.check_files(tmp_path)
    (tmp_path / "report.html").unlink()
    (tmp_path / "run.json").write_text(json.dumps({"trials": [], "digest": "no"}))
    with pytest.raises(ValueError, match="damaged"):
        faults.check_files(tmp_path)


def test_failures_are_counted_and_can_be_repeated(monkeypatch, capsys):
    def fail(*_):
        raise Broken("it broke")

    monkeypatch.setattr(faults, "undisturbed", lambda: ("", []))
    monkeypatch.setattr(faults, "run_round", fail)
    assert faults.main(["--only", "kills", "--rounds", "2", "--seed", "5"]) == 1
    out = capsys.readouterr().out
    assert "it broke" in out
    assert "python -m fuzz.faults --only kills --rounds 2 --seed 5" in out
    monkeypatch.setattr(faults, "run_round", lambda *_: "fine")
    assert faults.main(["--only", "kills", "--rounds", "1"]) == 0
