"""When the choice is not sure enough."""

from datetime import timedelta
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from airflow.providers.common.compat.sdk import Asset
from runs import run_select

from compsil_airflow.summary import THRESHOLDS, check_thresholds, decide


@pytest.mark.parametrize(
    ("probability", "least", "outcome"),
    [
        (0.8, 0.8, "accepted"),
        (1.0, 1.0, "accepted"),
        (0.8, 0.801, "failed"),
        # From a single subsample it is not known.
        (np.nan, 0.0, "failed"),
        (np.nan, None, "accepted"),
    ],
)
def test_the_threshold_itself_is_enough(probability, least, outcome):
    for of_what, name in (("probability", "selection_probability"), ("confidence", "confidence")):
        values = {"selection_probability": np.ones(2), "confidence": np.ones(2), name: np.array([0.0, probability])}
        result = SimpleNamespace(best_k=3, _best_index=1, confidence_note="it needs more", **values)
        thresholds = {"min_probability": None, "min_confidence": None, f"min_{of_what}": least}
        decision = decide(result, thresholds, None, None)
        assert (decision.outcome, decision.k) == (outcome, 3 if outcome == "accepted" else None)
        assert (decision.error is None) == (outcome == "accepted")
    assert np.isfinite(probability) or least is None or "unknown" in decision.notes[0]


class TestNotSure:
    # On points without structure no k stands out.
    @pytest.fixture
    def flat(self, tmp_path):
        path = tmp_path / "flat.csv"
        pd.DataFrame(np.random.default_rng(0).uniform(size=(200, 2)), columns=["x", "y"]).to_csv(path, index=False)
        return str(path)

    def test_fails_for_good(self, flat, capfd):
        done = run_select(data=flat, ks="3:9", min_probability=0.999, retries=1, retry_delay=timedelta(0))
        assert (done.state, done.task().try_number) == ("failed", 1)
        printed = capfd.readouterr()
        log = printed.out + printed.err
        assert "the selection probability of k = " in log
        assert "below min_probability=0.999. Increase n_subsamples, or pass fallback_k or on_unsure='skip'." in log

    def test_a_low_confidence_fails_too(self, flat, capfd):
        done = run_select(data=flat, ks="3:9", n_subsamples=6, min_confidence=0.99, criterion="likely")
        assert done.state == "failed"
        summary = done.xcom("selection")
        assert 0 < summary["confidence"] < 0.99
        assert (summary["criterion"], summary["plan"]["n_starts"]) == ("likely", 5)
        printed = capfd.readouterr()
        assert "below min_confidence=0.99. See the alternatives in the summary" in printed.out + printed.err

    def test_an_unknown_confidence_is_not_enough(self, flat, capfd):
        done = run_select(data=flat, ks="3:9", min_confidence=0.01, clusterer="gmm")
        assert done.state == "failed"
        printed = capfd.readouterr()
        assert "is unknown, and min_confidence=0.01 (confidence is calibrated for k-means" in printed.out + printed.err

    @pytest.mark.parametrize(("on_unsure", "state"), [("fail", "failed"), ("skip", "skipped"), (None, "failed")])
    def test_keeps_the_evidence(self, flat, tmp_path, home, on_unsure, state):
        done = run_select(
            data=flat, ks="3:9", min_probability=0.999, on_unsure=on_unsure, labels_path=str(tmp_path / "l.csv"),
            report_path=str(tmp_path / "r.html"), outlets=[Asset("unsure")], retries=1, retry_delay=timedelta(0),
        )  # fmt: skip
        assert (str(done.task().state), done.task().try_number) == (state, 1)
        summary = done.xcom("selection")
        assert (summary["best_k"], summary["outcome"], summary["fell_back"]) == (None, state, False)
        assert summary["selected_k"] in range(3, 10)
        assert summary["probability"] < 0.999
        assert len(summary["curve"]) == 7
        assert summary["files"] == [str(tmp_path / "r.html")]
        assert "data:image/png" in (tmp_path / "r.html").read_text()
        # Without a k there are no labels, and nothing is returned.
        assert not (tmp_path / "l.csv").exists()
        assert done.xcom() is None
        kept = list((home / "compsil-checkpoints" / done.dag_run.dag_id).iterdir())
        assert len(kept) == (state == "failed")

    def test_falls_back_and_says_so(self, flat, tmp_path):
        labels = tmp_path / "l.csv"
        done = run_select(
            data=flat, ks="3:9", min_probability=0.999, fallback_k="2", labels_path=str(labels), outlets=[Asset("flat")]
        )
        summary = done.xcom("selection")
        assert done.xcom() == summary["best_k"] == 2
        assert summary["fell_back"]
        assert summary["selected_k"] in range(3, 10)
        assert "fallback_k=2 is returned instead" in summary["warnings"][0]
        assert pd.read_csv(labels)["cluster"].nunique() == 2


@pytest.mark.parametrize("name", THRESHOLDS)
def test_thresholds_and_fallbacks_up_to_their_ends(name):
    for least in (0.0, 1.0):
        check_thresholds({name: least}, None, None)
    check_thresholds({name: 0.5}, 2, "fallback")
    for least, fallback_k in ((-0.01, None), (1.01, None), (0.5, 1)):
        with pytest.raises(ValueError, match=rf"^({name}|fallback_k) must be "):
            check_thresholds({name: least}, fallback_k, None)
