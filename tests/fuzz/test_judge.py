"""Every outcome except a valid value or a documented error is a problem."""

import json

import pytest

from compsil_kit._config.values import parse_integer
from compsil_kit._util.checks import check_integer
from fuzz.judge import judge, require


def raises(error):
    def check(_):
        raise error

    return check


@pytest.mark.parametrize(
    ("check", "value", "expected"),
    [
        (lambda value: None, 1, None),
        (parse_integer, "x", None),
        (lambda value: check_integer(value, 0, minimum=1), "x" * 900, "a message of"),
        (lambda value: check_integer(value, 0, minimum=1), "a\nb", "a message of"),
        (lambda value: check_integer("n", 3, minimum=value), "x", "without a raise statement"),
        (json.loads, "{", "not a documented error"),
        (lambda value: require(value, "it is true"), False, "it is true"),
        (raises(ValueError("mine")), 1, "without a raise statement"),
        (raises(MemoryError()), 1, "not a documented error"),
        (raises(SystemExit(3)), 1, "not a documented error"),
    ],
)
def test_judge_accepts_only_values_and_documented_errors(check, value, expected):
    problem = judge(check, value)
    assert problem is None if expected is None else expected in problem.text


def test_endless_call_is_a_problem():
    def loop(_):
        while True:
            pass

    assert "not finished" in judge(loop, 1, seconds=0.05).text
