"""The result of a comparison: choices, summary, table and plain data."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from samples import compared, made_up

from compsil_kit import SelectionResult, compare
from compsil_kit._criteria.comparison import subsample_criteria
from compsil_kit._criteria.criteria import KINDS

KS = [2, 3, 4, 5]


@pytest.fixture(scope="module")
def found(blobs):
    return compare(blobs, ks=KS, n_subsamples=4, n_references=3)


def with_choices(**choices):
    """Return a comparison whose criteria select the given ks."""
    return compared(KS, **{name: [float(k == best) if best else np.nan for k in KS] for name, best in choices.items()})


@pytest.mark.parametrize(
    ("choices", "text"),
    [
        ({"composite": 3, "micro": 3, "macro": 3}, "All 3 criteria select k = 3."),
        ({"micro": 4}, "micro: k = 4."),
        (
            {"composite": 3, "micro": 2, "macro": 3, "full_micro": 2, "full_macro": 2},
            "3 of 5 select k = 2: micro, full-micro, full-macro.\n2 of 5 select k = 3: composite, macro.\n"
            "The composite's k = 3 is also selected by 1 of the other 4 criteria.",
        ),
        (
            {"composite": 5, "micro": 2, "macro": 2},
            "2 of 3 select k = 2: micro, macro.\n1 of 3 select k = 5: composite.\n"
            "No other criterion selects k = 5. Inspect the clusterings before relying on it.",
        ),
        ({"micro": 3, "macro": 2}, "1 of 2 select k = 2: macro.\n1 of 2 select k = 3: micro."),
        ({"micro": 2, "macro": None}, "1 of 2 select k = 2: micro.\nNo choice: macro."),
        ({"composite": None, "micro": None}, "No choice: composite, micro."),
    ],
)
def test_explain(choices, text):
    found = with_choices(**choices)
    assert found.choices == {name.replace("_", "-"): k for name, k in choices.items()}
    assert found.explain() == text


def test_frames_and_plain_data(found):
    for frame in (found.values, found.errors):
        assert isinstance(frame, pd.DataFrame)
        assert (frame.index.name, frame.index.tolist()) == ("k", KS)
        assert list(frame.columns) == list(KINDS) == list(found.choices)
    assert found.values["gap"].tolist() != found.errors["gap"].tolist()
    data = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert (data["format"], data["version"], data["ks"]) == ("compsil-kit/comparison", 1, KS)
    assert data["choices"] == found.choices
    assert data["values"]["gap"] == found.values["gap"].tolist()
    assert data["errors"]["elbow"] == found.errors["elbow"].tolist()
    assert (data["n_repeats"], data["n_references"], data["n_failed"]) == (4, 3, 0)
    assert SelectionResult.from_dict(data["selection"]).best_k == found.choices["composite"]
    undefined = json.loads(json.dumps(with_choices(micro=None).to_dict(), allow_nan=False))
    assert undefined["values"]["micro"] == [None] * 4
    assert undefined["selection"] is None


def test_table(found):
    lines = repr(found).splitlines()
    assert lines[0] == "Comparison over k in 2..5; * marks the selected k"
    assert lines[2].split() == ["k", *KINDS]
    assert [line.split()[0] for line in lines[3:]] == [str(k) for k in KS]
    for at, name in enumerate(KINDS, start=1):
        starred = [int(line.split()[0]) for line in lines[3:] if line.split()[at].startswith("*")]
        assert starred == [found.choices[name]]
    assert len({len(line) for line in lines[2:]}) == 1
    # Numbers of 100 and more have no decimals.
    rows = repr(
        compared([2, 3, 4], calinski_harabasz=[99.5, 1234.5, 100.0], elbow=[-1234.5, -99.5, np.nan])
    ).splitlines()
    assert [row.split()[1:] for row in rows[3:]] == [["99.5000", "-1,234"], ["*1,234", "-99.5000"], ["100", "–"]]


def test_subsample_criteria_agree_with_the_selection():
    rows = np.array([[0.4] * 10, [0.5, 0.6] * 5, [0.9] * 5 + [np.nan] * 5])
    selection = made_up(rows, 0.5 * rows)
    micro, macro = subsample_criteria(selection, ("macro", "micro"))
    assert (micro.name, macro.name) == ("micro", "macro")
    np.testing.assert_allclose(macro.values, [0.2, 0.275, 0.45])
    np.testing.assert_allclose(micro.errors[:2], rows[:2].std(axis=1, ddof=1) / np.sqrt(10))
    # Ks with too many failures cannot be selected.
    whole = compared([2, 3, 4], composite=[0.4, 0.5, 0.9], full_micro=[0.4, 0.5, 0.9])
    assert whole.choices == {"composite": 4, "full-micro": 4}
    assert replace(whole, selection=selection).choices == {"composite": 3, "full-micro": 4}
