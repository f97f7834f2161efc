"""``CompositeSilhouette`` as scikit-learn expects an estimator to be."""

from __future__ import annotations

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib.figure import Figure
from scipy import sparse
from sklearn.base import clone, is_clusterer
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.metrics import pairwise_distances
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator
from tables import columns_of, write_parquet

from compsil_kit import CompositeSilhouette, SelectionResult, select_k, silhouettes

mpl.use("agg")
X = np.random.default_rng(5).normal(np.repeat([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]], 30, axis=0))
DEFAULT = CompositeSilhouette().ks
SETTINGS = {"ks": (2, 3, 4), "n_subsamples": 4, "sample_size": 60}


def make(**keywords):
    return CompositeSilhouette(**{**SETTINGS, **keywords})


def halves(X, k, seed):
    return np.arange(X.shape[0]) % k


@pytest.mark.parametrize(
    "estimator",
    [
        CompositeSilhouette(),
        CompositeSilhouette(ks=(2, 3), n_subsamples=3),
        CompositeSilhouette(ks=(2,), n_subsamples=2, clusterer="gmm"),
        CompositeSilhouette(ks=(2,), n_subsamples=2, clusterer=AgglomerativeClustering()),
    ],
    ids=repr,
)
def test_scikit_learn_finds_nothing_wrong(estimator):
    checks = check_estimator(estimator, on_skip=None)
    assert len(checks) > 40
    # The one check that scikit-learn itself leaves out here needs an array library beside NumPy.
    assert {check["check_name"] for check in checks if check["status"] != "passed"} <= {"check_array_api_input"}


def test_fit_is_select_k_and_a_fit_with_its_choice():
    model = make().fit(X)
    result = select_k(X, **SETTINGS)
    assert isinstance(model.result_, SelectionResult)
    assert np.array_equal(model.result_.micro, result.micro)
    assert (model.best_k_, model.best_score_) == (result.best_k, result.best_score)
    final = KMeans(model.best_k_, n_init=10, random_state=result.plan.seeds[0]).fit(X)
    assert np.array_equal(model.labels_, final.labels_)
    assert np.array_equal(model.predict(X), model.labels_)
    assert np.array_equal(make().fit_predict(X), model.labels_)
    assert model.best_estimator_.n_clusters == model.best_k_ == 3


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, np.float32, pd.DataFrame, pl.DataFrame])
def test_predict_takes_what_fit_takes_down_to_one_row(form):
    model = make().fit(form(X))
    for n_rows in (1, 7):
        assert model.predict(form(X[:n_rows])).tolist() == model.labels_[:n_rows].tolist()


def test_predict_checks_its_data_and_takes_other_precisions():
    model = make().fit(X)
    assert np.array_equal(model.predict(X.astype(np.float32)), model.labels_)
    narrow = make().fit(X.astype(np.float32))
    assert np.array_equal(narrow.predict(X), narrow.labels_)
    with pytest.raises(ValueError, match="NaN at row 0, column 1"):
        model.predict([[0.0, np.nan]])
    with pytest.raises(ValueError, match="X must have at least 1 row; got 0"):
        model.predict(np.empty((0, 2)))


@pytest.mark.parametrize("clusterer", [halves, "agglomerative", "spectral"])
def test_clusterers_that_cannot_label_new_points_have_no_predict(clusterer):
    model = make(clusterer=clusterer).fit(X)
    assert len(model.labels_) == len(X)
    assert (model.best_estimator_ is None) is (clusterer is halves)
    assert not hasattr(model, "predict")
    with pytest.raises(AttributeError, match="predict"):
        model.predict(X)


def test_without_refit_there_is_only_the_choice():
    refitted = make().fit(X)
    for model in (make(refit=False).fit(X), refitted.set_params(refit=False).fit(X * 2)):
        assert model.best_k_ == 3
        for name in ("best_estimator_", "labels_", "predict", "fit_predict"):
            assert not hasattr(model, name)


@pytest.mark.parametrize(("name", "value"), [("n_subsamples", 2.5), ("transform", 0), ("refit", 1), ("refit", None)])
def test_parameters_are_checked_in_fit_not_before(name, value):
    model = make().set_params(**{name: value})
    with pytest.raises(TypeError, match=f"^{name} must be"):
        model.fit(X)


@pytest.mark.parametrize(("n_rows", "ks"), [(3, (2,)), (6, (2, 3, 4, 5)), (90, tuple(range(2, 11)))])
def test_the_default_counts_end_where_the_rows_do(n_rows, ks):
    assert CompositeSilhouette(n_subsamples=2).fit(X[:: 90 // n_rows]).result_.ks == ks


@pytest.mark.parametrize(("asked", "n_rows"), [(range(2, 11), 6), (np.arange(2, 11), 6), (DEFAULT, 2)], ids=str)
def test_too_few_rows(asked, n_rows):
    with pytest.raises(ValueError, match="ks must be smaller than the number of rows"):
        CompositeSilhouette(ks=asked, n_subsamples=2).fit(X[:n_rows])


PARAMS = {**SETTINGS, "clusterer": KMeans(n_init=3), "transform": "step", "rule": "lcb", "z": 2.0, "random_state": 7}


def test_parameters_survive_clone_and_set_params_and_reach_the_selection():
    model = CompositeSilhouette(**PARAMS)
    before = dict(vars(PARAMS["clusterer"]))
    result, expected = model.fit(X).result_, select_k(X, **PARAMS)
    assert np.array_equal(result.weights, expected.weights)
    assert (result.rule, result.z, result.transform) == ("lcb", 2.0, "step")
    assert vars(model.clusterer) == before
    twin = clone(model)
    assert twin is not model
    assert twin.clusterer is not model.clusterer
    for name, value in PARAMS.items():
        if name != "clusterer":
            assert twin.get_params()[name] == value
    twin.set_params(transform="linear", clusterer__n_init=5, ks=(3,))
    assert (twin.get_params()["transform"], twin.clusterer.n_init, twin.ks) == ("linear", 5, (3,))
    assert (model.get_params()["transform"], model.clusterer.n_init) == ("step", 3)
    with pytest.raises(ValueError, match="Invalid parameter 'n_clusters'"):
        twin.set_params(n_clusters=3)


def test_deep_parameters_include_those_of_the_clusterer():
    deep = make(clusterer=GaussianMixture(tol=0.5)).get_params()
    shallow = make(clusterer=GaussianMixture(tol=0.5)).get_params(deep=False)
    assert deep["clusterer__tol"] == 0.5
    assert "clusterer__tol" not in shallow
    assert "clusterer__tol" not in make(clusterer=GaussianMixture).get_params()


def test_it_is_a_clusterer_and_no_transformer_and_ends_a_pipeline():
    model = make()
    assert is_clusterer(model)
    assert not hasattr(model, "transform")
    assert not hasattr(CompositeSilhouette, "transform")
    with pytest.raises(AttributeError, match=r"'transform' is a parameter, not a method: read get_params"):
        model.transform  # noqa: B018  (reading is what raises)
    pipeline = make_pipeline(StandardScaler(), model).fit(X)
    alone = make().fit(StandardScaler().fit_transform(X))
    assert np.array_equal(pipeline.predict(X), alone.labels_)
    assert not hasattr(pipeline, "transform")
    assert not hasattr(pipeline, "fit_transform")


def test_its_text_shows_what_was_changed():
    assert repr(CompositeSilhouette(ks=(2, 3))) == "CompositeSilhouette(ks=(2, 3))"
    assert "transform=" in repr(make(transform=np.abs))
    assert "CompositeSilhouette" in make()._repr_html_()


@pytest.mark.parametrize("table", [pd.DataFrame, lambda data: pl.DataFrame(data.to_dict("list"))])
def test_names_of_features_are_kept_and_compared(table):
    data = pd.DataFrame(X, columns=["width", "height"])
    model = make().fit(table(data))
    assert model.feature_names_in_.tolist() == ["width", "height"]
    assert model.n_features_in_ == 2
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(table(data[["height", "width"]]))
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        assert np.array_equal(model.predict(X), model.labels_)


def test_distances_in_place_of_points():
    model = make(metric="precomputed", clusterer="agglomerative").fit(pairwise_distances(X))
    assert model.best_k_ == make(clusterer=AgglomerativeClustering(linkage="average")).fit(X).best_k_
    assert not hasattr(model, "predict")


TAGS = [
    ({}, True, False),
    ({"clusterer": "gmm"}, False, False),
    ({"clusterer": halves}, True, False),
    ({"metric": "cosine"}, True, False),
    ({"metric": "chebyshev"}, False, False),
    ({"metric": "precomputed", "clusterer": "agglomerative"}, False, True),
    ({"metric": "no such metric"}, False, False),
    ({"clusterer": 3}, False, False),
]


@pytest.mark.parametrize(("keywords", "takes_sparse", "pairwise"), TAGS)
def test_tags_tell_what_it_takes(keywords, takes_sparse, pairwise):
    tags = get_tags(make(**keywords)).input_tags
    assert (tags.sparse, tags.pairwise) == (takes_sparse, pairwise)


def test_a_clusterer_that_is_not_installed_has_the_usual_tags(monkeypatch):
    def missing(clusterer, metric):
        raise ImportError("not installed")

    monkeypatch.setattr("compsil_kit.config.resolve_clusterer", missing)
    assert not get_tags(make()).input_tags.sparse


@pytest.fixture(scope="module")
def labelled():
    return make_blobs([100, 60, 40], 4, cluster_std=1.5, random_state=0)


@pytest.fixture
def ax():
    return Figure(figsize=(7.2, 4.2), layout="constrained").subplots()


@pytest.fixture(scope="module")
def fitted(labelled):
    return CompositeSilhouette(ks=[3], n_subsamples=2).fit(labelled[0])


both = pytest.mark.parametrize("draw", ["plot_silhouette", "plot_map"])


@both
def test_the_estimator_draws_its_labels(fitted, labelled, ax, draw, monkeypatch):
    """On axes, or in a new figure that is not shown."""
    assert getattr(fitted, draw)(labelled[0], ax=ax) is ax
    monkeypatch.setattr(plt, "show", lambda *_: pytest.fail("shown"))
    before = plt.get_fignums()
    new = getattr(fitted, draw)(labelled[0])
    assert plt.get_fignums() == [*before, new.figure.number]
    plt.close(new.figure)
    for axes in (ax, new):
        assert axes.get_title(loc="left").startswith("k = 3")
        assert len(axes.collections) == 3


@both
def test_other_data_are_refused(fitted, labelled, draw):
    for rows in (range(150), [*range(200), 0]):
        with pytest.raises(ValueError, match=f"X must be the data that was fitted, 200 rows; got {len(rows)}"):
            getattr(fitted, draw)(labelled[0][rows])


@both
def test_without_labels_there_is_nothing_to_draw(labelled, draw):
    for model in (make(), make(refit=False).fit(labelled[0])):
        with pytest.raises(NotFittedError, match="not fitted"):
            getattr(model, draw)(labelled[0])


def test_the_estimators_metric_is_used(labelled, ax):
    X, _ = labelled
    model = CompositeSilhouette(ks=[3], n_subsamples=2, metric="precomputed", clusterer="agglomerative")
    distances = pairwise_distances(X, metric="manhattan")
    model.fit(distances).plot_silhouette(distances, ax=ax)
    assert ax.lines[0].get_xdata()[0] == pytest.approx(silhouettes(X, model.labels_, metric="manhattan").micro)


def test_a_table_outside_memory_is_loaded(tmp_path):
    place = write_parquet(tmp_path / "a.parquet", columns_of(500))
    model = CompositeSilhouette(ks=[2, 3], n_subsamples=2).fit(place)
    expected = CompositeSilhouette(ks=[2, 3], n_subsamples=2).fit(pd.read_parquet(place))
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    assert model.feature_names_in_.tolist() == ["x0", "x1", "x2"]
    np.testing.assert_array_equal(model.predict(str(place)), model.labels_)
