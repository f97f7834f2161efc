"""One selection per group: the table, the results, and failed groups."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from compsil_kit import Interrupted
from compsil_pandas import ColumnWarning, GroupSelection

FAST = {"ks": [2, 3, 4], "n_subsamples": 3}


@pytest.fixture(scope="module")
def df():
    """The north has three clusters, the south two; the years are unrelated to the clusters."""
    north, _ = make_blobs([60, 40, 20], centers=[(0, 0), (9, 0), (0, 9)], cluster_std=0.5, random_state=1)
    south, _ = make_blobs([60, 40], centers=[(0, 0), (9, 9)], cluster_std=0.5, random_state=1)
    return pd.DataFrame(np.r_[north, south], columns=["x", "y"]).assign(
        region=["north"] * 120 + ["south"] * 100, year=np.tile([2020, 2021], 110)
    )


def select(df, **group):
    """Run a selection on the rows of one group."""
    for name, value in group.items():
        df = df[df[name] == value]
    return df[["x", "y"]].compsil.select_k(**FAST)


@pytest.mark.parametrize("by", ["region", ["region"], pd.Grouper(key="region")])
def test_one_key_gives_one_result_per_group(df, by):
    found = df.drop(columns="year").compsil.select_k(by=by, **FAST)
    assert isinstance(found, GroupSelection)
    assert (found.frame.index.tolist(), found.frame.index.name) == (["north", "south"], "region")
    expected = ["n_rows", "best_k", "score", "sem", "probability", "runner_up", "lead", "problem"]
    assert found.frame.columns.tolist() == expected
    assert found.frame["best_k"].tolist() == [3, 2]
    assert found.frame["best_k"].dtype == found.frame["runner_up"].dtype == "Int64"
    assert found.frame["n_rows"].tolist() == [120, 100]
    assert found.frame["problem"].tolist() == ["", ""]
    assert "east" not in found
    for name in ("north", "south"):
        expected = select(df, region=name)
        np.testing.assert_array_equal(found[name].micro, expected.micro)
        row, at = found.frame.loc[name], expected.ks.index(expected.best_k)
        assert (row["score"], row["sem"]) == (expected.best_score, expected.sem[at])
        assert row["probability"] == expected.selection_probability[at]
        second, first = np.sort(expected.scores)[-2:]
        assert row["runner_up"] == expected.ks[expected.scores.tolist().index(second)]
        assert row["lead"] == pytest.approx(first - second)


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
def test_keys_need_not_be_columns(df, by, name):
    found = df[["x", "y"]].compsil.select_k(by=by(df), **FAST)
    assert found.frame.index.name == name
    assert found.frame["best_k"].to_dict() == {"north": 3, "south": 2}
    levels = df.set_index(["region", "year"]).compsil.select_k(by="region", **FAST)
    assert levels.frame["best_k"].to_dict() == {"north": 3, "south": 2}


def test_categories_without_rows_are_skipped(df):
    kinds = pd.Categorical(df["region"], ["west", "south", "north"])
    found = df.assign(region=kinds).compsil.select_k(by="region", columns=["x", "y"], **FAST)
    assert found.frame.index.tolist() == list(found) == ["south", "north"]


def test_missing_keys_form_a_group(df):
    unknown = df.assign(region=df["region"].where(df["region"] == "north"))
    found = unknown.compsil.select_k(by="region", columns=["x", "y"], **FAST)
    assert found.frame["best_k"].tolist() == [3, 2]
    assert found.frame.index.isna().tolist() == [False, True]
    for missing in (np.nan, None, float("nan"), pd.NA):
        assert found[missing].best_k == 2
        assert missing in found
    found = unknown.compsil.select_k(by=["region", "year"], **FAST)
    np.testing.assert_array_equal(found[None, 2020].micro, select(df, region="south", year=2020).micro)


def test_several_keys_give_a_multi_index(df):
    found = df.compsil.select_k(by=["region", "year"], **FAST)
    assert found.frame.index.names == ["region", "year"]
    assert found["south", 2021].best_k == found.frame.loc[("south", 2021), "best_k"] == 2
    np.testing.assert_array_equal(found["north", 2020].micro, select(df, region="north", year=2020).micro)


@pytest.mark.parametrize("by", ["year", ["year"], pd.Grouper(key="year")])
def test_key_columns_are_excluded_unless_named(df, by):
    found = df.compsil.select_k(by=by, **FAST)
    assert found[2020].preparation.columns == ("x", "y")
    assert found[2020].preparation.left_out == ("region",)
    named = df.compsil.select_k(by=by, columns=["x", "year"], **FAST)
    assert named[2020].preparation.columns == ("x", "year")
    assert "'year' is constant" in named[2020].preparation.notes[0]


def test_key_names_may_be_numbers_or_tuples(df):
    numbered = df.set_axis([0, 1, 2, 3], axis=1)
    assert numbered.compsil.select_k(by=3, **FAST)[2021].preparation.columns == ("0", "1")
    levels = df[["x", "y", "year"]].set_axis(pd.MultiIndex.from_tuples([("q", "x"), ("p", "y"), ("q", "z")]), axis=1)
    assert levels.compsil.select_k(by=[("q", "z")], **FAST)[2020].preparation.columns == ("q, x", "p, y")


def test_small_groups_are_reported_with_a_warning(df):
    few = pd.concat([df, df.head(3).assign(region="tiny"), df.tail(4).assign(region="<tiny>")])
    with pytest.warns(UserWarning, match=r"2 of 4 groups have no result: <tiny>, tiny\. .*for <tiny>: ks ") as caught:
        found = few.compsil.select_k(by="region", columns=["x", "y"], **FAST)
    assert caught[0].filename == __file__
    assert found.frame.index.tolist() == ["<tiny>", "north", "south", "tiny"]
    assert found.frame["n_rows"].tolist() == [4, 120, 100, 3]
    assert found.frame["best_k"].isna().tolist() == [True, False, False, True]
    problem = found.frame.loc["tiny", "problem"]
    assert problem.startswith("ks must be smaller than the number of rows")
    assert list(found.problems) == ["<tiny>", "tiny"]
    with pytest.raises(KeyError, match="group 'tiny' has no result: ks must be smaller"):
        found["tiny"]
    assert problem in repr(found)
    assert problem in found._repr_html_()
    assert "&lt;tiny&gt;" in found._repr_html_()


@pytest.mark.parametrize(("n_groups", "last"), [(10, "9"), (11, "9 and 1 more")])
def test_a_warning_names_ten_failed_groups(n_groups, last):
    tiny = pd.DataFrame({"x": np.arange(2.0 * n_groups) ** 2, "g": np.arange(2 * n_groups) // 2})
    message = rf"^{n_groups} of {n_groups} groups have no result: 0, 1, .*, {last}\. "
    with pytest.warns(UserWarning, match=message):
        found = tiny.compsil.select_k(by="g", **FAST)
    assert len(found) == 0
    assert found.frame[["best_k", "score"]].isna().all(axis=None)


def test_a_clusterer_error_affects_only_its_group(df):
    def picky(X, k, seed):
        if len(X) == 100:
            raise ValueError("not these")
        return np.arange(len(X)) % k

    with pytest.warns(UserWarning, match="1 of 2 groups have no result: south.*not these"):
        found = df.compsil.select_k(by="region", columns=["x", "y"], clusterer=picky, **FAST)
    assert list(found) == ["north"]


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"by": "regoin"}, KeyError, "regoin"),
        ({"columns": ["region"]}, ValueError, "'region' is not numeric"),
        ({"ks": [1, 2]}, ValueError, "ks must be an integer of at least 2"),
        ({"missing": "raise"}, ValueError, r"missing values in 'x' \(5\)"),
    ],
)
def test_invalid_settings_and_missing_values_raise_once_for_all_groups(df, settings, error, message):
    with pytest.raises(error, match=message):
        df.assign(x=df["x"].mask(df.index < 5)).compsil.select_k(**{"by": "region", "missing": "drop", **settings})


def test_missing_values_are_dropped_in_each_group(df):
    incomplete = df.assign(x=df["x"].mask(df.index < 5))
    found = incomplete.compsil.select_k(by="region", missing="drop", **FAST)
    assert [found[name].preparation.n_dropped for name in found] == [5, 0]
    assert found.frame["n_rows"].tolist() == [120, 100]


def test_column_warnings_appear_once_and_a_single_k_has_no_runner_up(df):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = df.assign(one=1).compsil.select_k(by="region", ks=[3], n_subsamples=2)
    assert [(w.category, w.filename) for w in caught] == [(ColumnWarning, __file__)]
    assert found.frame[["runner_up", "lead"]].isna().all(axis=None)


class InterruptAfter:
    """A clusterer that raises KeyboardInterrupt after a number of calls."""

    def __init__(self, n_calls):
        self.left = n_calls

    def __call__(self, X, k, seed):
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt
        return KMeans(k, n_init=1, random_state=seed).fit_predict(X)


# Three values of k and three subsamples take nine calls per group.
@pytest.mark.parametrize(("n_calls", "groups"), [(9 + 6, ["east", "north"]), (9, ["east"]), (0, [])])
def test_an_interrupt_keeps_the_finished_groups(df, n_calls, groups):
    three = pd.concat([df, df[df["region"] == "north"].assign(region="east")]).drop(columns="year")
    with pytest.raises(Interrupted, match=rf"stopped after {min(n_calls // 9, 1)} of 3 groups; .* \.result") as stop:
        three.compsil.select_k(by="region", clusterer=InterruptAfter(n_calls), n_jobs=1, **FAST)
    found = stop.value.result
    assert list(found) == groups
    assert found.frame["problem"].tolist()[-1] == "not started because the run was interrupted."
    assert found.frame["n_rows"].tolist() == [120, 120, 100]
    if n_calls > 9:
        assert (found["north"].partial, found["north"].n_subsamples) == (True, 2)
        assert found.frame["problem"].tolist()[:2] == ["", "interrupted."]


def test_an_interrupted_group_without_a_choice_has_no_result(df):
    """One subsample has no lower confidence bound."""
    with pytest.raises(Interrupted) as stop:
        df.compsil.select_k(by="region", columns=["x", "y"], rule="lcb", clusterer=InterruptAfter(4), n_jobs=1, **FAST)
    assert list(stop.value.result) == []
    assert stop.value.result.frame["problem"].tolist()[0] == "interrupted."
