"""The picture, by what it contains."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

from compsil_kit import select_k
from compsil_kit.datasets import imbalanced_blobs


@pytest.fixture(scope="module")
def result():
    return select_k(imbalanced_blobs()[0], ks=range(2, 8), n_subsamples=6)


def stars(ax):
    return {line.get_color(): line.get_xdata()[0] for line in ax.lines if line.get_marker() == "*"}


def test_curve(result):
    figure = Figure()
    ax = figure.subplots()
    assert result.plot("curve", ax=ax) is ax
    lines = {line.get_label().split(":")[0]: line for line in ax.lines}
    np.testing.assert_array_equal(lines["composite"].get_ydata(), result.scores)
    np.testing.assert_allclose(lines["micro"].get_ydata(), result.micro.mean(axis=1))
    np.testing.assert_allclose(lines["macro"].get_ydata(), result.macro.mean(axis=1))
    assert stars(ax) == {lines[name].get_color(): k for name, k in result.choices.items()}
    (band,) = ax.collections
    assert band.get_paths()[0].vertices[:, 1].max() == pytest.approx((result.scores + 1.96 * result.sem).max())
    assert f"k* = {result.best_k}" in ax.get_title(loc="left")
    assert ax.get_xlabel() == "number of clusters k"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        f"composite: k = {result.choices['composite']}", f"micro: k = {result.choices['micro']}",
        f"macro: k = {result.choices['macro']}",
    ]  # fmt: skip


def test_a_new_figure_is_made_but_not_shown(result, monkeypatch):
    monkeypatch.setattr(plt, "show", lambda: pytest.fail("shown"))
    before = plt.get_fignums()
    ax = result.plot()
    assert ax.figure.number not in before
    plt.close(ax.figure)


def test_many_candidates_keep_readable_ticks(blobs):
    ax = select_k(blobs, ks=range(2, 40), n_subsamples=2, clusterer="birch").plot(ax=Figure().subplots())
    assert len(ax.get_xticks()) <= 15


def test_unknown_kind(result):
    with pytest.raises(ValueError, match=r"kind must be one of 'curve', .*; got 'pie'"):
        result.plot("pie")


def test_one_subsample_has_no_band(blobs):
    ax = select_k(blobs, ks=[2, 3], n_subsamples=1).plot(ax=Figure().subplots())
    vertices = ax.collections[0].get_paths()[0].vertices
    assert np.isfinite(vertices).all()
