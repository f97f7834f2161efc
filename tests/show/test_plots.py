"""Check the contents of the plots of results and comparisons."""

import runpy
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from PIL import Image
from samples import UNUSUAL, compared, made_up

from compsil_kit import hoeffding_radius, select_k
from compsil_kit._result.trials import Saved
from compsil_kit._show.plots import BLUE, GREY, KINDS, LINES, VERMILION, plot
from compsil_kit._util.format import percent
from compsil_kit.datasets import imbalanced_blobs

NAN = np.nan


@pytest.fixture(scope="module")
def result():
    return select_k(imbalanced_blobs()[0], ks=range(2, 8), n_subsamples=6)


def title(ax):
    return ax.get_title(loc="left")


def vertical_lines(ax):
    return [line.get_xdata()[0] for line in ax.lines if tuple(line.get_ydata()) == (0, 1)]


def legend_rows(ax):
    return len({round(text.get_window_extent().y0) for text in ax.get_legend().get_texts()})


def band_of(ax):
    return ax.collections[0].get_paths()[0].vertices


@pytest.mark.parametrize("criterion", ["composite", "micro", "stable"])
def test_curve_plot_shows_criterion_averages_and_choices(result, ax, drawn, criterion):
    found = result.reweigh(criterion=criterion)
    assert drawn(found.plot("curve", ax=ax)) is ax
    stars = {line.get_color(): line.get_xdata()[0] for line in ax.lines if line.get_marker() == "*"}
    main, *others = [line for line in ax.lines if line.get_marker() != "*" and len(line.get_xdata()) > 2]
    curves = {name: getattr(found, name).mean(axis=1) for name in ("micro", "macro") if name != criterion}
    np.testing.assert_array_equal(main.get_ydata(), found.scores)
    for line, values in zip(others, curves.values(), strict=True):
        np.testing.assert_allclose(line.get_ydata(), values)
        assert main.get_linewidth() > line.get_linewidth()
    assert main.get_linestyle() == "-"
    labels = [f"{name}: k = {found.choices[name]}" for name in (criterion, *curves)]
    assert [line.get_label() for line in (main, *others)] == labels
    assert [text.get_text() for text in ax.get_legend().get_texts()] == labels
    colours = zip((criterion, *curves), (main, *others), strict=True)
    assert stars == {line.get_color(): found.choices[name] for name, line in colours}
    assert band_of(ax)[:, 1].max() == pytest.approx((found.scores + 1.96 * found.sem).max())
    assert band_of(ax)[:, 1].min() == pytest.approx((found.scores - 1.96 * found.sem).min())
    assert title(ax) == (
        f"k* = {found.best_k}   score {found.best_score:.3f}, "
        f"confidence {percent(found.confidence[found._best_index])}, "
        "selection probability unknown (too few subsamples)"
    )
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("number of clusters k", "silhouette")
    assert vertical_lines(ax) == [found.best_k]
    assert legend_rows(ax) == 1


def test_curve_and_convergence_plots_show_the_confidence(result, ax, drawn):
    found = result.reweigh(criterion="likely")
    drawn(found.plot("curve", ax=ax))
    (line,) = [line for line in ax.lines if line.get_marker() == "o"]
    np.testing.assert_array_equal(line.get_ydata(), found.confidence)
    assert ax.get_ylabel() == "confidence"
    assert ax.get_ylim() == (0, 1.12)
    assert "score" not in title(ax)
    other = drawn(found.plot("convergence", ax=Figure().subplots()))
    assert other.get_ylabel() == "confidence"
    # A confidence is not a mean of independent values, so it has no Hoeffding band.
    assert title(other) == "Confidence by number of subsamples"
    assert len(other.collections) == 1


def test_weights_plot_shows_discrepancies_and_mean_weights(result, ax):
    assert result.plot("weights", ax=ax) is ax
    (points,) = ax.collections
    across, up = points.get_offsets().T
    np.testing.assert_allclose(up, (result.micro - result.macro).ravel())
    np.testing.assert_allclose(points.get_array(), result.weights.ravel())
    assert points.get_clim() == (0, 1)
    # Each point is nearest to its own k, and no two points coincide.
    np.testing.assert_array_equal(np.round(across), np.repeat(result.ks, 6))
    assert len(set(across)) == across.size
    means = {float(text.get_position()[0]): text.get_text() for text in ax.texts}
    assert means == {k: f"{w:.2f}" for k, w in zip(result.ks, result.weights.mean(axis=1), strict=True)}
    low, high = ax.get_ylim()
    assert low < up.min() <= up.max() < min(text.get_position()[1] for text in ax.texts) < high
    assert [other.get_ylabel() for other in ax.figure.axes if other is not ax] == ["weight of micro (0: macro only)"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("number of clusters k", "discrepancy")


def test_convergence_plot_shows_running_scores_and_choices(result, ax, drawn):
    assert result.plot("convergence", ax=ax) is ax
    order = np.argsort(-result.scores)[: len(LINES)]
    assert [line.get_label() for line in ax.lines] == [f"k = {result.ks[at]}" for at in order]
    first = [result.reweigh(n_subsamples=n) for n in range(1, 7)]
    for line, at in zip(ax.lines, order, strict=True):
        np.testing.assert_array_equal(line.get_xdata(), np.arange(1, 7))
        np.testing.assert_allclose(line.get_ydata(), [run.scores[at] for run in first], rtol=0, atol=1e-12)
    assert ax.lines[0].get_linewidth() > ax.lines[1].get_linewidth()
    assert {line.get_marker() for line in ax.lines} == {""}
    assert ax.get_xlim() == (0.5, 6.5)
    assert legend_rows(drawn(ax)) == 1
    assert len(ax.get_legend().get_texts()) == len(LINES)
    assert band_of(ax)[:, 1].max() == pytest.approx(ax.lines[0].get_ydata()[0] + hoeffding_radius(1, n_ks=6))
    squares = ax.collections[1]
    colours = {result.ks[at]: colour for at, colour in zip(order, LINES, strict=True)}
    shown = [to_hex(colour) for colour in squares.get_facecolors()]
    assert shown == [colours.get(run.best_k, GREY).lower() for run in first]
    # The band may extend beyond the plot, but the lines and squares may not.
    low, high = ax.get_ylim()
    assert low < squares.get_offsets()[:, 1].min() < min(line.get_ydata().min() for line in ax.lines)
    assert high > max(line.get_ydata().max() for line in ax.lines)


@pytest.mark.parametrize("delta", [0.05, 0.5, 0.001])
def test_hoeffding_band_has_the_expected_width(result, ax, delta):
    plot(result, "convergence", ax=ax, **({} if delta == 0.05 else {"delta": delta}))
    radius = hoeffding_radius(6, n_ks=6, delta=delta)
    assert title(ax) == f"Score by number of subsamples; Hoeffding band ±{radius:.2f} at 6 subsamples"
    across, up = band_of(ax).T
    assert np.ptp(up[across == 6]) == pytest.approx(2 * radius)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_plots_handle_few_subsamples(result, ax, drawn, n):
    found = result.reweigh(n_subsamples=n)
    # Three weights are not interpreted as one RGB colour.
    values = found.reweigh(criterion="micro").plot("weights", ax=Figure().subplots()).collections[0].get_array()
    np.testing.assert_allclose(values, found.weights.ravel())
    drawn(found.plot("convergence", ax=ax))
    low, high = ax.get_xlim()
    assert [tick for tick in ax.get_xticks() if low <= tick <= high] == list(range(1, n + 1))
    # A line through one point needs a marker.
    assert {line.get_marker() for line in ax.lines} == {"o" if n == 1 else ""}


def bars_of(ax, name):
    """Return the bars, without the bar added for the legend."""
    at = [box.get_label() for box in ax.containers].index(name)
    return ax.containers[at - 1]


def test_probability_plot_shows_probability_and_confidence(result, ax, drawn):
    assert drawn(result.plot("probability", ax=ax)) is ax
    left, right = bars_of(ax, "selection probability"), bars_of(ax, "confidence")
    assert [bar.get_height() for bar in left] == result.selection_probability.tolist()
    assert [bar.get_height() for bar in right] == [*result.confidence, result.confidence_none]
    for k, one, other in zip(result.ks, left, right, strict=False):
        assert one.get_x() + one.get_width() == pytest.approx(k)
        assert other.get_x() == pytest.approx(k)
    for row, full in ((left, BLUE), (right, VERMILION)):
        selected = [to_hex(bar.get_facecolor()) == full.lower() for bar in row]
        assert selected == [at == result._best_index for at in range(len(row))]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == [*map(str, result.ks), "none"]
    assert ax.get_xticks()[-1] == right[-1].get_x() + right[-1].get_width() / 2 > result.ks[-1]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["selection probability", "confidence"]
    percents = {tick: label.get_text() for tick, label in zip(ax.get_yticks(), ax.get_yticklabels(), strict=True)}
    assert percents == {0: "0 %", 0.25: "25 %", 0.5: "50 %", 0.75: "75 %", 1: "100 %"}
    assert title(ax) == "Selection probability and confidence by k"
    assert ax.get_xlabel() == "number of clusters k (none: no candidate is correct)"
    assert legend_rows(ax) == 1


def test_probability_plot_omits_an_unknown_confidence(ax):
    rows = [[0.5, 0.3, 0.4], [0.4, 0.5, 0.3]]
    found = made_up(rows, rows)
    found.plot("probability", ax=ax)
    bars = bars_of(ax, "selection probability")
    assert [bar.get_height() for bar in bars] == found.selection_probability.tolist()
    assert [bar.get_x() + bar.get_width() / 2 for bar in bars] == pytest.approx(found.ks)
    assert len([text for text in ax.texts if text.get_text()]) == (found.selection_probability > 0).sum()
    assert ax.get_legend() is None
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("number of clusters k", "selection probability")
    assert title(ax) == "Selection probability by k"


@pytest.mark.parametrize(
    ("n_ks", "known", "space"), [(15, False, True), (16, False, False), (7, True, True), (8, True, False)]
)
def test_small_bars_have_labels_only_in_uncrowded_plots(ax, with_confidence, n_ks, known, space):
    rows, shares = np.full((n_ks, 6), 0.5), np.array([0.5, 0.04, 0.05, *np.zeros(n_ks - 3)])
    found = made_up(rows, rows, _saved=Saved(rows, shares))
    (with_confidence(found, *shares, 0) if known else found).plot("probability", ax=ax)
    labels = ["50 %", "4 %", "5 %", ""] if space else ["50 %", "", "", ""]
    assert [text.get_text() for text in ax.texts[:4]] == labels


def test_stability_plot_shows_agreements_and_means(result, ax, drawn):
    assert drawn(result.plot("stability", ax=ax)) is ax
    (points,) = ax.collections
    across, up = points.get_offsets().T
    np.testing.assert_array_equal(np.ma.filled(up, NAN), result.trials.agreement.ravel())
    np.testing.assert_array_equal(np.round(across), np.repeat(result.ks, 6))
    (line,) = [line for line in ax.lines if line.get_marker() == "o"]
    np.testing.assert_array_equal(line.get_ydata(), result.stability)
    assert ax.get_ylabel() == "adjusted Rand index"
    assert title(ax) == "Agreement between clusterings of consecutive subsamples"
    assert vertical_lines(ax) == [result.best_k]
    assert legend_rows(ax) == 1


@pytest.mark.parametrize(("least", "low"), [(0.4, -0.02), (-0.3, -0.32)])
def test_agreement_below_chance_is_visible(ax, least, low):
    rows = [[0.5, 0.4], [0.3, 0.2]]
    made_up(rows, rows, agreement=np.array([[NAN, 0.9], [NAN, least]])).plot("stability", ax=ax)
    assert ax.get_ylim() == pytest.approx((low, 1.04))


NO_K = "No k can be selected"
TITLES = {
    ("curve", "no choice"): NO_K,
    ("convergence", "no choice"): NO_K,
    ("probability", "no choice"): NO_K,
    ("curve", "no lower bound"): NO_K,
    ("probability", "one subsample"): "The selection probability cannot be estimated from one subsample",
    ("stability", "one subsample"): "The stability is unknown",
}


@pytest.mark.parametrize("case", UNUSUAL)
@pytest.mark.parametrize("kind", KINDS)
def test_plots_handle_unusual_results(kind, case, ax, drawn):
    found = UNUSUAL[case]
    assert drawn(found.plot(kind, ax=ax)) is ax
    assert title(ax) == TITLES.get((kind, case), title(ax) or "no title")
    assert title(ax).endswith(", partial") == (kind == "curve" and found.partial)
    if kind in ("curve", "stability"):
        assert vertical_lines(ax) == ([] if found._best_index is None else [found.best_k])
    if kind == "curve" and found._best_index is None:
        assert ax.get_legend().get_texts()[0].get_text() == "composite"
    assert np.isfinite([*ax.get_xlim(), *ax.get_ylim()]).all()
    assert all(np.isfinite(path.vertices).all() for each in ax.collections for path in each.get_paths())
    assert ax.get_legend() is None or ax.get_legend().get_texts()
    assert not ax.spines["top"].get_visible()
    assert not ax.spines["right"].get_visible()
    # Grid lines are horizontal and behind everything else.
    assert [axis.get_gridlines()[0].get_visible() for axis in (ax.xaxis, ax.yaxis)] == [False, True]
    assert ax.get_axisbelow() is True
    if kind == "convergence":
        leading = {f"k = {k}" for k, ok in zip(found.ks, found._selectable, strict=True) if ok}
        assert {line.get_label() for line in ax.lines} <= leading
        return
    assert len(ax.get_xticks()) <= 15
    assert set(ax.get_xticks()) <= set(found.ks)
    assert len([text for text in ax.texts if text.get_text()]) <= 15


def rings(ax):
    """Return the column and row of each ring, and check that it lies within its cell and hides nothing."""
    boxes = [patch for patch in ax.patches if isinstance(patch, FancyBboxPatch)]
    assert all(0.5 < size < 1 for box in boxes for size in (box.get_width(), box.get_height()))
    assert not any(box.get_fill() for box in boxes)
    centres = [(box.get_x() + box.get_width() / 2, box.get_y() + box.get_height() / 2) for box in boxes]
    np.testing.assert_allclose(centres, np.round(centres), atol=1e-9)
    return [(round(x), round(y)) for x, y in centres]


def test_comparison_plot_shows_values_and_choices(ax, drawn):
    found = compared(
        [2, 3, 5], composite=[0.1, 0.5, 0.3], davies_bouldin=[0.9, 0.8, 0.1], elbow=[5000, 900, 99.994], gap=[NAN] * 3
    )
    assert found.plot(ax=ax) is ax
    drawn(ax)
    goodness = ax.images[0].get_array()
    np.testing.assert_allclose(goodness[0], [0, 1, 0.5])
    np.testing.assert_allclose(goodness[1], [0, 0.125, 1])
    np.testing.assert_allclose(goodness[2], [0, 4100 / 4900.006, 1])
    assert np.isnan(np.ma.filled(goodness[3], NAN)).all()
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["2", "3", "5"]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == [
        "composite silhouette", "Davies–Bouldin (lower is better)", "inertia (elbow)", "gap statistic",
    ]  # fmt: skip
    cells = {tuple(map(round, text.get_position())): text for text in ax.texts}
    assert [cells[at, 0].get_text() for at in range(3)] == ["0.10", "0.50", "0.30"]
    assert [cells[at, 2].get_text() for at in range(3)] == ["5,000", "900", "99.99"]
    assert [cells[at, 3].get_text() for at in range(3)] == ["–", "–", "–"]
    assert rings(ax) == [(1, 0), (2, 1), (1, 2)]
    assert {at for at, text in cells.items() if text.get_fontweight() == "bold"} == set(rings(ax))
    other = compared([2, 3, 4, 5], micro=[0.0, 1.0, 0.7, 0.71]).plot(ax=Figure().subplots())
    assert [text.get_color() for text in other.texts] == ["#222222", "white", "#222222", "white"]


def test_an_infinite_value_does_not_hide_the_others(ax, drawn):
    drawn(compared([2, 3, 5, 6], elbow=[np.inf, 900, 300, 100]).plot(ax=ax))
    assert ax.images[0].get_array()[0, 1:].tolist() == [0, 0.75, 1]


def test_comparison_plot_handles_equal_values_and_many_ks(ax, drawn):
    drawn(compared([2, 3], micro=[0.4, 0.4]).plot(ax=ax))
    assert ax.images[0].get_array().tolist() == [[0, 0]]
    assert rings(ax) == [(0, 0)]
    many = compared(range(2, 42), micro=np.linspace(0, 1, 40), elbow=9000 / np.arange(2, 42))
    ax = drawn(many.plot(ax=Figure().subplots()))
    assert len(ax.texts) == 0
    assert len(ax.get_xticks()) <= 15
    assert [int(text.get_text()) for text in ax.get_xticklabels()] == [2 + round(at) for at in ax.get_xticks()]
    assert rings(ax)[0] == (39, 0)
    assert len(rings(ax)) == 2


@pytest.mark.parametrize("kind", [*KINDS, "comparison"])
def test_new_figures_are_not_shown(result, monkeypatch, kind):
    monkeypatch.setattr(plt, "show", lambda *_: pytest.fail("shown"))
    before = plt.get_fignums()
    ax = compared([2, 3], micro=[0.1, 0.2]).plot() if kind == "comparison" else result.plot(kind)
    assert plt.get_fignums() == [*before, ax.figure.number]
    assert ax.figure.get_size_inches().tolist() == [7.2, 4.2]
    plt.close(ax.figure)
    with pytest.raises(ValueError, match=r"kind must be one of 'curve', .*; got 'pie'"):
        result.plot("pie")
    assert plt.get_fignums() == before


def test_readme_image_is_up_to_date():
    drawn = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "pictures.py"))
    assert Image.open(drawn["CURVE"]).text["Description"] == drawn["shown"]()[1], "run: python docs/pictures.py"
