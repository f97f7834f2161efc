"""One selection per group: the table, the results, and the groups that have no answer."""

import warnings
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from compsil_kit import Interrupted
from compsil_pandas import ColumnWarning, GroupSelection
from compsil_pandas.groups import _key, key_names, select_groups

FAST = {"ks": [2, 3, 4], "n_subsamples": 3}
COLUMNS = ["n_rows", "best_k", "score", "sem", "probability", "runner_up", "lead", "problem"]


@pytest.fixture(scope="module")
def df():
    """North has three clusters, south two; the years tell nothing."""
    north, _ = make_blobs([60, 40, 20], centers=[(0, 0), (9, 0), (0, 9)], cluster_std=0.5, random_state=1)
    south, _ = make_blobs([60, 40], centers=[(0, 0), (9, 9)], cluster_std=0.5, random_state=1)
    return pd.DataFrame(np.r_[north, south], columns=["x", "y"]).assign(
        region=["north"] * 120 + ["south"] * 100, year=np.tile([2020, 2021], 110)
    )


def plain(df, **rows):
    """The selection of some rows by themselves."""
    part = df
    for name, value in rows.items():
        part = part[part[name] == value]
    return part[["x", "y"]].compsil.select_k(**FAST)


@pytest.mark.parametrize("by", ["region", ["region"], pd.Grouper(key="region")])
def test_one_key(df, by):
    found = df.drop(columns="year").compsil.select_k(by=by, **FAST)
    assert isinstance(found, GroupSelection)
    assert found.frame.index.tolist() == ["north", "south"]
    assert found.frame.index.name == "region"
    assert found.frame.columns.tolist() == COLUMNS
    assert found.frame["best_k"].tolist() == [3, 2]
    assert found.frame["best_k"].dtype == found.frame["runner_up"].dtype == "Int64"
    assert found.frame["n_rows"].tolist() == [120, 100]
    assert found.frame["problem"].tolist() == ["", ""]
    for name in ("north", "south"):
        expected = plain(df, region=name)
        np.testing.assert_array_equal(found[name].micro, expected.micro)
        row = found.frame.loc[name]
        assert row["score"] == expected.best_score
        assert row["sem"] == expected.sem[expected._best_index]
        assert row["probability"] == expected.selection_probability[expected._best_index]
        assert row["runner_up"] == expected.ks[expected._runner_up]
        assert row["lead"] == pytest.approx(expected._lead)


class ThenInterrupts:
    """A clusterer that works for so many calls and is then interrupted."""

    def __init__(self, n):
        self.left = n

    def __call__(self, X, k, seed):
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt
        return KMeans(k, n_init=1, random_state=seed).fit_predict(X)


# Three ks and three subsamples are nine calls for a group.
@pytest.mark.parametrize(("calls", "answers"), [(9 + 6, ["east", "north"]), (9, ["east"]), (0, [])])
def test_an_interrupt_keeps_what_is_finished(df, calls, answers):
    three = pd.concat([df, df[df["region"] == "north"].assign(region="east")]).drop(columns="year")
    with pytest.raises(Interrupted, match=rf"stopped after {min(calls // 9, 1)} of 3 groups; .* \.result") as stop:
        three.compsil.select_k(by="region", clusterer=ThenInterrupts(calls), n_jobs=1, **FAST)
    found = stop.value.result
    assert list(found) == answers
    assert found.frame.index.tolist() == ["east", "north", "south"]
    assert found.frame["problem"].tolist()[-1] == "not started: the run was interrupted."
    assert found.frame["n_rows"].tolist() == [120, 120, 100]
    if calls > 9:
        assert found["north"].partial
        assert found["north"].n_subsamples == 2
        assert found.frame["problem"].tolist()[:2] == ["", "interrupted."]
    with pytest.raises(KeyError, match="group 'south' has no answer: not started"):
        _ = found["south"]


def test_it_is_a_mapping(df):
    found = df.compsil.select_k(by="region", **FAST)
    assert list(found) == ["north", "south"]
    assert len(found) == 2
    assert dict(found.items()) == found.results
    assert "east" not in found
    with pytest.raises(KeyError, match="east"):
        found["east"]
    assert found == found
    assert found != df.compsil.select_k(by="region", **FAST)


def test_several_keys(df):
    found = df.compsil.select_k(by=["region", "year"], **FAST)
    assert found.frame.index.names == ["region", "year"]
    assert found.frame.index.tolist() == [("north", 2020), ("north", 2021), ("south", 2020), ("south", 2021)]
    assert found["south", 2021].best_k == found.frame.loc[("south", 2021), "best_k"] == 2
    np.testing.assert_array_equal(found["north", 2020].micro, plain(df, region="north", year=2020).micro)


@pytest.mark.parametrize(
    ("by", "name"),
    [
        (lambda df: df["region"].rename("where"), "where"),
        (lambda df: df["region"].to_numpy(), None),
        (lambda df: df["region"].tolist(), None),
        (lambda df: df["region"].to_dict(), None),
        (lambda df: lambda label: "north" if label < 120 else "south", None),
    ],
)
def test_keys_that_are_no_columns(df, by, name):
    numbers = df[["x", "y"]]
    found = numbers.compsil.select_k(by=by(df), **FAST)
    assert found.frame.index.name == name
    assert found.frame["best_k"].to_dict() == {"north": 3, "south": 2}
    assert found["north"].preparation.columns == ("x", "y")


def test_a_level_of_the_index(df):
    found = df.set_index(["region", "year"]).compsil.select_k(by="region", **FAST)
    assert found.frame["best_k"].to_dict() == {"north": 3, "south": 2}


def test_categories_without_rows_do_not_appear(df):
    kinds = pd.Categorical(df["region"], ["west", "south", "north"])
    found = df.assign(region=kinds).compsil.select_k(by="region", columns=["x", "y"], **FAST)
    assert found.frame.index.tolist() == list(found) == ["south", "north"]
    assert found["north"].best_k == 3


@pytest.mark.parametrize("missing", [np.nan, None, float("nan"), pd.NA])
def test_missing_keys_are_a_group(df, missing):
    unknown = df.assign(region=df["region"].where(df["region"] == "north"))
    found = unknown.compsil.select_k(by="region", columns=["x", "y"], **FAST)
    assert found.frame["best_k"].tolist() == [3, 2]
    assert found.frame.index.isna().tolist() == [False, True]
    assert found[missing].best_k == 2
    assert missing in found


def test_keys_as_a_dict_finds_them():
    for missing in (None, np.nan, float("nan"), pd.NA, pd.NaT):
        assert _key(missing) is np.nan
        assert _key(("a", (missing, 1))) == ("a", (np.nan, 1))
    for there in ("a", 0, False, pd.Interval(0, 1), ("a", 1)):
        assert _key(there) == there


def test_what_groups_by_a_name():
    by = [("a", ["a"]), (["a", 1], ["a", 1]), (pd.Grouper(key="a"), ["a"]), (("a", "b"), [("a", "b")])]
    for given, names in by:
        assert key_names(given) == names
    assert key_names([pd.Grouper(key="a"), np.arange(3), ["a"], "b"]) == ["a", "b"]


def test_missing_keys_beside_others(df):
    unknown = df.assign(region=df["region"].where(df["region"] == "north"))
    found = unknown.compsil.select_k(by=["region", "year"], **FAST)
    assert found.frame.index.get_level_values("region").isna().tolist() == [False, False, True, True]
    for missing in (np.nan, None, pd.NA):
        np.testing.assert_array_equal(found[missing, 2020].micro, plain(df, region="south", year=2020).micro)
    numeric = df.assign(part=pd.array([1] * 120 + [None] * 100, dtype="Int64"))
    assert numeric.compsil.select_k(by="part", columns=["x", "y"], **FAST)[pd.NA].best_k == 2


@pytest.mark.parametrize("by", ["year", ["year"], pd.Grouper(key="year")])
def test_the_keys_take_no_part_in_the_clustering(df, by):
    found = df.compsil.select_k(by=by, **FAST)
    assert found[2020].preparation.columns == ("x", "y")
    assert found[2020].preparation.left_out == ("region",)
    named = df.compsil.select_k(by=by, columns=["x", "year"], **FAST)
    assert named[2020].preparation.columns == ("x", "year")
    assert "'year' is constant" in named[2020].preparation.notes[0]


def test_keys_with_odd_names(df):
    numbered = df.set_axis([0, 1, 2, 3], axis=1)
    found = numbered.compsil.select_k(by=3, **FAST)
    assert found.frame.index.name == 3
    assert found[2021].preparation.columns == ("0", "1")
    levels = df[["x", "y", "year"]].set_axis(pd.MultiIndex.from_tuples([("q", "x"), ("p", "y"), ("q", "z")]), axis=1)
    assert levels.compsil.select_k(by=[("q", "z")], **FAST)[2020].preparation.columns == ("q, x", "p, y")
    tuples = df.assign(pair=[(1, 2), (3, 4)] * 110)
    assert tuples.compsil.select_k(by="pair", columns=["x", "y"], **FAST)[(3, 4)].plan.n_rows == 110


def test_small_groups_are_reported_with_a_warning(df):
    few = pd.concat([df, df.head(3).assign(region="tiny"), df.tail(4).assign(region="tiny too")])
    with pytest.warns(
        UserWarning, match=r"2 of 4 groups have no answer: tiny, tiny too\. .*for tiny: ks must be"
    ) as caught:
        found = few.compsil.select_k(by="region", columns=["x", "y"], **FAST)
    assert caught[0].filename == __file__
    assert found.frame.index.tolist() == ["north", "south", "tiny", "tiny too"]
    assert found.frame["n_rows"].tolist() == [120, 100, 3, 4]
    assert found.frame["best_k"].isna().tolist() == [False, False, True, True]
    assert found.frame.loc["tiny", "problem"].startswith("ks must be smaller than the number of rows")
    assert list(found) == ["north", "south"]
    assert list(found.problems) == ["tiny", "tiny too"]
    with pytest.raises(KeyError, match="group 'tiny' has no answer: ks must be smaller"):
        found["tiny"]
    assert "tiny too" in repr(found)
    assert found.frame.loc["tiny", "problem"] in repr(found)
    assert found.frame.loc["tiny", "problem"] in Reader(found._repr_html_()).text


def test_all_groups_too_small(df):
    with pytest.warns(UserWarning, match="2 of 2 groups have no answer"):
        found = df.iloc[[0, 1, 130]].compsil.select_k(by="region", **FAST)
    assert len(found) == 0
    assert found.frame["best_k"].isna().all()
    assert found.frame["score"].isna().all()
    assert found.frame["n_rows"].tolist() == [2, 1]


def test_many_groups_without_an_answer_are_counted():
    few = pd.DataFrame({"x": np.arange(24.0) ** 2, "g": np.arange(24) // 2})
    with pytest.warns(UserWarning, match=r"12 of 12 groups.*: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more\. The column"):
        few.compsil.select_k(by="g", **FAST)


def test_a_clusterer_that_fails_on_one_group(df):
    def picky(X, k, seed):
        if len(X) == 100:
            raise ValueError("not these")
        return np.arange(len(X)) % k

    with pytest.warns(UserWarning, match="1 of 2 groups have no answer: south"):
        found = df.compsil.select_k(by="region", columns=["x", "y"], clusterer=picky, **FAST)
    assert "not these" in found.frame.loc["south", "problem"]
    assert list(found) == ["north"]


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"by": "regoin"}, KeyError, "regoin"),
        ({"by": "region", "scale": "log"}, ValueError, "scale must be one of"),
        ({"by": "region", "columns": ["z"]}, ValueError, "'z' is not a column of the data"),
        ({"by": "region", "columns": ["region"]}, ValueError, "'region' is not numeric"),
        ({"by": "region", "kk": 3}, TypeError, "unexpected keyword argument 'kk'"),
        ({"by": "region", "ks": "few"}, TypeError, "ks must be integers"),
    ],
)
def test_mistakes_are_raised_rather_than_reported_for_each_group(df, settings, error, message):
    with pytest.raises(error, match=message):
        df.compsil.select_k(**settings)


def test_missing_values_are_refused_or_dropped(df):
    holes = df.assign(x=df["x"].mask(df.index < 5))
    with pytest.raises(ValueError, match=r"missing values in 'x' \(5\)"):
        holes.compsil.select_k(by="region", **FAST)
    found = holes.compsil.select_k(by="region", missing="drop", **FAST)
    assert [found[name].preparation.n_dropped for name in found] == [5, 0]
    assert found.frame["n_rows"].tolist() == [120, 100]


def test_odd_columns_are_told_once(df):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        df.assign(one=1).compsil.select_k(by="region", **FAST)
    assert [(w.category, w.filename) for w in caught] == [(ColumnWarning, __file__)]


def test_a_single_candidate_has_no_runner_up(df):
    found = df.compsil.select_k(by="region", ks=[3], n_subsamples=2)
    assert found.frame["runner_up"].isna().all()
    assert found.frame["lead"].isna().all()


class Reader(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.text += data


def test_html_is_escaped(df):
    attack = "<script>alert(1)</script>"
    given = df.assign(region=df["region"].replace("south", attack)).rename(columns={"region": attack})
    page = Reader(given.compsil.select_k(by=attack, **FAST)._repr_html_())
    assert "script" not in page.tags
    assert page.text.count(attack) == 2


def test_one_checkpoint_for_all_groups_is_refused(df, tmp_path):
    with pytest.raises(ValueError, match=r"checkpoint cannot be shared by groups. Leave out by="):
        df.compsil.select_k(by="region", checkpoint=tmp_path / "c.json", **FAST)


def refuse(part):
    raise ValueError(f"only {len(part)} rows")


@pytest.mark.parametrize(("n_groups", "last"), [(9, "8"), (10, "9"), (11, "9 and 1 more"), (30, "9 and 20 more")])
def test_of_many_groups_without_an_answer_ten_are_named(n_groups, last):
    tiny = pd.DataFrame({"x": np.arange(2.0 * n_groups), "g": np.arange(2 * n_groups) // 2})
    told = rf"^{n_groups} of {n_groups} groups have no answer: 0, 1, .*, {last}\. .*for 0: only 2 rows"
    with pytest.warns(UserWarning, match=told):
        assert len(select_groups(tiny, "g", refuse)) == 0
