"""Files of version 0.1.0 give the same results, and runs continue from them."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs

from compsil_kit import Plan, SelectionResult, combine_batches, plan_batches, run_batch, select_k
from compsil_kit._result.records import load_trial, unpack_trial

FILES = Path(__file__).parent / "files"
SETTINGS = {"ks": range(2, 6), "n_subsamples": 4}
# Files of other library versions are refused.
VERSIONS = ("compsil-kit", "numpy", "scikit-learn", "scipy", "numba")
# Texts may change from release to release, numbers may not.
WORDS = ("warnings", "versions")


def read(name):
    return json.loads((FILES / f"{name}.json").read_bytes())


@pytest.fixture(scope="module")
def X():
    return make_blobs([300, 180, 90, 30], 3, cluster_std=[1.0, 0.8, 0.6, 0.5], random_state=7)[0]


@pytest.fixture(scope="module")
def table(X):
    return pd.DataFrame(X[:, 1:], columns=["b", "c"])


@pytest.fixture
def of_today(X):
    """Return the old file as if the libraries of today had written it."""
    (batch,) = plan_batches(X, **SETTINGS, n_batches=1)
    versions = {name: batch["fingerprint"][name] for name in VERSIONS}

    def renew(data):
        assert set(versions) <= set(data["fingerprint"])
        return {**data, "fingerprint": data["fingerprint"] | versions}

    return renew


def close(left, right):
    """Check that numbers and missing values are equal, up to rounding on another machine."""
    left, right = (np.array(values, dtype=float) for values in (left, right))
    assert left.size > 0
    np.testing.assert_allclose(left, right, rtol=1e-9, atol=1e-12)


def known_then(new, old):
    """Return the entries that the old file has as well."""
    return {name: value for name, value in new.items() if name in old} if isinstance(old, dict) else new


@pytest.mark.parametrize("name", ["s3_lcb", "custom", "failing", "combined"])
def test_a_result_is_unchanged(name):
    old = read(name)
    new = json.loads(json.dumps(SelectionResult.from_dict(old).to_dict(), allow_nan=False))
    assert (new["format"], new["version"]) == ("compsil-kit/selection", 1)
    assert new["versions"] == old["versions"]
    numbers = ("best_score", "scores", "sem", "lcb", "probability")
    assert set(old) - set(new) == set()
    for key in set(old) - set(numbers) - set(WORDS) - {"weights"}:
        assert known_then(new[key], old[key]) == old[key], key
    for key in numbers:
        close(new[key], old[key])
    assert (new["weights"] is None) == (old["weights"] is None) == (name != "custom")
    if name == "custom":
        close(new["weights"], old["weights"])
    # Missing numbers stay missing: the stability, the confidence, and those of several initialisations.
    old = SelectionResult.from_dict(old)
    assert (old.plan.n_starts, old.criterion) == (1, "composite")
    assert np.array_equal(old.trials.best_micro, old.micro, equal_nan=True)
    assert np.array_equal(old.trials.best_macro, old.macro, equal_nan=True)
    for values in (old.stability, old.confidence, old.trials.agreement, old.trials.within):
        assert np.isnan(values).all()
    assert old.confidence_note
    assert old.choices["likely"] is None
    assert new == SelectionResult.from_dict(new).to_dict()


def test_a_checkpoint_is_continued(X, of_today, tmp_path):
    path = tmp_path / "run.json"
    path.write_text(json.dumps(of_today(read("checkpoint"))))
    before, seen = path.read_bytes(), []
    result = select_k(X, **SETTINGS, checkpoint=path, progress=lambda *counts: seen.append(counts))
    assert seen == [(4, 4)]
    assert path.read_bytes() == before
    trials = {trial["seed"]: trial for trial in read("checkpoint")["trials"]}
    assert set(trials) == set(result.plan.seeds)
    for name in ("micro", "macro"):
        kept = np.array([trials[seed][name] for seed in result.plan.seeds]).T
        assert np.array_equal(getattr(result, name), kept)

    more = select_k(X, **SETTINGS | {"n_subsamples": 6}, checkpoint=path)
    assert np.array_equal(more.micro[:, :4], result.micro)
    assert len(json.loads(path.read_bytes())["trials"]) == 6
    # The file has no agreements; those of new subsamples are computed, also with old ones.
    fresh = select_k(X, **SETTINGS | {"n_subsamples": 6})
    close(fresh.micro[:, :4], result.micro)
    close(fresh.macro[:, :4], result.macro)
    assert np.isnan(more.trials.agreement[:, :4]).all()
    assert np.array_equal(more.trials.agreement[:, 4:], fresh.trials.agreement[:, 4:])
    assert np.array_equal(select_k(X, **SETTINGS | {"n_subsamples": 6}, checkpoint=path).stability, more.stability)


def test_finished_batches_are_combined():
    result, old = combine_batches(read("batches"), rule="lcb"), read("combined")
    assert (result.best_k, result.rule) == (old["best_k"], old["rule"]) == (3, "lcb")
    for name in ("scores", "sem", "lcb"):
        close(getattr(result, name), old[name])
    for part in ("trials", "calibration"):
        assert known_then(result.to_dict()[part], old[part]) == old[part]


def test_finished_batches_hold_what_is_computed_today(X, of_today):
    planned = plan_batches(X, ks=range(2, 6), n_subsamples=5, n_calibration=1, n_batches=2)
    old = [of_today(batch) for batch in read("batches")]
    assert [{**batch["fingerprint"], "n_starts": 1} for batch in old] == [batch["fingerprint"] for batch in planned]
    for batch, plan in zip(old, planned, strict=True):
        fresh = run_batch(X, plan)
        assert batch["indices"] == fresh["indices"]
        for index, new, kept in zip(batch["indices"], fresh["trials"], batch["trials"], strict=True):
            assert kept["seed"] == plan["plan"]["seeds"][index]
            today = load_trial(unpack_trial(new, index, Plan.from_dict(plan["plan"])), index, range(2, 6))
            for name in ("micro", "macro"):
                close(getattr(today, name), kept[name])


def test_planned_batches_are_run(table, of_today):
    done = [run_batch(table, of_today(batch)) for batch in read("planned")]
    result, direct = combine_batches(done), select_k(table, ks=range(2, 6), n_subsamples=5)
    assert result.preparation.columns == ("b", "c")
    assert np.array_equal(result.scores, direct.scores)
    assert result.best_k == direct.best_k
