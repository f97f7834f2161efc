"""Check the contents of the plots of a clustering."""

from itertools import pairwise

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA

from compsil_kit import silhouettes
from compsil_kit._method.silhouette import Silhouettes
from compsil_kit._show.cluster_plots import MAX_POINTS, cluster_colours, plot_map, plot_silhouettes, project
from compsil_kit._util.format import percent


@pytest.fixture(scope="module")
def blobs():
    return make_blobs([100, 60, 40], 4, cluster_std=1.5, random_state=0)


def test_silhouette_plot_shows_sorted_clusters_and_averages(blobs, ax, drawn):
    X, y = blobs
    scores = silhouettes(X, y)
    assert drawn(plot_silhouettes(scores, y, ax=ax)) is ax
    shapes = [cluster.get_paths()[0].vertices for cluster in ax.collections]
    assert len(shapes) == 3
    for at, shape in enumerate(shapes):
        assert shape[:, 0].max() == pytest.approx(max(scores.per_point[y == at].max(), 0))
        assert np.ptp(shape[:, 1]) == pytest.approx((y == at).sum() - 1)
    assert all(below[:, 1].max() < above[:, 1].min() for below, above in pairwise(shapes))
    assert [line.get_xdata()[0] for line in ax.lines] == [scores.micro, scores.macro]
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == [f"micro {scores.micro:.3f}", f"macro {scores.macro:.3f}"]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["0  (100)", "1  (60)", "2  (40)"]
    assert ax.get_title(loc="left") == "k = 3"
    assert ax.get_xlim()[0] <= min(-0.1, scores.per_point.min())
    assert ax.get_xlim()[1] == 1.0


@pytest.mark.parametrize("sizes", [[2000, 3, 3, 3, 3, 3], [3, 3, 900, 3, 900, 3], [10] * 25], ids=str)
def test_cluster_labels_do_not_overlap(ax, sizes, drawn):
    y = np.repeat(np.arange(len(sizes)), sizes)
    X = np.random.default_rng(0).normal(size=(len(y), 2)) + 9 * y[:, None]
    drawn(plot_silhouettes(silhouettes(X, y), y, ax=ax))
    boxes = [text.get_window_extent() for text in ax.get_yticklabels()]
    assert len(boxes) == len(sizes)
    assert all(low.y1 <= high.y0 + 1 for low, high in pairwise(boxes))


@pytest.mark.parametrize(("k", "size"), [(15, 10), (16, 6)])
def test_more_than_fifteen_clusters_have_small_labels(ax, k, size):
    y = np.append(np.arange(k), np.zeros(1200, int))
    scores = Silhouettes(0.5, 0.4, np.arange(k), np.zeros(k), np.linspace(0, 1, len(y)))
    plot_silhouettes(scores, y, ax=ax)
    assert [ax.get_yticklabels()[at].get_text() for at in (0, 1)] == ["0  (1,201)", "1  (1)"]
    assert ax.get_yticklabels()[0].get_fontsize() == size
    assert not ax.yaxis.get_gridlines()[0].get_visible()


def test_map_shows_the_first_two_principal_components(blobs, ax, drawn):
    X, y = blobs
    assert drawn(plot_map(X, y, ax=ax)) is ax
    pca = PCA(2, svd_solver="full").fit(X)
    places = pca.transform(X)
    assert [text.get_text() for text in ax.texts] == ["0", "1", "2"]
    for at, (points, text) in enumerate(zip(ax.collections, ax.texts, strict=True)):
        np.testing.assert_allclose(np.abs(points.get_offsets()), np.abs(places[y == at]), rtol=0, atol=1e-9)
        np.testing.assert_allclose(np.abs(text.get_position()), np.abs(places[y == at].mean(axis=0)), atol=1e-9)
    share = pca.explained_variance_ratio_.sum()
    assert ax.get_title(loc="left") == f"k = 3; the axes explain {percent(share)} of the variance"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("first component", "second component")
    assert ax.get_aspect() == 1


def test_map_of_one_dimensional_data_lies_on_a_line(blobs, ax, drawn):
    X, y = blobs
    drawn(plot_map(X[:, :1], y, ax=ax))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("value", "")
    np.testing.assert_array_equal(ax.collections[0].get_offsets()[:, 0], X[y == 0, 0])
    line = drawn(plot_map(np.outer(X[:, 0], [1.0, 2.0, -1.0]), y, ax=Figure().subplots()))
    assert all(np.all(points.get_offsets()[:, 1] == 0) for points in line.collections)
    assert "100 %" in ax.get_title(loc="left")
    assert "100 %" in line.get_title(loc="left")
    flat, explained = project(np.ones((5, 2)))
    assert (flat.tolist(), explained) == ([[0.0, 0.0]] * 5, 1.0)
    np.testing.assert_array_equal(project(sparse.csr_array(X[:, :1]))[0][:, 0], X[:, 0])


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_map_orientation_does_not_depend_on_rounding(kind):
    X = np.random.default_rng(0).exponential(size=(300, 2))
    X /= X.std(axis=0)
    flat, explained = project(kind(X))
    np.testing.assert_allclose(flat, project(kind(X[::-1]))[0][::-1], atol=1e-9)
    assert explained == pytest.approx(1.0)


def test_maps_of_many_points_show_a_sample(ax):
    X = np.random.default_rng(0).normal(size=(MAX_POINTS + 1000, 3))
    y = np.arange(len(X)) % 4
    plot_map(X, y, ax=ax)
    places = np.concatenate([points.get_offsets() for points in ax.collections])
    assert len(places) == len(np.unique(places, axis=0)) == MAX_POINTS
    assert ax.get_xlabel().endswith("(5,000 of 6,000 points drawn)")
    other = plot_map(X, y, ax=Figure().subplots())
    np.testing.assert_array_equal(other.collections[0].get_offsets(), ax.collections[0].get_offsets())


def test_map_uses_the_projection_argument(blobs, ax):
    X, y = blobs
    flat = np.column_stack([np.arange(200.0), np.ones(200)])
    plot_map(X, y, ax=ax, projection=(flat, 0.25))
    np.testing.assert_array_equal(ax.collections[1].get_offsets(), flat[y == 1])
    assert ax.get_title(loc="left").endswith("explain 25 % of the variance")


@pytest.mark.parametrize("n", [1, 8, 9, 40])
def test_colours_are_distinct(n):
    assert len({to_hex(colour) for colour in cluster_colours(n)}) == n


def test_dollar_signs_in_labels_are_not_parsed_as_math(blobs, ax, drawn):
    X, y = blobs
    names = np.array(["$0 to $10", r"$\nonsense$", "rest"])[y]
    plot_map(X, names, ax=ax)
    assert sorted(text.get_text() for text in drawn(ax).texts) == sorted(set(names))
    assert not any(text.get_parse_math() for text in ax.texts)
    other = drawn(plot_silhouettes(silhouettes(X, names), names, ax=Figure().subplots()))
    assert not any(text.get_parse_math() for text in other.get_yticklabels())
