"""Checks of data from files: accepted values, and errors that name the path but never quote the contents."""

import json
import math

import pytest

from compsil_kit._util import schema

SECRET = "s3cret"
RECORD = schema.record({"k": schema.integer(2), "cause": schema.text})
WORD = schema.choice(("max", "lcb"))


@pytest.mark.parametrize(
    ("check", "value", "expected"),
    [
        (schema.integer(2, 9), 2, 2),
        (schema.integer(2, 9), 9.0, 9),
        (schema.integer(0), 10**30, 10**30),
        (schema.real(0.0, 1.0), 1, 1.0),
        (schema.real(0.0, 1.0), 0.0, 0.0),
        (schema.text, "x" * 100_000, "x" * 100_000),
        (schema.flag, False, False),
        (WORD, "lcb", "lcb"),
        (schema.optional(schema.text), None, None),
        (schema.optional(schema.text), "a", "a"),
        (schema.list_of(schema.text), ("a", "b"), ["a", "b"]),
        (schema.list_of(schema.text, 2), ["a", "b"], ["a", "b"]),
        (schema.mapping_of(schema.integer(0)), {"a": 1}, {"a": 1}),
        (RECORD, {"k": 3, "cause": "none", "later": 1}, {"k": 3, "cause": "none"}),
        (schema.anything, [SECRET], [SECRET]),
    ],
)
def test_checks_accept_valid_data(check, value, expected):
    found = check(value, "x")
    assert (found, type(found)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("check", "message", "values"),
    [
        (schema.integer(2, 9), " must be a whole number of at least 2 and at most 9.", [1, 10, 2.5, "3", math.nan]),
        (schema.integer(0), " must be a whole number of at least 0.", [True, None]),
        (schema.real(0.0, 1.0), " must be a number in [0, 1].", [-0.1, 1.1, 10**400, math.nan, False, "0.5", None]),
        (schema.text, " must be a string of at most 100,000 characters.", [3, "x" * 100_001]),
        (schema.flag, " must be true or false.", [0]),
        (WORD, " must be one of max, lcb.", [SECRET, None, ["max"], {"max": 1}]),
        (schema.optional(schema.flag), " must be true or false.", [3]),
        (schema.list_of(schema.text, 3), " must be a list of 3 entries.", [[SECRET], [SECRET] * 4]),
        (schema.list_of(schema.text), " must be a list.", [SECRET, None, {"a": 1}]),
        (schema.list_of(schema.flag), "[1] must be true or false.", [[True, SECRET]]),
        (schema.mapping_of(schema.flag), " must map names to values.", [{3: True}, SECRET]),
        (schema.mapping_of(schema.flag), ".a must be true or false.", [{"a": SECRET}]),
        (RECORD, " is incomplete; missing: k, cause.", [{"later": SECRET}]),
        (RECORD, " must map names to values.", [[SECRET]]),
        (RECORD, ".k must be a whole number of at least 2.", [{"k": 1, "cause": SECRET}]),
    ],
)
def test_checks_reject_invalid_data(check, message, values):
    for value in values:
        with pytest.raises(ValueError, match=r"^data\.x") as caught:
            check(value, "data.x")
        assert str(caught.value) == f"data.x{message}"


def test_digests_depend_only_on_the_data():
    data = {"b": [1, 2.0], "a": {"x": None, "y": 0.5}}
    same = {"a": {"y": 0.5, "x": None}, "b": (1.0, 2)}
    assert schema.digest(same) == schema.digest(data) == schema.digest(json.loads(json.dumps(data)))
    assert schema.digest({1: 0, "a": 2}) == schema.digest({"1": 0, "a": 2})
    for other in ({**data, "b": [1, 2.5]}, {**data, "c": 1}, {**data, "b": [2, 1]}):
        assert schema.digest(other) != schema.digest(data)
    # Files written by earlier releases stay valid.
    assert schema.digest({"a": 1, "b": [0.5, None]}) == "2a724c28f1e12322b0065c89402ef555"


def test_changed_data_raise():
    signed = schema.signed({"a": 1, "b": "text"})
    schema.check_digest(json.loads(json.dumps(signed)), "file")
    # Files written by earlier releases have no digest.
    schema.check_digest({"a": 1}, "file")
    with pytest.raises(ValueError, match="file was changed or corrupted after it was written"):
        schema.check_digest({**signed, "a": 2}, "file")
    deep = {}
    for _ in range(10_000):
        deep = {"a": deep}
    with pytest.raises(ValueError, match=r"^data is nested too deeply"):
        schema.check_digest({"digest": "x", "deep": deep}, "data")
