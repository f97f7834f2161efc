"""``df.compsil``: what it returns, what it warns of, and that it leaves the frame alone."""

import inspect
import json
import subprocess
import sys
import warnings

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import silhouette_samples
from sklearn.preprocessing import StandardScaler

import compsil_pandas
from compsil_kit import Comparison, CompositeSilhouette, SelectionResult, compare, select_k, silhouettes
from compsil_kit.datasets import imbalanced_blobs
from compsil_pandas import ColumnWarning, CompsilAccessor

mpl.use("agg")
FAST = {"ks": [2, 3, 4], "n_subsamples": 4}
NUMERIC = ["age", "spend", "visits"]


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


def one_to_one(first, second):
    """Tell whether two labelings are the same but for the names."""
    pairs = set(zip(np.asarray(first).tolist(), np.asarray(second).tolist(), strict=True))
    return len(pairs) == len(set(np.asarray(first).tolist())) == len(set(np.asarray(second).tolist()))


# Registration.


def test_importing_and_reloading_registers_once():
    """In a process of its own: reloading makes new classes, which would part ways with those imported here."""
    code = """
import importlib, pandas, compsil_pandas, compsil_pandas.accessor
first = pandas.DataFrame.compsil
import compsil_pandas
importlib.reload(compsil_pandas.accessor)
importlib.reload(compsil_pandas)
assert pandas.DataFrame.compsil is first
frame = pandas.DataFrame({"a": [0, 0, 1, 1, 9, 9]})
assert frame.compsil.select_k(ks=[2], n_subsamples=2).best_k == 2
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_accessor_holds_nothing_but_the_frame(df):
    accessor = df.compsil
    accessor.select_k(**FAST)
    assert list(vars(accessor).values()) == [df]
    df["more"] = np.sin(np.arange(200))
    assert df.compsil.select_k(**FAST).preparation.columns == (*NUMERIC, "more")


def test_a_column_named_compsil_is_reached_by_brackets(df):
    named = df.assign(compsil=np.arange(200) % 7)
    assert isinstance(named.compsil, pd.DataFrame.compsil)
    assert named.compsil.select_k(**FAST).preparation.columns == (*NUMERIC, "compsil")
    assert named["compsil"].max() == 6


def test_the_frame_is_never_changed(df, ax):
    before = df.copy()
    labels = df.compsil.cluster(3)
    df.compsil.select_k(**FAST)
    df.compsil.select_k(by="city", **FAST)
    df.compsil.profile(labels)
    df.compsil.compare(criteria=["composite", "full-micro"], **FAST)
    df.compsil.plot("map", labels=labels, ax=ax)
    pd.testing.assert_frame_equal(df, before)
    assert df.attrs == {}


def test_a_clusterer_that_writes_into_its_input_reaches_no_frame(df):
    def greedy(X, k, seed):
        X *= 0
        return np.arange(len(X)) % k

    numbers = df[NUMERIC].astype("float64")
    before = numbers.copy()
    with pytest.raises(ValueError, match="read-only"):
        numbers.compsil.cluster(3, scale=None, clusterer=greedy)
    pd.testing.assert_frame_equal(numbers, before)


# Selecting.


def test_select_k_is_the_engine_on_the_prepared_columns(df, scaled):
    result = df.compsil.select_k(**FAST)
    assert isinstance(result, SelectionResult)
    np.testing.assert_allclose(result.micro, select_k(scaled, **FAST).micro, rtol=0, atol=1e-12)
    done = result.preparation
    assert (done.columns, done.left_out, done.scale, done.n_dropped, done.notes) == (
        tuple(NUMERIC), ("city",), "standard", 0, (),
    )  # fmt: skip
    assert "left out as not numeric: city" in result.explain()
    again = SelectionResult.from_dict(json.loads(json.dumps(result.to_dict(), allow_nan=False)))
    assert again.preparation == done


@pytest.mark.parametrize("scale", ["standard", "robust", "minmax", None])
def test_the_scale_reaches_the_engine(df, scale):
    from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, RobustScaler

    scaler = {"standard": StandardScaler, "robust": RobustScaler, "minmax": MinMaxScaler, None: FunctionTransformer}
    expected = select_k(scaler[scale]().fit_transform(df[NUMERIC].to_numpy()), **FAST)
    found = df.compsil.select_k(scale=scale, **FAST)
    np.testing.assert_allclose(found.scores, expected.scores, rtol=0, atol=1e-10)
    assert found.preparation.scale == scale


def test_the_paper_set():
    X, _ = imbalanced_blobs()
    assert pd.DataFrame(X, columns=["x", "y"]).compsil.select_k(ks=range(2, 8), n_subsamples=30).best_k == 5


def test_dropped_rows_are_counted(df):
    holes = df.assign(age=df["age"].mask(np.arange(200) < 9))
    with pytest.raises(ValueError, match=r"missing values in 'age' \(9\)"):
        holes.compsil.select_k(**FAST)
    result = holes.compsil.select_k(missing="drop", **FAST)
    assert result.preparation.n_dropped == 9
    assert result.plan.n_rows == 191
    assert "9 rows with missing values dropped" in result.explain()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda c: c.select_k(columns=["city"]), ValueError, "'city' is not numeric.*get_dummies"),
        (lambda c: c.select_k(columns="spent"), ValueError, "Did you mean 'spend'"),
        (lambda c: c.select_k(scale="log"), ValueError, "scale must be one of"),
        (lambda c: c.select_k(missing="keep"), ValueError, "missing must be one of"),
        (lambda c: c.select_k(kk=3), TypeError, "unexpected keyword argument 'kk'"),
        (lambda c: c.cluster(1), ValueError, "k must be an integer of at least 2; got 1"),
        (lambda c: c.cluster("3"), TypeError, "k must be an integer of at least 2; got '3'"),
        (lambda c: c.cluster(3, clustrer="gmm"), TypeError, "unexpected keyword argument 'clustrer'"),
        (lambda c: c.cluster(3, clusterer="gnm"), ValueError, "clusterer must be one of"),
        (lambda c: c.cluster(3, progress="yes"), TypeError, "progress must be"),
        (lambda c: c.cluster(3, random_state=1.5), TypeError, "random_state must be an integer"),
        (lambda c: c.cluster(2000), ValueError, "ks must be smaller than the number of rows"),
        (lambda c: c.plot("pie"), ValueError, "kind must be one of 'curve', .*'comparison', 'silhouette', 'map'"),
        (lambda c: c.plot("map", labels=[0, 1]), ValueError, "one label for each of the 200 rows; got 2"),
        (lambda c: c.profile([0, 1]), ValueError, "one label for each of the 200 rows; got 2"),
        (lambda c: c.profile("city"), TypeError, "labels must hold one label per row.*got 'city'"),
        (lambda c: c.profile(3), TypeError, "labels must hold one label per row.*got 3"),
        (lambda c: c.profile(np.zeros(200)), ValueError, "at least 2 clusters; got 1"),
        (lambda c: c.profile(pd.Series(range(200))), ValueError, "labels must have the index of the frame"),
        (lambda c: c.compare(criteria=["luck"]), ValueError, "criteria must be among"),
    ],
)
def test_mistakes(df, call, error, message):
    with pytest.raises(error, match=message):
        call(df.compsil)


# Warnings.

ODD = {"one": 1.0, "row": np.arange(200)}


@pytest.mark.parametrize(
    "call",
    [
        lambda c: c.select_k(**FAST),
        lambda c: c.select_k(by="city", **FAST),
        lambda c: c.cluster(3),
        lambda c: c.profile(np.arange(200) % 3),
        lambda c: c.compare(criteria="micro", **FAST),
        lambda c: c.plot("curve", ax=Figure().subplots(), **FAST),
        lambda c: c.plot("comparison", ax=Figure().subplots(), criteria="micro", **FAST),
        lambda c: c.plot("silhouette", k=3, ax=Figure().subplots()),
        lambda c: c.plot("map", labels=np.arange(200) % 3, ax=Figure().subplots()),
    ],
)
def test_odd_columns_are_warned_of_at_the_line_of_the_call(df, call):
    odd = df.assign(**ODD, copy=df["age"])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(odd.compsil)
    lines, first = inspect.getsourcelines(call)
    assert {w.category for w in caught} == {ColumnWarning}
    assert {w.filename for w in caught} == {__file__}
    assert {w.lineno for w in caught} <= set(range(first, first + len(lines)))
    assert [" ".join(str(w.message).split()[:3]) for w in caught] == [
        "column 'one' is",
        "column 'copy' repeats",
        "column 'row' looks",
    ]


def test_the_result_keeps_what_was_odd(df):
    with pytest.warns(ColumnWarning, match="column 'one' is constant"):
        result = df.assign(one=1).compsil.select_k(**FAST)
    assert result.preparation.notes == (
        "column 'one' is constant, without influence on the clusters. To exclude columns, pass columns=[...].",
    )
    assert result.preparation.notes[0] in result.warnings


# Clustering.


def test_labels_are_categorical_on_the_index_and_0_is_the_largest(df, scaled):
    labels = df.compsil.cluster(3)
    assert labels.index.equals(df.index)
    assert labels.name == "cluster"
    assert isinstance(labels.dtype, pd.CategoricalDtype)
    assert labels.cat.categories.tolist() == [0, 1, 2]
    assert labels.value_counts().reindex([0, 1, 2]).tolist() == [120, 50, 30]
    assert one_to_one(labels, KMeans(3, n_init=10, random_state=0).fit_predict(scaled))
    pd.testing.assert_series_equal(labels, df.compsil.cluster(3))


def test_without_k_the_selected_one_is_used(df):
    assert df.compsil.cluster(**FAST).nunique() == df.compsil.select_k(**FAST).best_k


@pytest.mark.parametrize("random_state", [0, 7, np.int64(7), range(4)])
def test_the_labels_are_those_of_the_estimator(df, scaled, random_state):
    noise = scaled + np.random.default_rng(0).normal(size=scaled.shape)
    model = CompositeSilhouette(ks=[6], n_subsamples=4, random_state=random_state).fit(noise)
    labels = pd.DataFrame(noise).compsil.cluster(6, scale=None, n_subsamples=4, random_state=random_state)
    assert one_to_one(labels, model.labels_)


def test_another_clusterer(df, scaled):
    by_name = df.compsil.cluster(3, clusterer="agglomerative")
    by_function = df.compsil.cluster(3, clusterer=lambda X, k, seed: (X[:, 0] > 0).astype(int) + (X[:, 0] > 1))
    assert one_to_one(by_function, np.digitize(scaled[:, 0], [0, 1]))
    assert by_name.value_counts().tolist() == [120, 50, 30]


def test_dropped_rows_have_no_label(df):
    gone = np.arange(200) % 20 == 0
    labels = df.assign(age=df["age"].mask(gone)).compsil.cluster(3, missing="drop")
    np.testing.assert_array_equal(labels.isna(), gone)
    whole = df[~gone].compsil.cluster(3)
    assert labels[~gone].tolist() == whole.tolist()


# Comparing, drawing, exploring.


def test_compare(df, scaled):
    found = df.compsil.compare(criteria=["composite", "davies-bouldin"], **FAST)
    assert isinstance(found, Comparison)
    expected = compare(scaled, criteria=["composite", "davies-bouldin"], **FAST)
    np.testing.assert_allclose(found.values, expected.values, rtol=0, atol=1e-10)
    assert found.selection.preparation.columns == tuple(NUMERIC)
    assert df.compsil.compare(criteria="elbow", **FAST).selection is None


def test_the_first_picture_is_the_curve(df, ax):
    said = df.compsil.plot(ax=ax, **FAST).get_title(loc="left")
    assert said == df.compsil.plot("curve", ax=Figure().subplots(), **FAST).get_title(loc="left")


@pytest.mark.parametrize("kind", ["curve", "weights", "convergence", "probability"])
def test_pictures_of_the_selection(df, ax, kind):
    result = df.compsil.select_k(**FAST)
    assert df.compsil.plot(kind, ax=ax, **FAST) is ax
    expected = result.plot(kind, ax=Figure().subplots())
    assert ax.get_title(loc="left") == expected.get_title(loc="left") != ""
    assert len(ax.lines) + len(ax.collections) + len(ax.patches) == len(expected.lines) + len(
        expected.collections
    ) + len(expected.patches)


def test_picture_of_the_comparison(df, ax):
    assert df.compsil.plot("comparison", criteria=["composite", "elbow"], ax=ax, **FAST) is ax
    assert [text.get_text() for text in ax.get_yticklabels()] == ["composite silhouette", "inertia (elbow)"]


def test_silhouettes_by_cluster(df, scaled, ax):
    assert df.compsil.plot("silhouette", k=3, ax=ax) is ax
    assert [text.get_text() for text in ax.get_yticklabels()] == ["0  (120)", "1  (50)", "2  (30)"]
    scores = silhouettes(scaled, np.asarray(df.compsil.cluster(3)))
    assert [line.get_xdata()[0] for line in ax.lines] == pytest.approx([scores.micro, scores.macro])


def test_silhouettes_in_another_metric(df, ax):
    y = np.asarray(df.compsil.cluster(3))
    df.compsil.plot("silhouette", labels=y, scale=None, metric="manhattan", ax=ax)
    assert ax.lines[0].get_xdata()[0] == pytest.approx(silhouette_samples(df[NUMERIC], y, metric="manhattan").mean())


@pytest.mark.parametrize("labels", ["made", "given", "given for dropped rows too"])
def test_map_of_the_rows_that_have_labels(df, ax, labels):
    holes = df.assign(age=df["age"].mask(np.arange(200) < 4))
    given = {"made": None, "given": holes.compsil.cluster(3, missing="drop")}.get(labels, df.compsil.cluster(3))
    holes.compsil.plot("map", k=3, labels=given, missing="drop", ax=ax)
    assert sum(len(points.get_offsets()) for points in ax.collections) == 196
    assert [text.get_text() for text in ax.texts] == ["0", "1", "2"]


def test_labels_alone_say_which_rows_are_drawn(df, ax):
    """Rows with missing values are refused where they would be clustered, not where they are only shown."""
    holes = df.assign(age=df["age"].mask(np.arange(200) < 4))
    holes.compsil.plot("map", labels=df.compsil.cluster(3), ax=ax)
    assert sum(len(points.get_offsets()) for points in ax.collections) == 196
    with pytest.raises(ValueError, match="'age'"):
        holes.compsil.plot("map", k=3, ax=ax)


def test_a_new_figure_is_returned_but_not_shown(df, monkeypatch):
    monkeypatch.setattr(plt, "show", lambda *_: pytest.fail("shown"))
    before = plt.get_fignums()
    ax = df.compsil.plot("map", k=3)
    assert plt.get_fignums() == [*before, ax.figure.number]
    plt.close(ax.figure)


def test_explore_without_widgets_names_the_extra(df, monkeypatch):
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    with pytest.raises(ImportError, match=r"explore\(\) needs the package 'ipywidgets'.*pip install ipywidgets"):
        df.compsil.explore()


def test_public_names():
    assert set(compsil_pandas.__all__) == {"ColumnWarning", "CompsilAccessor", "GroupSelection"}
    assert issubclass(ColumnWarning, UserWarning)
    assert {name for name in vars(CompsilAccessor) if not name.startswith("_")} == {
        "select_k", "cluster", "profile", "compare", "plot", "explore",
    }  # fmt: skip
