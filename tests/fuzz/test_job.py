"""The fuzzing job: targets, a planted fault, replay, resuming, and inputs that kill the process."""

import json
import sys
from itertools import count

import pytest
from hypothesis import strategies as st

from fuzz import __main__ as main
from fuzz import job
from fuzz.job import TARGETS, State, one_case, replay, run_until, supervise
from fuzz.target import Target, from_text, to_text


@pytest.mark.parametrize("name", TARGETS)
def test_targets_have_no_findings_in_their_first_cases(name, tmp_path):
    state = State(tmp_path)
    for number in (0, 1):
        one_case(TARGETS[name], number, state, examples=6)
    assert [path.read_text() for path in state.findings.iterdir()] == []
    assert not state.current.exists()


def test_inputs_are_unchanged_after_conversion_to_text_and_back():
    value = {"content": b"\0\xff", "rows": [1, None, "\udc80"], "deep": {"a": float("inf")}}
    assert from_text(to_text(value)) == value


def reader(content):
    """Fail on inputs that contain the letter a at least three times."""
    if content.count(b"a") >= 3:
        raise KeyError(content)


PLANTED = Target(
    "planted",
    reader,
    st.binary(max_size=8) | st.just(b"xxaaayy"),
    lambda random: b"zz" * random.randrange(9) + b"abaab",
)


@pytest.mark.parametrize("number", [0, 1], ids=["structured", "damaged"])
def test_planted_fault_is_found_minimised_stored_and_replayed(number, tmp_path, capsys):
    state = State(tmp_path)
    one_case(PLANTED, number, state)
    (path,) = state.findings.iterdir()
    found = from_text(path.read_text())
    assert found["input"].count(b"a") == 3
    assert len(found["input"]) <= len(b"xxaaayy")
    assert "KeyError" in found["problem"]
    assert f"python -m fuzz --replay {path}" in capsys.readouterr().out
    assert "KeyError" in replay(path, {"planted": PLANTED}).text
    # A known finding is not stored again.
    one_case(PLANTED, number + 2, state)
    assert [*state.findings.iterdir()] == [path]


def test_interrupted_job_continues_with_the_next_case(tmp_path, monkeypatch):
    ran = []
    monkeypatch.setattr(job, "one_case", lambda target, number, state: ran.append((target.name, number)))
    monkeypatch.setattr(job.resource, "setrlimit", lambda *_: None)
    for _ in range(2):
        assert run_until(3, ["text", "magic"], State(tmp_path), count().__next__) == 3
    assert ran == [("text", 0), ("magic", 0), ("text", 1), ("text", 2), ("magic", 1), ("text", 3)]


def test_input_that_kills_the_process_is_a_finding(tmp_path, monkeypatch):
    """The child process aborts while it processes an input, and succeeds when it is restarted."""
    program = (
        "import os, pathlib, sys; path = pathlib.Path(sys.argv[1], 'current.json'); again = path.with_name('again')\n"
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
    assert State(tmp_path).next_number("text") == 8


def test_exit_code_is_1_with_findings(tmp_path, monkeypatch, capsys):
    arguments = ["--target", "magic", "--seed", "3", "--folder", str(tmp_path)]
    assert main.main(arguments) == 0
    State(tmp_path).keep("magic", 3, {"content": "df", "in_cell": False}, job.Problem("here", "bad"))
    assert main.main(arguments) == 1
    (path,) = (tmp_path / "findings").iterdir()
    assert main.main(["--replay", str(path)]) == 0
    assert "no problem" in capsys.readouterr().out
