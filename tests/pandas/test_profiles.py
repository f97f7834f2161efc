"""What the clusters of a frame are like, and labels of every kind put on its index."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.datasets import make_blobs
from sklearn.metrics import silhouette_samples
from sklearn.preprocessing import StandardScaler

from compsil_pandas.profiles import align

mpl.use("agg")
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


def test_profile_against_plain_groupby(df, scaled):
    labels = df.compsil.cluster(3)
    profile = df.compsil.profile(labels)
    assert profile.index.tolist() == [0, 1, 2]
    assert profile.index.name == "cluster"
    assert profile["cluster"].columns.tolist() == ["size", "share", "silhouette"]
    groups = df[NUMERIC].groupby(np.asarray(labels))
    assert profile[("cluster", "size")].tolist() == groups.size().tolist()
    np.testing.assert_allclose(profile[("cluster", "share")], groups.size() / 200)
    for name in NUMERIC:
        np.testing.assert_allclose(profile[(name, "mean")], groups[name].mean(), rtol=1e-12)
        np.testing.assert_allclose(profile[(name, "std")], groups[name].std(), rtol=1e-12)
    points = pd.Series(silhouette_samples(scaled, np.asarray(labels))).groupby(np.asarray(labels)).mean()
    np.testing.assert_allclose(profile[("cluster", "silhouette")], points, rtol=0, atol=1e-10)


def test_profile_in_own_units_whatever_the_scale(df):
    labels = df.compsil.cluster(3)
    plain, scaled = (df.compsil.profile(labels, scale=scale) for scale in (None, "minmax"))
    pd.testing.assert_frame_equal(plain[NUMERIC], scaled[NUMERIC])
    assert not np.allclose(plain[("cluster", "silhouette")], scaled[("cluster", "silhouette")])


def test_profile_leaves_out_rows_without_label_or_value(df):
    labels = df.compsil.cluster(3).where(np.arange(200) >= 10)
    holes = df.assign(age=df["age"].mask(np.arange(200) >= 195))
    profile = holes.compsil.profile(labels)
    assert profile[("cluster", "size")].sum() == 185
    assert profile[("cluster", "share")].sum() == pytest.approx(1)
    with pytest.raises(ValueError, match=r"missing values in 'age' \(5\)"):
        holes.compsil.profile(labels, missing="raise")


@pytest.mark.parametrize(
    "kind",
    [
        lambda y: np.array(["u", "v", "w"])[y],
        lambda y: y.tolist(),
        lambda y: pd.Categorical.from_codes(y, ["u", "v", "w"]),
        lambda y: pd.array(y, dtype="Int64"),
        lambda y: pd.array(np.array(["u", "v", "w"])[y], dtype="string"),
        lambda y: y == 1,
    ],
)
def test_labels_of_every_kind(df, ax, kind):
    y = np.arange(200) % 3
    given = kind(y)
    names = pd.Series(given).drop_duplicates().sort_values().tolist()
    assert df.compsil.profile(given).index.tolist() == names
    assert df.compsil.profile(pd.Series(given, index=df.index)).index.tolist() == names
    drawn = df.compsil.plot("silhouette", labels=given, ax=ax)
    assert [text.get_text().split()[0] for text in drawn.get_yticklabels()] == [str(name) for name in names]


def test_whole_numbers_beside_na_stay_whole(df):
    labels = pd.Categorical.from_codes(np.arange(200) % 4 - 1, [10, 20, 30])
    assert df.compsil.profile(labels).index.tolist() == [10, 20, 30]


def test_a_cluster_of_one_has_no_spread(df):
    profile = df.compsil.profile(np.r_[1, np.zeros(199)])
    assert profile.loc[1, ("cluster", "size")] == 1
    assert profile.loc[1, ("cluster", "silhouette")] == 0
    assert np.isnan(profile.loc[1, ("age", "std")])


def test_labels_are_put_on_the_index_of_the_frame(df):
    y = np.arange(200) % 3
    given = pd.Series(y, index=df.index)
    assert align(given, df) is given
    for labels in (y, y.tolist(), pd.array(y, dtype="Int64")):
        found = align(labels, df)
        assert found.index.equals(df.index)
        assert found.tolist() == y.tolist()
    assert str(align(pd.array(y, dtype="Int64"), df).dtype) == "Int64"


@pytest.mark.parametrize(
    ("labels", "error", "message"),
    [
        ("city", TypeError, "labels must hold one label per row, as a Series or an array; got 'city'"),
        (3, TypeError, "labels must hold one label per row"),
        (np.zeros(199), ValueError, "one label for each of the 200 rows; got 199"),
        (pd.Series(np.zeros(200)), ValueError, "labels must have the index of the frame"),
    ],
)
def test_labels_that_do_not_belong_to_the_frame(df, labels, error, message):
    with pytest.raises(error, match=message):
        align(labels, df)
