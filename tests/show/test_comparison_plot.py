"""The picture of a comparison, by what it contains."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.patches import FancyBboxPatch
from samples import compared

from compsil_kit import compare

mpl.use("agg")
n = np.nan


def rings(ax):
    """Column and row of each ring."""
    boxes = [patch for patch in ax.patches if isinstance(patch, FancyBboxPatch)]
    return [(round(box.get_x() + box.get_width() / 2), round(box.get_y() + box.get_height() / 2)) for box in boxes]


def test_comparison(ax, drawn):
    found = compared(
        [2, 3, 5], composite=[0.1, 0.5, 0.3], davies_bouldin=[0.9, 0.8, 0.1], elbow=[5000, 900, 800], gap=[n, n, n]
    )
    assert found.plot(ax=ax) is ax
    drawn(ax)
    (image,) = ax.images
    darkness = image.get_array()
    np.testing.assert_allclose(darkness[0], [0, 1, 0.5])
    np.testing.assert_allclose(darkness[1], [0, 0.125, 1])
    np.testing.assert_allclose(darkness[2], [0, 4100 / 4200, 1])
    assert np.isnan(np.ma.filled(darkness[3], np.nan)).all()
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["2", "3", "5"]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == [
        "composite silhouette", "Davies–Bouldin (lower is better)", "inertia (elbow)", "gap statistic",
    ]  # fmt: skip
    cells = {tuple(map(round, text.get_position())): text for text in ax.texts}
    assert [cells[at, 0].get_text() for at in range(3)] == ["0.10", "0.50", "0.30"]
    assert [cells[at, 2].get_text() for at in range(3)] == ["5,000", "900", "800"]
    assert [cells[at, 3].get_text() for at in range(3)] == ["–", "–", "–"]
    assert rings(ax) == [(1, 0), (2, 1), (1, 2)]
    assert {at for at, text in cells.items() if text.get_fontweight() == "bold"} == set(rings(ax))
    assert "ring" in ax.get_xlabel()


def test_text_can_be_read_on_dark_and_on_pale_cells(ax):
    compared([2, 3, 4, 5], micro=[0.0, 1.0, 0.7, 0.71]).plot(ax=ax)
    assert [text.get_color() for text in ax.texts] == ["#222222", "white", "#222222", "white"]


def test_numbers_of_a_hundred_and_more_are_whole(ax):
    compared([2, 3, 4], micro=[99.994, 100.0, -100.0]).plot(ax=ax)
    assert [text.get_text() for text in ax.texts] == ["99.99", "100", "-100"]


def test_a_ring_lies_within_its_cell_and_hides_nothing(ax):
    compared([2, 3], micro=[0.1, 0.9], macro=[0.9, 0.1]).plot(ax=ax)
    for box, at in zip(ax.patches, ([1, 0], [0, 1]), strict=True):
        corner, size = np.array([box.get_x(), box.get_y()]), np.array([box.get_width(), box.get_height()])
        np.testing.assert_allclose(corner + size / 2, at, atol=1e-9)
        assert (size > 0.5).all()
        assert (size < 1).all()
        assert not box.get_fill()


def test_a_flat_criterion(ax, drawn):
    drawn(compared([2, 3], micro=[0.4, 0.4]).plot(ax=ax))
    assert ax.images[0].get_array().tolist() == [[0, 0]]
    assert rings(ax) == [(0, 0)]


def test_forty_candidates_are_a_map_without_numbers(ax, drawn):
    found = compared(range(2, 42), micro=np.linspace(0, 1, 40), elbow=9000 / np.arange(2, 42))
    drawn(found.plot(ax=ax))
    assert len(ax.texts) == 0
    assert len(ax.get_xticks()) <= 15
    assert [int(text.get_text()) for text in ax.get_xticklabels()] == [2 + round(at) for at in ax.get_xticks()]
    assert rings(ax)[0] == (39, 0)
    assert len(rings(ax)) == 2


def test_a_real_comparison_in_a_new_figure(blobs, monkeypatch):
    monkeypatch.setattr(plt, "show", lambda *_: pytest.fail("shown"))
    found = compare(blobs, ks=[2, 3, 4], n_subsamples=2, n_references=2)
    before = plt.get_fignums()
    ax = found.plot()
    assert plt.get_fignums() == [*before, ax.figure.number]
    assert len(rings(ax)) == len([k for k in found.choices.values() if k is not None])
    plt.close(ax.figure)
