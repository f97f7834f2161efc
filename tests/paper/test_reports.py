"""The generated pages match the committed results, and the benchmarks run with the current version."""

import numpy as np
import pytest

from benchmarks.confidence import fit, measure
from benchmarks.scale import adaptive
from benchmarks.scale import report as scale
from benchmarks.structure import outcome
from benchmarks.truth import rates
from benchmarks.truth import report as truth
from compsil_kit import select_k
from compsil_kit._method import likelihood
from compsil_kit._run import structure
from compsil_kit.datasets import imbalanced_blobs


@pytest.mark.parametrize(("report", "page"), [(truth, "truth.md"), (scale, "scale.md")])
def test_page_is_up_to_date(report, page):
    assert (report.DOCS / page).read_text() == report.text()


def test_replay_makes_the_same_decisions_as_an_adaptive_run():
    X = imbalanced_blobs()[0][::6]
    fixed = select_k(X, ks=range(2, 6), n_subsamples=200, random_state=3)
    auto = select_k(X, ks=range(2, 6), n_subsamples="auto", random_state=3)
    best, n_subsamples, n_clusterings = adaptive.replay(fixed.ks, fixed.micro, fixed.macro)
    assert (best, n_subsamples) == (auto.best_k, auto.n_subsamples)
    assert n_clusterings == auto.curve["n_subsamples"].sum()


@pytest.mark.filterwarnings("ignore:the columns of X differ in scale")
def test_measured_selections_have_the_same_fields_as_the_stored_runs():
    record = measure.measured(36)
    stored = next(iter(measure.read(truth.RESULTS / "runs.jsonl")))
    for n_starts in ("1", "5"):
        assert set(record[n_starts]) == set(stored[n_starts]) - {"probability"}
        assert all(len(values) == len(record["ks"]) for values in record[n_starts].values())


def test_fitted_model_prefers_the_true_k(monkeypatch):
    records = [each for each in measure.read(truth.RESULTS / "runs.jsonl") if each["seed"] == 0 and each["k"] <= 10]
    model = {**likelihood.model(), "starts": {"1": fit.fit(records, 1), "several": fit.fit(records, 5)}}
    monkeypatch.setattr(likelihood, "model", lambda: model)
    for n_starts in (1, 5):
        chosen = [rates.chosen(each, rates.confidence(each, n_starts)[:-1]) for each in records]
        composite = [rates.chosen(each, rates.CRITERIA["composite"](each)) for each in records]
        true = [each["k"] for each in records]
        assert np.equal(chosen, true).sum() > np.equal(composite, true).sum()


def test_structure_test_runs_without_a_selection(monkeypatch):
    monkeypatch.setattr(structure, "N_NULL", 19)
    rng = np.random.default_rng(0)
    clusters = rng.normal(np.repeat([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]], 60, axis=0))
    assert outcome(clusters, 0).found
    assert not outcome(rng.normal(size=(180, 2)), 0).found
