"""The pictures, by what they contain."""

import io
from types import SimpleNamespace

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from samples import made_up

from compsil_kit import hoeffding_radius, select_k
from compsil_kit._show.plots import BLUE, GREY, KINDS, LINES, VERMILION, _bars, plot, sideways, some
from compsil_kit._util.format import percent
from compsil_kit.datasets import imbalanced_blobs

mpl.use("agg")


@pytest.fixture(scope="module")
def result():
    return select_k(imbalanced_blobs()[0], ks=range(2, 8), n_subsamples=6)


def stars(ax):
    return {line.get_color(): line.get_xdata()[0] for line in ax.lines if line.get_marker() == "*"}


def marked(ax):
    """The places of the lines from bottom to top."""
    return [line.get_xdata()[0] for line in ax.lines if tuple(line.get_ydata()) == (0, 1)]


def legend_rows(ax):
    """In how many rows the legend stands."""
    return len({round(text.get_window_extent().y0) for text in ax.get_legend().get_texts()})


def test_curve(result):
    figure = Figure()
    ax = figure.subplots()
    assert result.plot("curve", ax=ax) is ax
    lines = {line.get_label().split(":")[0]: line for line in ax.lines}
    np.testing.assert_array_equal(lines["composite"].get_ydata(), result.scores)
    np.testing.assert_allclose(lines["micro"].get_ydata(), result.micro.mean(axis=1))
    np.testing.assert_allclose(lines["macro"].get_ydata(), result.macro.mean(axis=1))
    assert stars(ax) == {lines[name].get_color(): result.choices[name] for name in ("composite", "micro", "macro")}
    (band,) = ax.collections
    assert band.get_paths()[0].vertices[:, 1].max() == pytest.approx((result.scores + 1.96 * result.sem).max())
    assert band.get_paths()[0].vertices[:, 1].min() == pytest.approx((result.scores - 1.96 * result.sem).min())
    confidence = percent(result.confidence[result._best_index])
    assert title(ax) == (
        f"k* = {result.best_k}   score {result.best_score:.3f}, confidence {confidence}, "
        "selection probability unknown (too few subsamples)"
    )
    assert ax.get_xlabel() == "number of clusters k"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        f"composite: k = {result.choices['composite']}", f"micro: k = {result.choices['micro']}",
        f"macro: k = {result.choices['macro']}",
    ]  # fmt: skip
    assert marked(ax) == [result.best_k]
    assert legend_rows(drawn(ax)) == 1


def test_a_new_figure_is_made_but_not_shown(result, monkeypatch):
    monkeypatch.setattr(plt, "show", lambda: pytest.fail("shown"))
    before = plt.get_fignums()
    ax = result.plot()
    assert ax.figure.number not in before
    assert ax.figure.get_size_inches().tolist() == [7.2, 4.2]
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
    assert {line.get_marker() for line in ax.lines} == {""}
    assert ax.get_xlim() == (0.5, 6.5)
    assert legend_rows(drawn(ax)) == 1
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
    assert f"±{hoeffding_radius(6, n_ks=6):.2f} with" in title(plot(result, "convergence", ax=Figure().subplots()))
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


@pytest.mark.parametrize("criterion", ["micro", "macro", "stable"])
def test_the_curve_of_another_criterion(result, ax, criterion):
    found = result.reweigh(criterion=criterion)
    drawn(found.plot("curve", ax=ax))
    main, *others = [line for line in ax.lines if line.get_marker() != "*" and len(line.get_xdata()) > 2]
    np.testing.assert_array_equal(main.get_ydata(), found.scores)
    assert main.get_label() == f"{criterion}: k = {found.best_k}"
    assert main.get_linestyle() == "-"
    assert main.get_linewidth() > max(line.get_linewidth() for line in others)
    assert [line.get_label().split(":")[0] for line in others] == [n for n in ("micro", "macro") if n != criterion]
    assert ax.get_ylabel() == "silhouette"


def test_the_curve_of_the_confidence(result, ax):
    found = result.reweigh(criterion="likely")
    drawn(found.plot("curve", ax=ax))
    (line,) = [line for line in ax.lines if line.get_marker() == "o"]
    np.testing.assert_array_equal(line.get_ydata(), found.confidence)
    assert ax.get_ylabel() == "confidence"
    assert ax.get_ylim() == (0, 1.12)
    assert "score" not in title(ax)
    other = drawn(found.plot("convergence", ax=Figure().subplots()))
    assert other.get_ylabel() == "confidence"
    # A confidence is no mean of independent values: there is no Hoeffding band.
    assert title(other) == "confidence by number of subsamples"
    assert len(other.collections) == 1


def bars(ax, name):
    """The bars of a row, without the one that stands for it in the legend."""
    at = [box.get_label() for box in ax.containers].index(name)
    return ax.containers[at - 1]


def test_probability_and_confidence_stand_side_by_side(result, ax):
    assert drawn(result.plot("probability", ax=ax)) is ax
    again, right = bars(ax, "selection probability"), bars(ax, "confidence")
    assert [bar.get_height() for bar in again] == result.selection_probability.tolist()
    assert [bar.get_height() for bar in right] == [*result.confidence, result.confidence_none]
    for k, left, other in zip(result.ks, again, right, strict=False):
        assert left.get_x() + left.get_width() == pytest.approx(k)
        assert other.get_x() == pytest.approx(k)
    for row, full in ((again, BLUE), (right, VERMILION)):
        chosen = [to_hex(bar.get_facecolor()) == full.lower() for bar in row]
        assert chosen == [at == result._best_index for at in range(len(row))]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == [*map(str, result.ks), "none"]
    assert ax.get_xticks()[-1] == right[-1].get_x() + right[-1].get_width() / 2 > result.ks[-1]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["selection probability", "confidence"]
    assert ax.get_ylim()[1] > 1
    percents = {tick: label.get_text() for tick, label in zip(ax.get_yticks(), ax.get_yticklabels(), strict=True)}
    assert percents == {0: "0 %", 0.25: "25 %", 0.5: "50 %", 0.75: "75 %", 1: "100 %"}
    assert title(ax) == "would a new run choose this k, and how often was such a k right"
    assert ax.get_xlabel() == "number of clusters k (none: no candidate is right)"
    assert legend_rows(ax) == 1


def test_the_probability_alone_where_the_confidence_is_not_known(ax):
    rows = [[0.5, 0.3, 0.4], [0.4, 0.5, 0.3]]
    found = made_up(rows, rows)
    found.plot("probability", ax=ax)
    row = bars(ax, "selection probability")
    assert [bar.get_height() for bar in row] == found.selection_probability.tolist()
    assert [bar.get_x() + bar.get_width() / 2 for bar in row] == pytest.approx(found.ks)
    labels = [text.get_text() for text in ax.texts if text.get_text()]
    assert len(labels) == (found.selection_probability > 0).sum()
    assert ax.get_legend() is None
    assert ax.get_ylabel() == "selection probability"
    assert ax.get_xlabel() == "number of clusters k"
    assert title(ax) == "how often a new run on these data would choose each k"


def test_stability(result, ax):
    assert drawn(result.plot("stability", ax=ax)) is ax
    (points,) = ax.collections
    known = np.isfinite(result.trials.agreement).ravel()
    across, up = points.get_offsets().T
    np.testing.assert_array_equal(np.ma.filled(up, np.nan)[known], result.trials.agreement.ravel()[known])
    np.testing.assert_array_equal(np.round(across), np.repeat(result.ks, 6))
    (line,) = [line for line in ax.lines if line.get_marker() == "o"]
    np.testing.assert_array_equal(line.get_ydata(), result.stability)
    low, high = ax.get_ylim()
    assert low <= 0 < 1 < high < 1.1
    assert ax.get_ylabel() == "adjusted Rand index"
    assert title(ax) == "how well clusterings of neighbouring subsamples agree"
    assert marked(ax) == [result.best_k]
    assert legend_rows(ax) == 1


@pytest.mark.parametrize(("least", "low"), [(0.4, -0.02), (-0.3, -0.32)])
def test_agreement_below_chance_is_within_the_picture(ax, least, low):
    rows = [[0.5, 0.4], [0.3, 0.2]]
    made_up(rows, rows, agreement=np.array([[np.nan, 0.9], [np.nan, least]])).plot("stability", ax=ax)
    assert ax.get_ylim() == pytest.approx((low, 1.04))


@pytest.mark.parametrize(
    ("n_ks", "unknown", "labels"),
    [
        (15, "why", ["", "4 %", "5 %", "50 %"]),
        (16, "why", ["", "", "", "50 %"]),
        (7, "", ["", "4 %", "5 %", "50 %"]),
        (8, "", ["", "", "", "50 %"]),
    ],
)
def test_where_bars_stand_close_small_ones_have_no_label(ax, n_ks, unknown, labels):
    """With the confidence there are two bars for each k."""
    many = SimpleNamespace(ks=range(n_ks), confidence_note=unknown, _best_index=3)
    _bars(many, ax, "confidence", np.arange(4.0), [0.0, 0.04, 0.05, 0.5], 0.8)
    assert [text.get_text() for text in ax.texts] == labels


def test_labels_and_points_of_many_and_of_few():
    assert some(range(15)) == list(range(15))
    assert some(range(16)) == [0, 2, 4, 6, 8, 10, 12, 14]
    assert some((2, 3)) == [2, 3]
    assert sideways(4).tolist() == [-0.375, -0.125, 0.125, 0.375]
    assert sideways(0).size == 0


def test_stability_that_is_not_known_is_said(ax):
    assert title(made_up([[0.5], [0.3]], [[0.5], [0.3]]).plot("stability", ax=ax)) == "the stability is not known"


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
    assert not ax.spines["top"].get_visible()
    assert not ax.spines["right"].get_visible()
    # Lines of the grid lead to the values at the left, behind everything else.
    assert [axis.get_gridlines()[0].get_visible() for axis in (ax.xaxis, ax.yaxis)] == [False, True]
    assert ax.get_axisbelow() is True
    if kind != "convergence":
        assert len(ax.get_xticks()) <= 15
        assert set(ax.get_xticks()) <= set(found.ks)


@pytest.mark.parametrize("case", ["no choice", "no lower bound"])
@pytest.mark.parametrize("kind", ["curve", "convergence"])
def test_that_nothing_can_be_selected_is_said(case, kind, ax):
    assert title(ODD[case].plot(kind, ax=ax)) == "no k can be selected"
    assert marked(ax) == []
    if kind == "curve":
        assert ax.get_legend().get_texts()[0].get_text() == "composite"


def test_what_is_missing_is_said(ax):
    assert title(ODD["partial"].plot(ax=ax)).endswith(", partial")
    other = ODD["failures"].plot("convergence", ax=Figure().subplots())
    assert "k = 2" not in [line.get_label() for line in other.lines]


def test_labels_of_forty_candidates_stay_apart(ax):
    rng = np.random.default_rng(0)
    crowd = made_up(rng.random((40, 30)), rng.random((40, 30)))
    crowd.plot("probability", ax=ax)
    # The last text stands for the bar of the legend.
    shown = [share for text, share in zip(ax.texts, crowd.selection_probability, strict=False) if text.get_text()]
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
