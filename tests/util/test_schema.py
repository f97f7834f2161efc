"""Data from outside: what each check takes, what it says of the rest, and that it quotes nothing."""

import json
import math

import pytest

from compsil_kit._util import schema

SECRET = "s3cret"


def refused(check, value, where="data.x"):
    with pytest.raises(ValueError, match=r"^data\.x") as told:
        check(value, where)
    assert SECRET not in str(told.value)
    return str(told.value)


def test_whole_numbers():
    check = schema.integer(2, 9)
    assert [check(value, "x") for value in (2, 9, 3.0)] == [2, 9, 3]
    assert type(check(3.0, "x")) is int
    for wrong in (1, 10, 2.5, True, "3", None, [3], math.nan):
        assert refused(check, wrong) == "data.x must be a whole number of at least 2 and at most 9."
    assert schema.integer(0)(10**30, "x") == 10**30
    assert refused(schema.integer(0), True) == "data.x must be a whole number of at least 0."


def test_numbers():
    check = schema.real(0.0, 1.0)
    assert [check(value, "x") for value in (0, 1, 0.5)] == [0.0, 1.0, 0.5]
    assert type(check(1, "x")) is float
    for wrong in (-0.1, 1.1, 10**400, math.nan, math.inf, True, False, "0.5", None):
        assert refused(check, wrong) == "data.x must be a number in [0, 1]."


def test_text_flags_and_words():
    assert schema.text(SECRET, "x") == SECRET
    refused(schema.text, 3)
    assert schema.text("x" * 100_000, "x") == "x" * 100_000
    assert refused(schema.text, "x" * 100_001) == "data.x must be text of at most 100,000 characters."
    assert schema.flag(False, "x") is False
    refused(schema.flag, 0)
    assert schema.choice(("max", "lcb"))("lcb", "x") == "lcb"
    for wrong in (SECRET, None, ["max"], {"max": 1}):
        assert refused(schema.choice(("max", "lcb")), wrong) == "data.x must be one of max, lcb."


def test_null_where_it_is_allowed():
    assert schema.optional(schema.text)(None, "x") is None
    assert schema.optional(schema.text)("a", "x") == "a"
    refused(schema.optional(schema.text), 3)


def test_lists():
    assert schema.list_of(schema.text)(("a", "b"), "x") == ["a", "b"]
    assert schema.list_of(schema.text, 2)(["a", "b"], "x") == ["a", "b"]
    assert refused(schema.list_of(schema.text, 3), [SECRET]) == "data.x must be a list of 3 entries."
    for wrong in (SECRET, None, {"a": 1}):
        assert refused(schema.list_of(schema.text), wrong) == "data.x must be a list."
    assert refused(schema.list_of(schema.text), ["a", 3]).startswith("data.x[1] must be text")


def test_mappings_and_records():
    assert schema.mapping_of(schema.integer(0))({"a": 1}, "x") == {"a": 1}
    refused(schema.mapping_of(schema.integer(0)), {3: 1})
    assert refused(schema.mapping_of(schema.integer(0)), {"a": -1}).startswith("data.x.a must be a whole number")
    check = schema.record({"k": schema.integer(2), "cause": schema.text})
    assert check({"k": 3, "cause": "none", "later": 1}, "x") == {"k": 3, "cause": "none"}
    assert refused(check, {"later": SECRET}) == "data.x is incomplete: it has no k, cause."
    assert refused(check, [SECRET]) == "data.x must map names to values."
    assert refused(check, {"k": 1, "cause": ""}).startswith("data.x.k must be")


def test_a_digest_does_not_depend_on_how_a_program_writes():
    data = {"b": [1, 2.0], "a": {"x": None, "y": 0.5}}
    same = {"a": {"y": 0.5, "x": None}, "b": (1.0, 2)}
    assert schema.digest(same) == schema.digest(data) == schema.digest(json.loads(json.dumps(data)))
    assert schema.digest({1: 0, "a": 2}) == schema.digest({"1": 0, "a": 2})
    for other in ({**data, "b": [1, 2.5]}, {**data, "c": 1}, {**data, "b": [2, 1]}):
        assert schema.digest(other) != schema.digest(data)


def test_the_digests_in_files_of_earlier_releases_stay_right():
    assert schema.digest({"a": 1, "b": [0.5, None]}) == "2a724c28f1e12322b0065c89402ef555"


def test_changed_data_are_noticed():
    signed = schema.signed({"a": 1, "b": "text"})
    schema.check_digest(signed, "file")
    schema.check_digest(json.loads(json.dumps(signed)), "file")
    # Files of earlier releases have no digest.
    schema.check_digest({"a": 1}, "file")
    with pytest.raises(ValueError, match="file was changed or damaged since it was written"):
        schema.check_digest({**signed, "a": 2}, "file")


def test_data_that_are_nested_without_end_are_refused():
    data = {}
    inside = data
    for _ in range(10_000):
        inside["a"] = inside = {}
    with pytest.raises(ValueError, match=r"^data is nested too deeply"):
        schema.check_digest({"digest": "x", "deep": data}, "data")
