"""What a comparison says: who agrees with whom, as a table, in plain words, and as plain data."""

import dataclasses
import json

import numpy as np
import pandas as pd
import pytest
from samples import compared
from samples import made_up as selected

from compsil_kit import SelectionResult, compare
from compsil_kit._settings.rules import CRITERIA

KS = [2, 3, 4, 5]
SMALL = {"ks": KS, "n_subsamples": 4, "n_references": 3}


@pytest.fixture(scope="module")
def found(blobs):
    return compare(blobs, **SMALL)


def made_up(choices):
    """A comparison whose criteria choose as told."""
    return compared(KS, **{name: [float(k == best) if best else np.nan for k in KS] for name, best in choices.items()})


@pytest.mark.parametrize(
    ("choices", "text"),
    [
        ({"composite": 3, "micro": 3, "macro": 3}, "All 3 criteria choose k = 3."),
        ({"micro": 4}, "micro: k = 4."),
        (
            {"composite": 3, "micro": 2, "macro": 3, "full-micro": 2, "full-macro": 2},
            "3 of 5 choose k = 2: micro, full-micro, full-macro.\n2 of 5 choose k = 3: composite, macro.\n"
            "The composite's k = 3 is also chosen by 1 of the other 4 criteria.",
        ),
        (
            {"composite": 5, "micro": 2, "macro": 2},
            "2 of 3 choose k = 2: micro, macro.\n1 of 3 choose k = 5: composite.\n"
            "No other criterion chooses k = 5. Inspect the clusterings before relying on it.",
        ),
        ({"micro": 2, "macro": 3}, "1 of 2 choose k = 2: micro.\n1 of 2 choose k = 3: macro."),
        ({"micro": 2, "macro": None}, "1 of 2 choose k = 2: micro.\nNo choice: macro."),
        ({"composite": None}, "No choice: composite."),
    ],
)
def test_who_agrees_with_whom(choices, text):
    found = made_up(choices)
    assert found.choices == choices
    assert found.explain() == text


def test_tables(found):
    assert isinstance(found.values, pd.DataFrame)
    assert found.values.index.name == found.errors.index.name == "k"
    assert found.values.index.tolist() == found.errors.index.tolist() == KS
    assert tuple(found.values.columns) == tuple(found.errors.columns) == CRITERIA == tuple(found.choices)


def test_text_in_a_terminal(found):
    lines = repr(found).splitlines()
    assert lines[0] == "Comparison over k in 2..5; * marks each choice"
    assert lines[2].split() == ["k", *CRITERIA]
    assert [line.split()[0] for line in lines[3:]] == [str(k) for k in KS]
    for at, name in enumerate(CRITERIA, start=1):
        starred = [int(line.split()[0]) for line in lines[3:] if line.split()[at].startswith("*")]
        assert starred == [found.choices[name]]
    assert len({len(line) for line in lines[2:]}) == 1


def test_undefined_values_are_dashes_in_a_terminal():
    assert repr(made_up({"micro": None})).splitlines()[3].split() == ["2", "–"]


def test_strict_json(found):
    data = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert (data["format"], data["version"]) == ("compsil-kit/comparison", 1)
    assert data["ks"] == KS
    assert data["choices"] == found.choices
    assert data["values"]["gap"] == found.values["gap"].tolist()
    assert data["errors"]["elbow"] == found.errors["elbow"].tolist()
    assert (data["n_repeats"], data["n_references"], data["n_failed"]) == (4, 3, 0)
    assert SelectionResult.from_dict(data["selection"]).best_k == found.choices["composite"]
    undefined = json.loads(json.dumps(made_up({"micro": None}).to_dict(), allow_nan=False))
    assert undefined["values"]["micro"] == [None] * 4
    assert undefined["selection"] is None


def test_a_k_that_lost_too_many_subsamples_is_out_of_the_running():
    rows = np.array([[0.4] * 10, [0.5] * 10, [0.9] * 5 + [np.nan] * 5])
    selection = selected(rows, rows)
    whole = compared([2, 3, 4], composite=[0.4, 0.5, 0.9], full_micro=[0.4, 0.5, 0.9])
    assert whole.choices == {"composite": 4, "full-micro": 4}
    assert dataclasses.replace(whole, selection=selection).choices == {"composite": 3, "full-micro": 4}


def test_large_values_have_no_decimals_whatever_their_sign():
    table = repr(compared([2, 3], calinski_harabasz=[99.5, 1234.5], elbow=[-1234.5, -99.5]))
    assert [line.split() for line in table.splitlines()[3:]] == [
        ["2", "99.5000", "-1,234"], ["3", "*1,234", "-99.5000"]
    ]  # fmt: skip
    assert compared([2], elbow=[100.0]).n_failed == 0
    assert repr(compared([2], elbow=[100.0])).splitlines()[3].split() == ["2", "100"]
