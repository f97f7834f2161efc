"""The fuzzing job: every target runs, a planted fault is found and can be repeated, a stopped run goes on."""

import json
import sys
from itertools import count

import pytest
from hypothesis import strategies as st

from fuzz import __main__ as main
from fuzz import job
from fuzz.job import TARGETS, Notes, one_case, replay, run_until, supervise
from fuzz.target import Target, from_text, to_text


@pytest.mark.parametrize("name", TARGETS)
def test_fixed_cases_of_every_target_are_read_or_refused(name, tmp_path):
    notes = Notes(tmp_path)
    for number in (0, 1):
        one_case(TARGETS[name], number, notes, examples=6)
    assert [path.read_text() for path in notes.findings.iterdir()] == []
    assert not notes.under_way.exists()


def test_inputs_survive_their_file():
    value = {"content": b"\0\xff", "rows": [1, None, "\udc80"], "deep": {"a": float("inf")}}
    assert from_text(to_text(value)) == value


def reader(content):
    """A reader with a fault that only some inputs meet."""
    if content.count(b"a") >= 3:
        raise KeyError(content)


PLANTED = Target(
    "planted",
    reader,
    st.binary(max_size=8) | st.just(b"xxaaayy"),
    lambda random: b"zz" * random.randrange(9) + b"abaab",
)


@pytest.mark.parametrize("number", [0, 1], ids=["structured", "damaged"])
def test_a_planted_fault_is_found_made_small_kept_and_repeated(number, tmp_path, capsys):
    notes = Notes(tmp_path)
    one_case(PLANTED, number, notes)
    (path,) = notes.findings.iterdir()
    found = from_text(path.read_text())
    assert found["input"].count(b"a") == 3
    assert len(found["input"]) <= len(b"xxaaayy")
    assert "KeyError" in found["problem"]
    assert f"python -m fuzz --replay {path}" in capsys.readouterr().out
    assert "KeyError" in replay(path, {"planted": PLANTED}).text
    # Known by now: it is not told again, and hides no other fault.
    one_case(PLANTED, number + 2, notes)
    assert [*notes.findings.iterdir()] == [path]


def test_a_stopped_run_goes_on_with_the_next_case(tmp_path, monkeypatch):
    ran = []
    monkeypatch.setattr(job, "one_case", lambda target, number, notes: ran.append((target.name, number)))
    monkeypatch.setattr(job.resource, "setrlimit", lambda *_: None)
    for _ in range(2):
        assert run_until(3, ["text", "magic"], Notes(tmp_path), count().__next__) == 3
    assert ran == [("text", 0), ("magic", 0), ("text", 1), ("text", 2), ("magic", 1), ("text", 3)]


def test_an_input_that_ends_the_process_is_a_finding(tmp_path, monkeypatch):
    """The other process here dies once, in the middle of an input, and is well the second time."""
    program = (
        "import os, pathlib, sys; path = pathlib.Path(sys.argv[1], 'under-way.json'); again = path.with_name('again')\n"
        "if again.exists(): sys.exit(0)\n"
        'again.touch(); path.write_text(\'{"target": "text", "case": 7, "input": "boom"}\'); os.abort()'
    )

    def run(command, check):
        return real([sys.executable, "-c", program, str(tmp_path)], check=check)

    real = job.subprocess.run
    monkeypatch.setattr(job.subprocess, "run", run)
    supervise(float("inf"), ["text"], tmp_path)
    (path,) = (tmp_path / "findings").iterdir()
    assert json.loads(path.read_text())["input"] == "boom"
    assert Notes(tmp_path).next_number("text") == 8


def test_the_exit_code_says_whether_something_was_found(tmp_path, monkeypatch, capsys):
    arguments = ["--target", "magic", "--seed", "3", "--folder", str(tmp_path)]
    assert main.main(arguments) == 0
    Notes(tmp_path).keep("magic", 3, {"content": "df", "in_cell": False}, job.Problem("here", "bad"))
    assert main.main(arguments) == 1
    (path,) = (tmp_path / "findings").iterdir()
    assert main.main(["--replay", str(path)]) == 0
    assert "nothing wrong" in capsys.readouterr().out
