"""Test the decision to accept k*, and the summary in XCom, whose size is limited."""

import json
from contextlib import nullcontext
from types import NoneType

import numpy as np
import pandas as pd
import pytest
from airflow.providers.common.compat.sdk import Asset
from runs import QUICK, RETRY, run_select
from sklearn.datasets import make_blobs

from compsil_airflow.compat import AirflowFailException, AirflowSkipException
from compsil_airflow.summary import (
    MAX_BYTES,
    THRESHOLDS,
    Decision,
    check_thresholds,
    decide,
    short_setting,
    shorten_summary,
    summarise,
)
from compsil_kit import prepare, select_k
from compsil_kit.config import SelectionConfig, TableConfig, settings_of

ACCEPTED = Decision("accepted", 3)


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(100, 2, cluster_std=0.3, random_state=0)[0]


@pytest.fixture(scope="module")
def sure(blobs):
    return select_k(blobs, ks=[2, 3, 4], n_subsamples=10)


class TestDecision:
    @pytest.mark.parametrize(
        ("name", "column", "advice"),
        [
            ("min_probability", "probability", "Increase n_subsamples, or pass fallback_k"),
            ("min_confidence", "confidence", "See the alternatives in the summary, or pass fallback_k"),
        ],
    )
    def test_a_value_equal_to_the_threshold_is_accepted(self, sure, name, column, advice):
        value, others = float(sure.curve[column][sure.best_k]), dict.fromkeys(THRESHOLDS)
        assert decide(sure, others, None, None) == Decision("accepted", sure.best_k)
        assert decide(sure, {**others, name: value}, None, None).outcome == "accepted"
        for fallback_k, on_unsure, expected in (
            (None, None, ("failed", None, AirflowFailException)),
            (None, "skip", ("skipped", None, AirflowSkipException)),
            (7, "fallback", ("fallback", 7, NoneType)),
        ):
            found = decide(sure, {**others, name: value + 1e-9}, fallback_k, on_unsure)
            assert (found.outcome, found.k, type(found.error)) == expected
            assert (advice in found.notes[0]) is (found.outcome == "failed")

    def test_unknown_values_are_not_accepted(self, blobs):
        unknown = select_k(blobs, ks=[2, 3], n_subsamples=1, clusterer="gmm")
        for name in THRESHOLDS:
            decision = decide(unknown, {**dict.fromkeys(THRESHOLDS), name: 0.0}, None, None)
            assert f"is unknown and does not meet {name}=0" in str(decision.error)
        assert f"({unknown.confidence_note})" in decision.notes[0]

    @pytest.mark.parametrize(
        ("threshold", "fallback_k", "on_unsure", "message"),
        [
            (0.0, None, None, None),
            (1.0, 2, "fallback", None),
            (-0.01, None, None, " must be a number in"),
            (0.5, 1, None, "^fallback_k must be "),
            (None, 3, None, "^fallback_k requires min_probability or min_confidence"),
            (None, None, "skip", "^on_unsure requires min_probability or min_confidence"),
            (0.5, None, "hope", "^on_unsure must be one of 'fail', 'skip', 'fallback'"),
            (0.5, None, "fallback", "^on_unsure='fallback' and fallback_k must be used together"),
            (0.5, 3, "skip", "^on_unsure='fallback' and fallback_k must be used together"),
        ],
    )
    @pytest.mark.parametrize("name", THRESHOLDS)
    def test_thresholds_and_fallbacks_are_validated(self, name, threshold, fallback_k, on_unsure, message):
        with nullcontext() if message is None else pytest.raises(ValueError, match=message):
            check_thresholds({**dict.fromkeys(THRESHOLDS), name: threshold}, fallback_k, on_unsure)


class TestRejectedK:
    # The data have no clusters, so no k has a high selection probability.
    @pytest.fixture
    def flat(self, tmp_path):
        path = tmp_path / "flat.csv"
        pd.DataFrame(np.random.default_rng(0).uniform(size=(200, 2)), columns=["x", "y"]).to_csv(path, index=False)
        return {"data": str(path), "ks": "3:9"}

    @pytest.mark.parametrize(("on_unsure", "state"), [("fail", "failed"), ("skip", "skipped")])
    def test_the_summary_and_the_report_are_stored(self, flat, tmp_path, home, log, on_unsure, state):
        report, labels = tmp_path / "r.html", tmp_path / "l.csv"
        settings = {"labels_path": str(labels), "report_path": str(report), "outlets": [Asset("unsure")], **RETRY}
        done = run_select(**flat, min_probability=0.999, on_unsure=on_unsure, **settings)
        assert done.ended == (state, 1)
        assert "the selection probability of k = " in log()
        summary = done.summary()
        assert (summary["best_k"], summary["outcome"], summary["fell_back"]) == (None, state, False)
        assert summary["selected_k"] in range(3, 10)
        assert summary["files"] == [str(report)]
        assert "data:image/png" in report.read_text()
        # Without an accepted k, the task writes no labels and returns no value.
        assert not labels.exists()
        assert done.xcom() is None
        checkpoints = list((home / "compsil-checkpoints" / done.dag_run.dag_id).iterdir())
        assert len(checkpoints) == (state == "failed")

    def test_the_task_returns_fallback_k(self, flat, tmp_path):
        settings = {"labels_path": str(tmp_path / "l.csv"), "outlets": [Asset("flat")]}
        done = run_select(**flat, min_probability=0.999, fallback_k="2", **settings)
        summary = done.summary()
        assert done.xcom() == summary["best_k"] == 2
        assert (summary["outcome"], summary["fell_back"]) == ("fallback", True)
        assert summary["selected_k"] in range(3, 10)
        assert "fallback_k=2 is returned instead" in summary["warnings"][0]
        assert pd.read_csv(tmp_path / "l.csv")["cluster"].nunique() == 2


class TestSummary:
    def test_the_summary_matches_the_result(self, sure):
        summary = summarise(sure, ACCEPTED, {"z": 1.0})
        assert json.loads(json.dumps(summary, allow_nan=False)) == summary
        assert [row["k"] for row in summary["curve"]] == [2, 3, 4]
        for name in ("score", "sem", "probability", "confidence"):
            assert [row[name] for row in summary["curve"]] == sure.curve[name].tolist()
        assert summary["selected_k"] == summary["best_k"] == sure.best_k == 3
        assert (summary["outcome"], summary["fell_back"]) == ("accepted", False)
        for name in ("probability", "confidence", "stability"):
            assert summary[name] == sure.curve[name][3]
        assert (summary["score"], summary["choices"]) == (sure.best_score, dict(sure.choices))
        assert (summary["plan"]["ks"], summary["plan"]["n_rows"]) == ("2..4", 100)
        assert summary["plan"]["seeds"] == [sure.plan.seeds[0], sure.plan.seeds[-1]]
        assert (summary["warnings"], summary["versions"]) == (sure.warnings, dict(sure.versions))
        assert (summary["settings"], summary["structure"], summary["left_out"]) == ({"z": 1.0}, None, [])
        # An array has no preparation.
        assert (summary["columns"], summary["n_columns"], summary["scale"], summary["n_dropped"]) == ([], 2, None, 0)

    def test_unknown_numbers_are_none(self, blobs):
        summary = summarise(select_k(blobs, ks=[2, 3], n_subsamples=1), ACCEPTED, {})
        json.dumps(summary, allow_nan=False)
        assert summary["curve"][0]["sem"] is summary["probability"] is None

    def test_only_the_first_column_names_are_listed(self):
        X = np.random.default_rng(0).normal(size=(60, 3000))
        table = prepare(pd.DataFrame(X, columns=[f"a rather long name of column {at}" for at in range(3000)]))
        names = list(table.preparation.columns)
        summary = summarise(select_k(table, ks=[2, 3], n_subsamples=2), ACCEPTED, {"columns": names})
        assert len(json.dumps(summary)) <= MAX_BYTES
        assert (summary["n_columns"], summary["columns"]) == (3000, names[:100])
        assert summary["settings"]["columns"][-1] == "..."

    def test_the_summary_contains_the_structure_test(self, blobs):
        result = select_k(blobs, ks=[2, 3], n_subsamples=2, structure=True)
        summary = summarise(result, ACCEPTED, {})["structure"]
        assert (summary["found"], summary["p_value"]) == (True, result.structure.p_value)

    def test_all_failures_are_counted_and_the_first_are_described(self, blobs):
        def fickle(X, k, seed):
            if k == 4:
                raise RuntimeError("y" * 5000)
            return np.arange(len(X)) % k

        result = select_k(blobs, ks=[2, 3, 4], n_subsamples=40, clusterer=fickle, on_failure="skip")
        summary = summarise(result, ACCEPTED, {})
        assert (summary["n_failed"], len(summary["failures"])) == (40, 10)
        assert summary["failures"][0].startswith("k=4, subsample 0: ")
        assert len(json.dumps(summary)) <= MAX_BYTES

    @pytest.mark.parametrize(
        ("columns", "failures", "ks", "left_out"),
        [(0, 0, 10, []), (10, 10, 10, ["columns"]), (10, 20, 10, ["columns", "failures"]), (0, 0, 2000, ["curve"])],
    )
    def test_columns_and_failures_are_dropped_first(self, columns, failures, ks, left_out):
        curve = [{"k": k, "score": None if k % 2 else -k / ks} for k in range(ks)]
        whole = {"columns": ["x" * 1000] * columns, "failures": ["y" * 1000] * failures, "curve": curve}
        found = shorten_summary(whole)
        assert found["left_out"] == left_out
        assert [name for name in whole if found[name] != whole[name]] == left_out
        assert len(json.dumps(found)) <= MAX_BYTES
        if "curve" in left_out:
            # The values of k with the best scores are kept.
            assert [row["k"] for row in found["curve"]] == list(range(0, 2 * len(found["curve"]), 2))

    def test_the_kept_part_of_the_curve_is_ordered_by_k(self):
        curve = [{"k": k, "score": k / 2000} for k in range(2000)]
        kept = [row["k"] for row in shorten_summary({"columns": [], "failures": [], "curve": curve})["curve"]]
        assert 1 < len(kept) < 2000
        assert kept == list(range(2000 - len(kept), 2000))

    def test_the_curve_is_dropped_if_the_summary_is_still_too_large(self):
        long = {"columns": [], "failures": [], "curve": [{"k": 2, "score": 0.5}], "explanation": "x" * MAX_BYTES}
        assert (shorten_summary(long)["curve"], shorten_summary(long)["left_out"]) == ([], ["curve"])


def test_every_setting_of_a_task_is_in_the_summary(csv):
    """This test fails if the summary lacks a new setting of the engine."""
    given = {"rule": "lcb", "z": 0.5, "n_calibration": 2, "on_failure": "skip", "n_jobs": 2}
    settings = run_select(data=str(csv), **given).summary()["settings"]
    defaults = {name: each.default for name, each in settings_of(SelectionConfig, TableConfig).items()}
    assert settings == defaults | QUICK | given


def test_long_settings_are_cut():
    for same in (None, 0.5, "x" * 400, ["a", None], [1] * 133):
        assert short_setting(same) == same
    assert short_setting("x" * 401) == "x" * 397 + "..."
    assert short_setting([1] * 134) == [1] * 100 + ["..."]
    for value in (list(range(10**6)), ["a long name of a column"] * 1000):
        assert len(json.dumps(short_setting(value))) <= 420
