"""The entry in XCom stays small, whatever the selection."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from runs import run_select
from sklearn.datasets import make_blobs

from compsil_airflow.summary import MAX_BYTES, Decision, plain_setting, shorten_summary, summarise
from compsil_kit import prepare, select_k
from compsil_kit._settings.keywords import SelectKeywords, TableKeywords, defaults_of, keywords_of

SETTINGS = defaults_of(TableKeywords) | defaults_of(SelectKeywords)


def test_thousands_of_columns():
    X = np.random.default_rng(0).normal(size=(60, 3000))
    table = prepare(pd.DataFrame(X, columns=[f"a rather long name of column {at}" for at in range(3000)]))
    result = select_k(table, ks=[2, 3], n_subsamples=2)
    summary = summarise(result, Decision("accepted", 2), SETTINGS | {"columns": list(table.preparation.columns)})
    assert len(json.dumps(summary, allow_nan=False)) <= MAX_BYTES
    assert summary["n_columns"] == 3000
    assert len(summary["columns"]) == 100
    assert summary["settings"]["columns"][-1] == "..."


def test_of_hundreds_of_ks_the_best_stay():
    X, _ = make_blobs(700, 2, random_state=0)
    result = select_k(X, ks=range(2, 202), n_subsamples=2, sample_size=600)
    summary = summarise(result, Decision("accepted", 2), SETTINGS)
    assert len(json.dumps(summary, allow_nan=False)) <= MAX_BYTES
    assert summary["left_out"] == ["curve"]
    assert result.best_k in [row["k"] for row in summary["curve"]]
    assert [row["k"] for row in summary["curve"]] == sorted(row["k"] for row in summary["curve"])


@pytest.mark.parametrize(
    ("columns", "failures", "ks", "left_out"),
    [(0, 0, 10, []), (10, 10, 10, ["columns"]), (10, 20, 10, ["columns", "failures"]), (0, 0, 2000, ["curve"])],
)
def test_what_goes_first(columns, failures, ks, left_out):
    """Thousands of characters of names and of causes, and the number of ks; scores fall, and some are not known."""
    curve = [{"k": k, "score": None if k % 2 else -k / ks} for k in range(ks)]
    whole = {"columns": ["x" * 1000] * columns, "failures": ["y" * 1000] * failures, "curve": curve}
    found = shorten_summary(whole)
    assert found["left_out"] == left_out
    assert [name for name in whole if found[name] != whole[name]] == left_out
    assert len(json.dumps(found)) <= MAX_BYTES
    if "curve" in left_out:
        assert [row["k"] for row in found["curve"]] == list(range(0, 2 * len(found["curve"]), 2))
        assert len(found["curve"]) == ks // 4


def test_a_summary_that_cannot_fit_has_no_curve():
    found = shorten_summary(
        {"columns": [], "failures": [], "curve": [{"k": 2, "score": 0.5}], "explanation": "x" * MAX_BYTES}
    )
    assert (found["curve"], found["left_out"]) == ([], ["curve"])


def test_nothing_is_nan_with_a_single_subsample():
    X, _ = make_blobs(100, 2, random_state=0)
    summary = summarise(select_k(X, ks=[2, 3], n_subsamples=1), Decision("accepted", 2), SETTINGS)
    json.dumps(summary, allow_nan=False)
    assert summary["curve"][0]["sem"] is None
    # An array has no preparation.
    assert (summary["columns"], summary["scale"], summary["n_dropped"]) == ([], None, 0)


def test_whether_there_are_clusters_is_told_where_it_was_tested():
    X, _ = make_blobs(100, 2, cluster_std=0.3, random_state=0)
    summary = summarise(select_k(X, ks=[2, 3], n_subsamples=2, structure=True), Decision("accepted", 2), SETTINGS)
    json.dumps(summary, allow_nan=False)
    assert summary["structure"]["found"] is True
    assert summary["structure"]["p_value"] <= max(summary["structure"]["p_values"].values()) <= 0.05
    cloud = np.random.default_rng(0).normal(size=(100, 2))
    found = summarise(select_k(cloud, ks=[2, 3], n_subsamples=2, structure=True), Decision("accepted", 2), SETTINGS)[
        "structure"
    ]
    assert found["found"] is False
    assert found["p_value"] > 0.05
    assert summarise(select_k(X, ks=[2, 3], n_subsamples=2), Decision("accepted", 2), SETTINGS)["structure"] is None


def test_failures_are_told_but_not_all():
    def fickle(X, k, seed):
        if k == 4:
            raise RuntimeError("y" * 5000)
        return np.arange(len(X)) % k

    X, _ = make_blobs(100, 2, random_state=0)
    result = select_k(X, ks=[2, 3, 4], n_subsamples=40, clusterer=fickle, on_failure="skip")
    summary = summarise(result, Decision("accepted", 2), SETTINGS)
    assert summary["n_failed"] == 40
    assert len(summary["failures"]) == 10
    assert len(json.dumps(summary, allow_nan=False)) <= MAX_BYTES


def test_every_setting_is_there(csv):
    """A new keyword of the engine cannot be forgotten."""

    def halves(discrepancy):
        return discrepancy * 0.0 + 0.5

    done = run_select(data=str(csv), transform=halves, rule="lcb", z=0.5, n_calibration=2, on_failure="skip", n_jobs=2)
    settings = done.xcom("selection")["settings"]
    assert set(settings) == {*keywords_of(SelectKeywords), *keywords_of(TableKeywords)} - {"progress", "checkpoint"}
    assert settings == {
        "columns": ["x", "y"], "scale": "standard", "missing": "raise", "ks": [2, 3, 4], "clusterer": "kmeans",
        "n_subsamples": 4, "sample_size": "auto", "metric": "euclidean", "on_failure": "skip", "random_state": 42,
        "n_calibration": 2, "transform": "halves", "rule": "lcb", "z": 0.5, "n_jobs": 2,
        "n_starts": "auto", "criterion": "composite", "structure": False,
    }  # fmt: skip


def test_settings_are_plain_and_short():
    for same in (None, True, 3, 0.5, "x" * 400, ["a", None], [1] * 133):
        assert plain_setting(same) == same
    assert plain_setting("x" * 401) == "x" * 397 + "..."
    assert plain_setting([1] * 134) == [1] * 100 + ["..."]
    assert plain_setting(SimpleNamespace()) == "SimpleNamespace"
    assert plain_setting(np.int64(3)) == 3
    assert plain_setting(np.array([1, 2])) == [1, 2]
    assert plain_setting(range(2, 5)) == [2, 3, 4]
    assert plain_setting(float("nan")) is None
    assert plain_setting(np.mean) == "mean"
    for value in (range(10**9), "x" * 10_000, ["a long name of a column"] * 1000):
        assert len(json.dumps(plain_setting(value))) <= 420
