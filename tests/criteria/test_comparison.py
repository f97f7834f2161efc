"""The result of a comparison: the rule of each criterion, choices, summary, table and plain data."""

import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from pages import Page
from samples import compared, made_up

from compsil_kit import SelectionResult, compare
from compsil_kit._criteria.comparison import KINDS

KS = [2, 3, 4, 5]


@pytest.fixture(scope="module")
def found(blobs):
    return compare(blobs, ks=KS, n_subsamples=4, n_references=3)


def rule(name, values, errors=None, ks=None):
    values = np.array(values, dtype=float)
    errors = np.zeros(len(values)) if errors is None else np.array(errors, dtype=float)
    return KINDS[name].choose(values, errors, range(2, 2 + len(values)) if ks is None else ks)


@pytest.mark.parametrize(
    ("gaps", "errors", "expected"),
    [
        ([0.1, 0.5, 0.4, 0.9], [0.01] * 4, 1),
        ([0.1, 0.5, 0.55, 0.9], [0.01, 0.01, 0.1, 0.01], 1),
        ([0.5, 0.5, 0.9], [0.0] * 3, 0),
        ([0.1, 0.2, 0.3, 0.4], [0.01] * 4, 3),
        ([0.1, np.nan, 0.3, 0.4], [0.0, np.nan, 0.0, 0.0], 3),
        ([np.nan, np.nan], [np.nan, np.nan], None),
    ],
)
def test_gap_rule(gaps, errors, expected):
    assert rule("gap", gaps, errors) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([10, 5, 2, 1.8, 1.7, 1.6, 1.5], 2),
        ([100, 30, 31, 12, 14, 11, 10], 1),
        # Equal slope changes: the first, whatever the rounding.
        ([100, 10, 5, 0.5, 0.25], 1),
        ([90, 9, 4.5, 0.45, 0.225], 1),
        # The first drop is larger, the second one relatively larger.
        ([1000, 500, 450, 45, 40], 3),
        ([1, 2, 3, 10], 2),
        # The slope of the logarithm increases nowhere.
        (3 * 0.7 ** np.arange(12), None),
        ([5, 5, 5, 5], None),
        (np.linspace(100, 7, 11), None),
        ([5, 3, 1], None),
        ([5, 3], None),
        ([10, np.nan, 2, 1], None),
        ([10, np.inf, 2, 1], None),
        # Inertia that reaches zero.
        ([100, 50, 20, 0, 0, 0], 3),
        ([100, 10, 0, 0], 2),
        ([100, 0, 0], 1),
        # Rounding errors count as zero.
        ([100, 10, 4e-29, 2e-30, 0, 1e-29], 2),
        # The slope does not change at the last k.
        ([100, 50, 20, 15, 0], 2),
        ([100, 10, 0], None),
        ([0, 0, 0, 0], None),
    ],
)
@pytest.mark.parametrize("scale", [1e-200, 1, 1e200])
def test_knee(values, expected, scale):
    with np.errstate(divide="raise", over="raise", invalid="raise"):
        assert rule("elbow", scale * np.array(values, dtype=float)) == expected


def test_knee_against_plain_loops():
    """For any ks: the largest change of the slope of the logarithm."""
    rng = np.random.default_rng(3)
    for _ in range(100):
        ks = sorted(rng.choice(np.arange(2, 40), size=8, replace=False).tolist())
        values = np.sort(rng.uniform(1, 100, size=8))[::-1]
        slopes = [math.log(values[i + 1] / values[i]) / (ks[i + 1] - ks[i]) for i in range(7)]
        changes = [slopes[i + 1] - slopes[i] for i in range(6)]
        expected = changes.index(max(changes)) + 1 if max(changes) > 0 else None
        assert rule("elbow", values, ks=ks) == expected


@pytest.mark.parametrize(
    ("values", "high", "low"),
    [
        ([0.2, 0.5, 0.5, 0.2], 1, 0),
        ([np.nan, 0.1, np.inf], 1, 1),
        ([np.nan, np.nan], None, None),
        # Differences due to rounding are ties.
        ([0.2, 0.7, 0.7 + 1e-15, 0.2 - 1e-16], 1, 0),
        ([-0.2e9, 0.7e9, 0.7e9 * (1 + 1e-15), np.nan], 1, 0),
        ([0.2 + 1e-9, 0.7, 0.7 + 1e-9, 0.2], 2, 3),
    ],
)
def test_all_other_criteria_select_the_best_value(values, high, low):
    for name in KINDS.keys() - {"elbow", "gap"}:
        assert rule(name, values) == (low if name == "davies-bouldin" else high)


def test_directions():
    assert [name for name, kind in KINDS.items() if kind.lower_is_better] == ["davies-bouldin", "elbow"]


def with_choices(**choices):
    """Return a comparison whose criteria select the given ks."""
    return compared(KS, **{name: [float(k == best) if best else np.nan for k in KS] for name, best in choices.items()})


@pytest.mark.parametrize(
    ("choices", "text"),
    [
        ({"composite": 3, "micro": 3}, "All 2 criteria select k = 3."),
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
    assert lines[2].startswith("    k   composite ")
    assert [line.split()[0] for line in lines[3:]] == [str(k) for k in KS]
    for at, name in enumerate(KINDS, start=1):
        starred = [int(line.split()[0]) for line in lines[3:] if line.split()[at].startswith("*")]
        assert starred == [found.choices[name]]
    assert len({len(line) for line in lines[2:]}) == 1
    # Numbers of 100 and more have no decimals.
    other = compared([2, 3, 4], calinski_harabasz=[99.5, 1234.5, 100.0], elbow=[-1234.5, -99.5, np.nan])
    rows = [row.split() for row in repr(other).splitlines()[2:]]
    assert [row[1:] for row in rows[1:]] == [["99.5000", "-1,234"], ["*1,234", "-99.5000"], ["100", "–"]]
    markup = other._repr_html_()
    assert Page(markup).rows == [[cell.lstrip("*") for cell in row] for row in rows]
    assert other.explain() in Page(markup).text
    bold = markup.split("font-weight:700")[1:]
    assert [part.partition("</td>")[0].partition(">")[2] for part in bold] == ["1,234"]


def test_ks_with_too_many_failures_cannot_be_selected():
    rows = np.array([[0.4] * 10, [0.5, 0.6] * 5, [0.9] * 5 + [np.nan] * 5])
    whole = compared([2, 3, 4], composite=[0.4, 0.5, 0.9], full_micro=[0.4, 0.5, 0.9])
    assert whole.choices == {"composite": 4, "full-micro": 4}
    assert replace(whole, selection=made_up(rows, 0.5 * rows)).choices == {"composite": 3, "full-micro": 4}
