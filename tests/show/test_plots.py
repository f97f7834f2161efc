"""The pictures, by what they contain."""

import io

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from samples import compared, made_up

from compsil_kit import compare, hoeffding_radius, select_k
from compsil_kit.datasets import imbalanced_blobs
from compsil_kit.show.plots import BLUE, GREY, KINDS, LINES

mpl.use("agg")


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
    assert band.get_paths()[0].vertices[:, 1].min() == pytest.approx((result.scores - 1.96 * result.sem).min())
    assert f"k* = {result.best_k}   score {result.best_score:.3f}, selection probability " in ax.get_title(loc="left")
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


def drawn(ax):
    """Render the picture: some faults only show then."""
    ax.figure.savefig(io.BytesIO(), format="png")
    return ax


@pytest.fixture
def ax():
    return Figure(figsize=(7.2, 4.2), layout="constrained").subplots()


def title(ax):
    return ax.get_title(loc="left")


def test_weights(result, ax):
    assert result.plot("weights", ax=ax) is ax
    (points,) = ax.collections
    across, up = points.get_offsets().T
    np.testing.assert_allclose(up, (result.micro - result.macro).ravel())
    np.testing.assert_allclose(points.get_array(), result.weights.ravel())
    assert points.get_clim() == (0, 1)
    # Every point stands nearer to its own k than to the next, and no two at the same place.
    np.testing.assert_array_equal(np.round(across), np.repeat(result.ks, 6))
    assert len(set(across)) == across.size
    means = {float(text.get_position()[0]): text.get_text() for text in ax.texts}
    assert means == {k: f"{w:.2f}" for k, w in zip(result.ks, result.weights.mean(axis=1), strict=True)}
    low, high = ax.get_ylim()
    assert low < up.min() <= up.max() < min(text.get_position()[1] for text in ax.texts) < high
    assert [other.get_ylabel() for other in ax.figure.axes if other is not ax] == ["weight of micro (0: macro only)"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("number of clusters k", "discrepancy")


@pytest.mark.parametrize("n_subsamples", [3, 4])
def test_a_row_of_weights_is_not_taken_for_a_colour(ax, n_subsamples):
    values = np.linspace(0.1, 0.6, n_subsamples)
    made_up([values], [values[::-1]]).plot("weights", ax=ax)
    assert ax.collections[0].get_array().shape == (n_subsamples,)
    assert ax.collections[0].get_cmap().name == "RdYlBu"


def test_convergence(result, ax):
    assert result.plot("convergence", ax=ax) is ax
    order = np.argsort(-result.scores)[: len(LINES)]
    assert [line.get_label() for line in ax.lines] == [f"k = {result.ks[at]}" for at in order]
    for line, at in zip(ax.lines, order, strict=True):
        np.testing.assert_array_equal(line.get_xdata(), np.arange(1, 7))
        expected = [result.reweigh(n_subsamples=n).scores[at] for n in range(1, 7)]
        np.testing.assert_allclose(line.get_ydata(), expected, rtol=0, atol=1e-12)
    assert ax.lines[0].get_linewidth() > ax.lines[1].get_linewidth()
    band, squares = ax.collections
    radius = hoeffding_radius(1, n_ks=6)
    assert band.get_paths()[0].vertices[:, 1].max() == pytest.approx(ax.lines[0].get_ydata()[0] + radius)
    assert f"±{hoeffding_radius(6, n_ks=6):.2f} with all 6" in title(ax)
    colours = {f"k = {k}": colour for k, colour in zip((result.ks[at] for at in order), LINES, strict=False)}
    chosen = [result.reweigh(n_subsamples=n).best_k for n in range(1, 7)]
    found = [to_hex(colour) for colour in squares.get_facecolors()]
    assert found == [colours.get(f"k = {k}", GREY).lower() for k in chosen]
    assert len(ax.get_legend().get_texts()) == len(LINES)
    # The band may leave the picture; the lines and the squares may not.
    low, high = ax.get_ylim()
    assert low < squares.get_offsets()[:, 1].min() < min(line.get_ydata().min() for line in ax.lines)
    assert high > max(line.get_ydata().max() for line in ax.lines)


@pytest.mark.parametrize("delta", [0.5, 0.001])
def test_the_hoeffding_band_of_another_delta(result, ax, delta):
    result.plot("convergence", ax=ax, delta=delta)
    radius = hoeffding_radius(6, n_ks=6, delta=delta)
    assert f"±{radius:.2f} with all 6" in title(ax)
    right = ax.collections[0].get_paths()[0].vertices[:, 1][ax.collections[0].get_paths()[0].vertices[:, 0] == 6]
    assert np.ptp(right) == pytest.approx(2 * radius)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_subsamples_are_counted_in_whole_numbers(result, ax, n):
    drawn(result.reweigh(n_subsamples=n).plot("convergence", ax=ax))
    low, high = ax.get_xlim()
    assert [tick for tick in ax.get_xticks() if low <= tick <= high] == list(range(1, n + 1))


def test_one_subsample_can_be_seen_in_the_convergence(result, ax):
    result.reweigh(n_subsamples=1).plot("convergence", ax=ax)
    assert {line.get_marker() for line in ax.lines} == {"o"}


def test_probability(result, ax):
    assert result.plot("probability", ax=ax) is ax
    assert [bar.get_height() for bar in ax.patches] == result.probability.tolist()
    assert [bar.get_x() + bar.get_width() / 2 for bar in ax.patches] == pytest.approx(result.ks)
    assert [to_hex(bar.get_facecolor()) == BLUE.lower() for bar in ax.patches] == [
        k == result.best_k for k in result.ks
    ]
    labels = [text.get_text() for text in ax.texts]
    assert [bool(label) for label in labels] == (result.probability > 0).tolist()
    assert ax.get_ylim()[1] > 1
    assert [tick.get_text() for tick in ax.get_yticklabels()][-1] == "100 %"
    assert ax.get_ylabel() == "selection probability"


def test_the_probability_that_is_not_known_says_why(ax):
    made_up([[0.5], [0.3]], [[0.5], [0.3]]).plot("probability", ax=ax)
    assert title(ax) == "the selection probability cannot be estimated from one subsample"
    lost = made_up([[np.nan] * 3] * 2, [[np.nan] * 3] * 2)
    assert title(lost.plot("probability", ax=Figure().subplots())) == "no k can be selected"


n = np.nan
ODD = {
    "one subsample": made_up([[0.5], [0.3]], [[0.4], [0.3]]),
    "one candidate": made_up([[0.5] * 3], [[0.4] * 3]),
    "all equal": made_up([[0.5] * 3] * 3, [[0.5] * 3] * 3),
    "partial": made_up([[0.5, 0.4], [0.3, 0.3]], [[0.5, 0.3], [0.3, 0.3]], planned=9),
    "failures": made_up([[n] * 3, [0.5, 0.4, 0.3], [0.2, n, 0.1]], [[n] * 3, [0.5, 0.4, 0.2], [0.1, n, 0.1]]),
    "no choice": made_up([[n] * 3] * 2, [[n] * 3] * 2),
    "no lower bound": made_up([[0.5], [0.3]], [[0.5], [0.3]], rule="lcb"),
    "uneven candidates": made_up(np.eye(4, 5) / 2, np.eye(4, 5) / 3, ks=[2, 3, 10, 50]),
    "forty candidates": made_up(np.linspace(-1, 1, 1200).reshape(40, 30), np.linspace(0, 1, 1200).reshape(40, 30)),
}


@pytest.mark.parametrize("case", ODD)
@pytest.mark.parametrize("kind", KINDS)
def test_odd_results_can_be_drawn(kind, case, ax):
    found = ODD[case]
    assert drawn(found.plot(kind, ax=ax)) is ax
    assert title(ax)
    assert np.isfinite([*ax.get_xlim(), *ax.get_ylim()]).all()
    assert ax.get_legend() is None or ax.get_legend().get_texts()
    if kind != "convergence":
        assert len(ax.get_xticks()) <= 15
        assert set(ax.get_xticks()) <= set(found.ks)


@pytest.mark.parametrize("case", ["no choice", "no lower bound"])
@pytest.mark.parametrize("kind", ["curve", "convergence"])
def test_that_nothing_can_be_selected_is_said(case, kind, ax):
    assert title(ODD[case].plot(kind, ax=ax)) == "no k can be selected"


def test_labels_of_forty_candidates_stay_apart(ax):
    rng = np.random.default_rng(0)
    crowd = made_up(rng.random((40, 30)), rng.random((40, 30)))
    crowd.plot("probability", ax=ax)
    shown = [share for text, share in zip(ax.texts, crowd.probability, strict=True) if text.get_text()]
    assert shown
    assert min(shown) > 0.05
    other = Figure().subplots()
    crowd.plot("weights", ax=other)
    assert len(other.texts) <= 15


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_makes_a_new_figure_but_does_not_show_it(result, monkeypatch, kind):
    monkeypatch.setattr(plt, "show", lambda *_: pytest.fail("shown"))
    before = plt.get_fignums()
    ax = result.plot(kind)
    assert plt.get_fignums() == [*before, ax.figure.number]
    plt.close(ax.figure)


def test_a_wrong_kind_leaves_no_figure_behind(result):
    before = plt.get_fignums()
    with pytest.raises(TypeError, match="kind must be one of"):
        result.plot(3)
    assert plt.get_fignums() == before


def rings(ax):
    """Column and row of each ring."""
    boxes = [patch for patch in ax.patches if isinstance(patch, FancyBboxPatch)]
    return [(round(box.get_x() + box.get_width() / 2), round(box.get_y() + box.get_height() / 2)) for box in boxes]


def test_comparison(ax):
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
    compared([2, 3, 4], micro=[0.1, 0.9, 0.5]).plot(ax=ax)
    assert [text.get_color() for text in ax.texts] == ["#222222", "white", "#222222"]


def test_a_flat_criterion(ax):
    drawn(compared([2, 3], micro=[0.4, 0.4]).plot(ax=ax))
    assert ax.images[0].get_array().tolist() == [[0, 0]]
    assert rings(ax) == [(0, 0)]


def test_forty_candidates_are_a_map_without_numbers(ax):
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
