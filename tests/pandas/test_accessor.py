"""``df.compsil``: results, warnings and errors; the frame is never modified."""

import inspect
import json
import subprocess
import sys
import warnings

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import silhouette_samples
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from compsil_kit import Comparison, CompositeSilhouette, Preparation, SelectionResult, compare, select_k, silhouettes
from compsil_kit.config import SelectionConfig, settings_of
from compsil_kit.events import Events
from compsil_pandas import ColumnWarning
from compsil_pandas.calls import CLUSTER_SETTINGS

mpl.use("agg")
FAST = {"ks": [2, 3, 4], "n_subsamples": 4}
NUMERIC = ["age", "spend", "visits"]
ROWS = np.arange(200)


@pytest.fixture
def df():
    X, y = make_blobs([120, 50, 30], 3, cluster_std=0.6, random_state=5)
    city = np.array(["Rome", "Oslo", "Lima"])[y]
    return pd.DataFrame(X, columns=NUMERIC, index=[f"c{i}" for i in range(200)]).assign(city=city)


@pytest.fixture
def scaled(df):
    return StandardScaler().fit_transform(df[NUMERIC].to_numpy())


@pytest.fixture
def ax():
    return Figure().subplots()


def same_partition(first, second):
    """Return whether two labellings differ only in the names of the clusters."""
    first, second = np.asarray(first).tolist(), np.asarray(second).tolist()
    return len(set(zip(first, second, strict=True))) == len(set(first)) == len(set(second))


def test_importing_and_reloading_registers_the_accessor_once():
    """Run in a new process, because reloading creates new classes."""
    code = """
import importlib, pandas, compsil_pandas, compsil_pandas.accessor
first = pandas.DataFrame.compsil
importlib.reload(compsil_pandas.accessor)
importlib.reload(compsil_pandas)
assert pandas.DataFrame.compsil is first
"""
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_a_column_named_compsil_does_not_hide_the_accessor(df):
    named = df.assign(compsil=ROWS % 7)
    assert named.compsil.select_k(**FAST).preparation.columns == (*NUMERIC, "compsil")
    assert named["compsil"].max() == 6


def test_the_frame_is_never_modified(df, ax):
    def overwrite(X, k, seed):
        X *= 0
        return ROWS % k

    before = df.copy()
    labels = df.compsil.cluster(3)
    df.compsil.select_k(by="city", **FAST)
    df.compsil.profile(labels)
    df.compsil.compare(criteria=["composite", "full-micro"], **FAST)
    df.compsil.plot("map", labels=labels, ax=ax)
    with pytest.raises(ValueError, match="read-only"):
        df[NUMERIC].compsil.cluster(3, scale=None, clusterer=overwrite)
    pd.testing.assert_frame_equal(df, before)
    assert df.attrs == {}


@pytest.mark.parametrize(("scale", "scaler"), [("standard", StandardScaler), (None, FunctionTransformer)])
def test_select_k_matches_the_engine_on_the_prepared_columns(df, scale, scaler):
    result = df.compsil.select_k(**FAST) if scale == "standard" else df.compsil.select_k(scale=scale, **FAST)
    expected = select_k(scaler().fit_transform(df[NUMERIC].to_numpy()), **FAST)
    np.testing.assert_allclose(result.micro, expected.micro, rtol=0, atol=1e-10)
    assert result.preparation == Preparation(tuple(NUMERIC), ("city",), scale)
    again = SelectionResult.from_dict(json.loads(json.dumps(result.to_dict(), allow_nan=False)))
    assert again.preparation == result.preparation


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda c: c.select_k(columns=["city"]), ValueError, "'city' is not numeric.*get_dummies"),
        (lambda c: c.select_k(columns="spent"), ValueError, "Did you mean 'spend'"),
        (lambda c: c.select_k(by="city", checkpoint="c"), ValueError, "checkpoint cannot be combined with by="),
        (lambda c: c.cluster(1), ValueError, "k must be an integer of at least 2; got 1"),
        (lambda c: c.cluster(3, clustrer="gmm"), TypeError, "unexpected keyword argument 'clustrer'"),
        (lambda c: c.cluster(2000), ValueError, "must be smaller than the number of rows"),
        (lambda c: c.plot("pie"), ValueError, "kind must be one of 'curve', .*'comparison', 'silhouette', 'map'"),
        (lambda c: c.plot("map", labels=[0, 1]), ValueError, "one label for each of the 200 rows; got 2"),
        (lambda c: c.profile([0, 1]), ValueError, "one label for each of the 200 rows; got 2"),
        (lambda c: c.profile("city"), TypeError, "labels must contain one label per row.*got 'city'"),
        (lambda c: c.profile(np.zeros(200)), ValueError, "at least 2 clusters; got 1"),
        (lambda c: c.profile(pd.Series(range(200))), ValueError, "labels must have the same index as the frame"),
    ],
)
def test_invalid_arguments_raise(df, call, error, message):
    with pytest.raises(error, match=message):
        call(df.compsil)


@pytest.mark.parametrize(
    "call",
    [
        lambda c: c.select_k(**FAST),
        lambda c: c.select_k(by="city", **FAST),
        lambda c: c.cluster(3),
        lambda c: c.profile(ROWS % 3),
        lambda c: c.compare(criteria="micro", **FAST),
        lambda c: c.plot("curve", ax=Figure().subplots(), **FAST),
        lambda c: c.plot("comparison", ax=Figure().subplots(), criteria="micro", **FAST),
        lambda c: c.plot("silhouette", k=3, ax=Figure().subplots()),
        lambda c: c.plot("map", labels=ROWS % 3, ax=Figure().subplots()),
    ],
)
def test_column_warnings_point_to_the_calling_line(df, call):
    odd = df.assign(one=1.0, row=ROWS, copy=df["age"])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(odd.compsil)
    lines, first = inspect.getsourcelines(call)
    assert {(w.category, w.filename) for w in caught} == {(ColumnWarning, __file__)}
    assert {w.lineno for w in caught} <= set(range(first, first + len(lines)))
    assert [str(w.message).split()[1] for w in caught] == ["'one'", "'copy'", "'row'"]


def test_labels_are_categorical_and_numbered_by_cluster_size(df, scaled):
    labels = df.compsil.cluster(3)
    assert (labels.index.equals(df.index), labels.name) == (True, "cluster")
    assert labels.cat.categories.tolist() == [0, 1, 2]
    assert labels.value_counts().reindex([0, 1, 2]).tolist() == [120, 50, 30]
    assert same_partition(labels, KMeans(3, n_init=10, random_state=0).fit_predict(scaled))
    pd.testing.assert_series_equal(labels, df.compsil.cluster(3))
    assert df.compsil.cluster(**FAST).nunique() == df.compsil.select_k(**FAST).best_k


@pytest.mark.parametrize("random_state", [0, np.int64(7), range(4)])
def test_labels_match_the_estimator(scaled, random_state):
    noise = scaled + np.random.default_rng(0).normal(size=scaled.shape)
    model = CompositeSilhouette(ks=[6], n_subsamples=4, random_state=random_state).fit(noise)
    frame = pd.DataFrame(noise)
    assert same_partition(frame.compsil.cluster(6, scale=None, random_state=random_state), model.labels_)
    selected = frame.compsil.cluster(scale=None, ks=[6], n_subsamples=4, random_state=random_state)
    assert same_partition(selected, model.labels_)


@pytest.mark.parametrize("name", sorted(settings_of(SelectionConfig, Events).keys() - set(CLUSTER_SETTINGS)))
def test_settings_that_do_not_affect_a_given_k_raise(df, name):
    default = settings_of(SelectionConfig, Events)[name].default
    message = rf"^{name} cannot be passed with k=3, because only clusterer, metric, random_state affect "
    with pytest.raises(TypeError, match=message):
        df.compsil.cluster(3, **{name: default})


def test_clusterer_may_be_a_function(df, scaled):
    labels = df.compsil.cluster(3, clusterer=lambda X, k, seed: np.digitize(X[:, 0], [0, 1]))
    assert same_partition(labels, np.digitize(scaled[:, 0], [0, 1]))


def test_profile_matches_groupby_and_scikit_learn(df, scaled):
    labels = df.compsil.cluster(3)
    found = df.compsil.profile(labels)
    assert (found.index.tolist(), found.index.name) == ([0, 1, 2], "cluster")
    assert found["cluster"].columns.tolist() == ["size", "share", "silhouette"]
    y = np.asarray(labels)
    groups = df[NUMERIC].groupby(y)
    assert found[("cluster", "size")].tolist() == groups.size().tolist()
    np.testing.assert_allclose(found[("cluster", "share")], groups.size() / 200)
    for name in NUMERIC:
        np.testing.assert_allclose(found[(name, "mean")], groups[name].mean(), rtol=1e-12)
        np.testing.assert_allclose(found[(name, "std")], groups[name].std(), rtol=1e-12)
    points = pd.Series(silhouette_samples(scaled, y)).groupby(y).mean()
    np.testing.assert_allclose(found[("cluster", "silhouette")], points, rtol=0, atol=1e-10)
    unscaled = df.compsil.profile(labels, scale=None, metric="manhattan")
    pd.testing.assert_frame_equal(unscaled[NUMERIC], found[NUMERIC])
    points = pd.Series(silhouette_samples(df[NUMERIC], y, metric="manhattan")).groupby(y).mean()
    np.testing.assert_allclose(unscaled[("cluster", "silhouette")], points, rtol=0, atol=1e-10)


def test_profile_skips_rows_without_a_label_or_value(df):
    labels = df.compsil.cluster(3).where(ROWS >= 10)
    incomplete = df.assign(age=df["age"].mask(ROWS >= 195))
    assert incomplete.compsil.profile(labels)[("cluster", "size")].sum() == 185
    with pytest.raises(ValueError, match=r"missing values in 'age' \(5\)"):
        incomplete.compsil.profile(labels, missing="raise")


@pytest.mark.parametrize(
    "kind",
    [
        lambda y: np.array(["u", "v", "w"])[y],
        lambda y: y.tolist(),
        lambda y: y == 1,
        # With NA, a NumPy array would contain floats.
        lambda y: pd.Categorical.from_codes(y - 1, [10, 20]),
    ],
)
def test_labels_may_have_any_type(df, ax, kind):
    given = kind(ROWS % 3)
    names = pd.Series(given).dropna().drop_duplicates().sort_values().tolist()
    assert df.compsil.profile(given).index.tolist() == names
    assert df.compsil.profile(pd.Series(given, index=df.index)).index.tolist() == names
    plotted = df.compsil.plot("silhouette", labels=given, ax=ax)
    assert [text.get_text().split()[0] for text in plotted.get_yticklabels()] == [str(name) for name in names]


def test_compare_and_its_plot_match_the_engine(df, scaled, ax):
    found = df.compsil.compare(criteria=["composite", "davies-bouldin"], **FAST)
    assert isinstance(found, Comparison)
    expected = compare(scaled, criteria=["composite", "davies-bouldin"], **FAST)
    np.testing.assert_allclose(found.values, expected.values, rtol=0, atol=1e-10)
    assert found.selection.preparation.columns == tuple(NUMERIC)
    assert df.compsil.plot("comparison", criteria=["composite", "elbow"], ax=ax, **FAST) is ax
    assert [text.get_text() for text in ax.get_yticklabels()] == ["composite silhouette", "inertia (elbow)"]


@pytest.mark.parametrize("kind", ["curve", "weights", "convergence", "probability", "stability"])
def test_plot_matches_the_plot_of_the_result(df, ax, kind):
    expected = df.compsil.select_k(**FAST).plot(kind, ax=Figure().subplots())
    # The curve is the default.
    assert df.compsil.plot(*[kind] * (kind != "curve"), ax=ax, **FAST) is ax
    assert ax.get_title(loc="left") == expected.get_title(loc="left") != ""


def test_silhouette_plot_shows_clusters_and_averages(df, scaled, ax):
    assert df.compsil.plot("silhouette", k=3, ax=ax) is ax
    assert [text.get_text() for text in ax.get_yticklabels()] == ["0  (120)", "1  (50)", "2  (30)"]
    y = np.asarray(df.compsil.cluster(3))
    scores = silhouettes(scaled, y)
    assert [line.get_xdata()[0] for line in ax.lines] == pytest.approx([scores.micro, scores.macro])
    plain = df.compsil.plot("silhouette", labels=y, scale=None, metric="manhattan", ax=Figure().subplots())
    assert plain.lines[0].get_xdata()[0] == pytest.approx(silhouette_samples(df[NUMERIC], y, metric="manhattan").mean())


@pytest.mark.parametrize("labelled", [True, False])
def test_map_shows_only_complete_rows(df, ax, labelled):
    incomplete = df.assign(age=df["age"].mask(ROWS < 4))
    given = {"labels": df.compsil.cluster(3)} if labelled else {"k": 3, "missing": "drop"}
    incomplete.compsil.plot("map", ax=ax, **given)
    assert sum(len(points.get_offsets()) for points in ax.collections) == 196
    assert [text.get_text() for text in ax.texts] == ["0", "1", "2"]
    # A plot of given labels omits incomplete rows; a clustering omits them only if requested.
    with pytest.raises(ValueError, match="'age'"):
        incomplete.compsil.plot("map", k=3, ax=ax)
