"""What counts as a problem: everything but a valid value and an error that was meant."""

import json

import pytest

from compsil_kit._settings.reading import read_integer
from compsil_kit._util.checks import check_integer
from fuzz.judge import holds, judge


def raises(error):
    def check(_):
        raise error

    return check


@pytest.mark.parametrize(
    ("check", "value", "expected"),
    [
        (lambda value: None, 1, None),
        (read_integer, "x", None),
        (lambda value: check_integer(value, 0, minimum=1), "x" * 900, "a message of"),
        (lambda value: check_integer(value, 0, minimum=1), "a\nb", "a message of"),
        (lambda value: check_integer("n", 3, minimum=value), "x", "nobody meant to raise"),
        (json.loads, "{", "no documented error"),
        (lambda value: holds(value, "it is true"), False, "it is true"),
        (raises(ValueError("mine")), 1, "nobody meant to raise"),
        (raises(MemoryError()), 1, "no documented error"),
        (raises(SystemExit(3)), 1, "no documented error"),
    ],
)
def test_a_problem_is_told(check, value, expected):
    problem = judge(check, value)
    assert problem is None if expected is None else expected in problem.text


def test_a_call_without_end_is_a_problem():
    def turn(_):
        while True:
            pass

    assert "no end" in judge(turn, 1, seconds=0.05).text
