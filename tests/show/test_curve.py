"""The curve in numbers: what the table, the card and the figures show."""

import numpy as np
import pytest
from samples import made_up

from compsil_kit._method.selection import CRITERIA
from compsil_kit._show.curve import BAND, SCORED, curve_of

NAN = np.nan
MICRO = [[0.5, 0.3], [0.2, 0.6], [NAN, NAN]]
MACRO = [[0.5, 0.3], [0.4, 0.6], [NAN, NAN]]


@pytest.fixture
def result():
    return made_up(MICRO, MACRO, ks=[2, 3, 9])


def test_lines_are_the_means_of_the_result(result):
    curve = curve_of(result)
    assert list(curve.lines) == ["composite", "micro", "macro"]
    np.testing.assert_array_equal(curve.score, result.scores)
    np.testing.assert_allclose(curve.micro, [0.4, 0.4, NAN])
    np.testing.assert_allclose(curve.macro, [0.4, 0.5, NAN])
    np.testing.assert_array_equal(curve.sem, result.sem)
    assert curve.n_failed.tolist() == [0, 0, 2]


def test_the_band_holds_95_percent(result):
    curve = curve_of(result)
    assert pytest.approx(1.96, abs=0.001) == BAND
    np.testing.assert_allclose(curve.half_width[:2], 1.96 * result.sem[:2])
    # Where there is no standard error there is no band.
    assert curve.half_width[2] == 0.0


def test_what_each_line_chooses(result):
    curve = curve_of(result)
    assert curve.chosen("macro") == (3, pytest.approx(0.5))
    assert curve.chosen("micro") == (2, pytest.approx(0.4))
    assert curve.chosen("composite") == (result.best_k, pytest.approx(result.best_score))
    nothing = curve_of(made_up([[NAN, NAN]], [[NAN, NAN]]))
    assert nothing.chosen("composite") is None


def test_cells_of_the_table(result):
    columns = curve_of(result).columns()
    assert columns["k"] == ["2", "3", "9"]
    assert columns["macro"] == ["0.4000", "0.5000", "–"]
    assert columns["weight"][2] == "–"
    assert columns["failed"] == ["0", "0", "2"]
    assert list(columns) == [
        "k", "score", "± se", "micro", "macro", "weight", "stability", "probability", "confidence", "failed",
    ]  # fmt: skip


def test_failures_have_a_column_only_where_there_are_any():
    assert "failed" not in curve_of(made_up(MICRO[:2], MACRO[:2])).columns()


def test_the_line_of_another_criterion(result):
    curve = curve_of(result.reweigh(criterion="macro"))
    assert list(curve.lines) == ["macro", "micro"]
    assert curve.chosen("macro") == (3, pytest.approx(0.5))
    np.testing.assert_array_equal(curve.score, curve.macro)
    assert list(curve_of(result.reweigh(criterion="stable")).lines) == ["stable", "micro", "macro"]
    assert set(SCORED) == set(CRITERIA)


def test_the_confidence_is_drawn_alone(believed):
    rows = [[0.3] * 6, [0.5] * 6, [0.4] * 6]
    curve = curve_of(believed(made_up(rows, rows, criterion="likely"), 0.1, 0.2, 0.604, 0.096))
    assert list(curve.lines) == ["likely"]
    assert curve.chosen("likely") == (4, 0.604)
    assert not curve.half_width.any()
    columns = curve.columns()
    assert list(columns) == ["k", "micro", "macro", "weight", "stability", "probability", "confidence"]
    assert columns["confidence"] == ["10 %", "20 %", "60 %"]
    assert columns["stability"] == ["0.900"] * 3
