"""Results as plain data for strict JSON, and back; what cannot be one is refused."""

import json

import numpy as np
import pytest
from samples import made_up, plan_of

from compsil_kit import SelectionResult, select_k
from compsil_kit._data.dataset import Preparation
from compsil_kit._method.structure import REFERENCE_KINDS, Structure
from compsil_kit._result.records import (
    _stored,
    dump,
    dump_plan,
    load_plan,
    load_preparation,
    load_structure,
    load_trial,
)
from compsil_kit.datasets import imbalanced_blobs


@pytest.fixture(scope="module")
def imbalanced():
    return select_k(imbalanced_blobs()[0], n_subsamples=12)


@pytest.mark.parametrize("kind", ["plain", "custom", "lcb", "calibrated", "failed", "partial"])
def test_json_round_trip(imbalanced, kind):
    result = {
        "plain": lambda: imbalanced,
        "custom": lambda: imbalanced.reweigh(transform=np.abs),
        "lcb": lambda: imbalanced.reweigh(rule="lcb", z=2.0),
        "calibrated": lambda: select_k(imbalanced_blobs()[0], ks=[2, 5], n_subsamples=3, n_calibration=4),
        "failed": lambda: made_up([[0.5, np.nan, 0.1], [0.4] * 3], [[0.2, np.nan, 0.1], [0.3] * 3]),
        "partial": lambda: made_up([[0.5], [0.4]], [[0.2], [0.3]], planned=4, sample_size=1000),
    }[kind]()
    text = json.dumps(result.to_dict(), allow_nan=False)
    again = SelectionResult.from_dict(json.loads(text))
    assert again.best_k == result.best_k
    assert repr(again.plan) == repr(result.plan)
    for name in ("micro", "macro", "weights", "composite", "scores", "sem", "lcb"):
        np.testing.assert_array_equal(getattr(again, name), getattr(result, name))
    assert again.failures == result.failures
    assert again.to_dict()["trials"] == result.to_dict()["trials"]
    assert json.dumps(again.to_dict()) == text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: {}, "to_dict"),
        (lambda d: {**d, "version": 99}, "version 99"),
        (lambda d: {k: v for k, v in d.items() if k not in ("trials", "digest")}, "incomplete: it has no trials"),
        (lambda d: {**d, "trials": {**d["trials"], "subsamples": [0]}}, "changed or damaged"),
    ],
)
def test_from_dict_refuses_what_it_cannot_read(imbalanced, change, message):
    with pytest.raises(ValueError, match=message):
        SelectionResult.from_dict(change(imbalanced.to_dict()))


@pytest.mark.parametrize("changes", [{}, {"sample_size": 4}, {"sample_size": 1000}, {"seeds": [0, 1, 2**32 - 1]}])
def test_plans_at_the_edge_of_what_is_possible(changes):
    data = {**dump_plan(plan_of([2, 3], 2, n_calibration=1)), **changes}
    assert dump_plan(load_plan(data)) == data
    older = {name: value for name, value in data.items() if name not in ("n_starts", "structure")}
    assert dump_plan(load_plan(older)) == {**data, "n_starts": 1, "structure": False}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ks": []}, "plan.ks must be ascending and hold at least one"),
        ({"ks": [3, 2]}, "plan.ks must be ascending"),
        ({"ks": [2, 2]}, "plan.ks must be ascending"),
        ({"sample_size": 3}, "plan.sample_size must lie between the largest k and the number of rows"),
        ({"sample_size": 1001}, "plan.sample_size must lie between"),
        ({"seeds": [0, 1]}, "plan.seeds must hold one seed per subsample"),
        ({"seeds": [0, 1, 2**32]}, r"plan.seeds\[2\] must be a whole number"),
    ],
)
def test_plans_beyond_it(changes, message):
    with pytest.raises(ValueError, match=message):
        load_plan({**dump_plan(plan_of([2, 3], 2, n_calibration=1)), **changes})


@pytest.mark.parametrize(("subsample", "fits"), [(0, True), (2, True), (3, False), (-1, False)])
def test_failures_are_those_of_subsamples_that_were_planned(subsample, fits):
    data = {name: value for name, value in made_up([[0.5] * 3], [[0.5] * 3]).to_dict().items() if name != "digest"}
    data["failures"] = [{"k": 2, "subsample": subsample, "seed": 0, "cause": "none"}]
    if fits:
        assert SelectionResult.from_dict(data).failures[0].subsample == subsample
    else:
        with pytest.raises(ValueError, match=r"data.failures\[0\].subsample must be .* at most 2\."):
            SelectionResult.from_dict(data)


@pytest.mark.parametrize("p", [0.0, 1.0])
def test_the_test_for_clusters_and_back(p):
    given = Structure(p, dict.fromkeys(REFERENCE_KINDS, p), -0.5, 1, 2)
    assert load_structure(json.loads(json.dumps(dump(given)))) == given
    assert load_structure(dump(None)) is None
    for name in ("n_null", "n_rows"):
        with pytest.raises(ValueError, match=f"structure.{name} must be"):
            load_structure({**dump(given), name: getattr(given, name) - 1})


@pytest.mark.parametrize(("value", "fits"), [(1 + 1e-10, True), (-1 - 1e-10, True), (1 + 1e-8, False), (-1.1, False)])
def test_silhouettes_may_be_rounded_beyond_one(value, fits):
    data = {"seed": 0, "micro": [value], "macro": [0.5], "failures": []}
    if fits:
        assert load_trial(data, 0, [2]).micro == (value,)
    else:
        with pytest.raises(ValueError, match=r"trial.micro\[0\] must be a number in"):
            load_trial(data, 0, [2])


def test_what_is_known_of_a_table_and_back():
    for given in (Preparation(("a",)), Preparation(("a", "b"), ("city",), "robust", 3, ("column 'a' is odd.",))):
        assert load_preparation(json.loads(json.dumps(dump(given)))) == given
    assert load_preparation(dump(None)) is None


@pytest.mark.parametrize(("n_starts", "best"), [(1, []), (2, ["best_micro", "best_macro"])])
def test_numbers_of_the_best_start_are_written_where_there_are_several(n_starts, best):
    names = _stored(plan_of([2], 3, n_starts=n_starts))
    assert [name for name in names if name.startswith("best_")] == best
    assert {"micro", "macro", "agreement", "within"} <= set(names)


@pytest.mark.parametrize("data", [None, [1], "micro"])
def test_what_is_no_trial_at_all(data):
    with pytest.raises(ValueError, match=r"^trial must map names to values"):
        load_trial(data, 0, [2])
