"""Results, plans and trials as plain data for strict JSON: round trips, and the rejection of invalid data."""

import json

import numpy as np
import pytest
from samples import made_up, plan_of

from compsil_kit import Plan, SelectionResult, select_k
from compsil_kit._data.dataset import Preparation
from compsil_kit._method.structure import REFERENCE_KINDS, Structure
from compsil_kit._result.records import (
    dump,
    dump_trial,
    load_preparation,
    load_structure,
    load_trial,
    pack_trial,
    read_trial,
    unpack_trial,
)
from compsil_kit._result.trials import Failure, Trial
from compsil_kit.datasets import imbalanced_blobs

KS = (2, 3, 4)


@pytest.fixture(scope="module")
def imbalanced():
    return select_k(imbalanced_blobs()[0], n_subsamples=12)


@pytest.mark.parametrize("kind", ["plain", "custom", "lcb", "calibrated", "failed", "partial"])
def test_round_trip_of_results(imbalanced, kind):
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
    assert repr(again.plan) == repr(result.plan)
    for name in ("best_k", "micro", "macro", "weights", "composite", "scores", "sem", "lcb", "failures"):
        np.testing.assert_array_equal(getattr(again, name), getattr(result, name))
    assert json.dumps(again.to_dict()) == text
    assert again.explain() == result.explain()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: {}, "to_dict"),
        (lambda d: {**d, "version": 99}, "version 99"),
        (lambda d: {k: v for k, v in d.items() if k not in ("trials", "digest")}, "incomplete: it has no trials"),
        (lambda d: {**d, "trials": {**d["trials"], "subsamples": [0]}}, "changed or damaged"),
    ],
)
def test_invalid_results(imbalanced, change, message):
    with pytest.raises(ValueError, match=message):
        SelectionResult.from_dict(change(imbalanced.to_dict()))


@pytest.mark.parametrize("changes", [{}, {"sample_size": 4}, {"sample_size": 1000}, {"seeds": [0, 1, 2**32 - 1]}])
def test_valid_plans(changes):
    data = {**plan_of([2, 3], 2, n_calibration=1).to_dict(), **changes}
    assert Plan.from_dict(data).to_dict() == data
    older = {name: value for name, value in data.items() if name not in ("n_starts", "structure")}
    assert Plan.from_dict(older).to_dict() == {**data, "n_starts": 1, "structure": False}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ks": []}, "plan.ks must be ascending and contain at least one"),
        ({"ks": [3, 2]}, "plan.ks must be ascending"),
        ({"ks": [2, 2]}, "plan.ks must be ascending"),
        ({"sample_size": 3}, "plan.sample_size must lie between the largest k and the number of rows"),
        ({"sample_size": 1001}, "plan.sample_size must lie between"),
        ({"seeds": [0, 1]}, "plan.seeds must contain one seed per subsample"),
        ({"seeds": [0, 1, 2**32]}, r"plan.seeds\[2\] must be "),
    ],
)
def test_invalid_plans(changes, message):
    with pytest.raises(ValueError, match=message):
        Plan.from_dict({**plan_of([2, 3], 2, n_calibration=1).to_dict(), **changes})


@pytest.mark.parametrize(("subsample", "valid"), [(0, True), (2, True), (3, False), (-1, False)])
def test_failures_refer_to_planned_subsamples(subsample, valid):
    data = {name: value for name, value in made_up([[0.5] * 3], [[0.5] * 3]).to_dict().items() if name != "digest"}
    data["failures"] = [{"k": 2, "subsample": subsample, "seed": 0, "cause": "none"}]
    if valid:
        assert SelectionResult.from_dict(data).failures[0].subsample == subsample
    else:
        with pytest.raises(ValueError, match=r"data.failures\[0\].subsample must be .* at most 2\."):
            SelectionResult.from_dict(data)


def test_structure_and_preparation():
    for p in (0.0, 1.0):
        structure = Structure(p, dict.fromkeys(REFERENCE_KINDS, p), -0.5, 1, 2)
        assert load_structure(json.loads(json.dumps(dump(structure)))) == structure
    for name in ("n_null", "n_rows"):
        with pytest.raises(ValueError, match=f"structure.{name} must be"):
            load_structure({**dump(structure), name: getattr(structure, name) - 1})
    for given in (Preparation(("a",)), Preparation(("a", "b"), ("city",), "robust", 3, ("column 'a' is odd.",))):
        assert load_preparation(json.loads(json.dumps(dump(given)))) == given
    assert load_structure(dump(None)) is load_preparation(dump(None)) is None


@pytest.mark.parametrize(("value", "valid"), [(1 + 1e-10, True), (-1 - 1e-10, True), (1 + 1e-8, False), (-1.1, False)])
def test_silhouettes_may_exceed_one_by_rounding(value, valid):
    data = {"seed": 0, "micro": [value], "macro": [0.5], "failures": []}
    if valid:
        assert load_trial(data, 0, [2]).micro == (value,)
    else:
        with pytest.raises(ValueError, match=r"trial.micro\[0\] must be a number in"):
            load_trial(data, 0, [2])


@pytest.mark.parametrize("data", [None, [1], "micro"])
def test_data_that_are_no_trial(data):
    with pytest.raises(ValueError, match=r"^trial must map names to values"):
        load_trial(data, 0, [2])


def trial_of(index=1, *, failures=(), n_starts=1):
    rng = np.random.default_rng(index)
    names = ("micro", "macro", "agreement", "within", *(("best_micro", "best_macro") if n_starts > 1 else ()))
    numbers = np.vstack([rng.uniform(-1, 1, (len(names), len(KS))), [0.0, 1.0, 1.0]])
    for failure in failures:
        numbers[:, KS.index(failure.k)] = np.nan
    rows = zip((*names, "small"), map(tuple, numbers.tolist()), strict=True)
    return Trial(index, failures=failures, **dict(rows))


@pytest.mark.parametrize("n_starts", [1, 5])
@pytest.mark.parametrize("failed", [(), (3,)], ids=["complete", "failed"])
def test_round_trip_of_packed_trials(failed, n_starts):
    plan = plan_of(KS, 4, n_starts=n_starts)
    trial = trial_of(failures=tuple(Failure(k, 1, plan.seeds[1], "why") for k in failed), n_starts=n_starts)
    packed = json.loads(json.dumps(pack_trial(trial, plan), allow_nan=False))
    assert ("failures" in packed) == bool(failed)
    # The plain forms can be compared, because they have None instead of NaN.
    plain = dump_trial(trial, plan)
    assert ("best_micro" in plain) == ("best_macro" in plain) == (n_starts > 1)
    assert unpack_trial(packed, 1, plan) == unpack_trial(plain, 1, plan) == plain
    assert dump_trial(read_trial(packed, 1, plan), plan) == plain


@pytest.mark.parametrize("change", [lambda text: text + "AAAA", lambda text: text[:-2], lambda text: f"?{text}"])
def test_invalid_packed_trials(change):
    plan = plan_of(KS, 4)
    packed = pack_trial(trial_of(), plan)
    with pytest.raises(ValueError, match=r"."):
        unpack_trial({**packed, "numbers": change(packed["numbers"])}, 1, plan)
    assert unpack_trial(None, 1, plan) is None


@pytest.mark.parametrize("change", [{"seed": 2}, {"after": 2}])
def test_trials_of_another_subsample(change):
    plan = plan_of(KS, 4)
    record = dump_trial(trial_of(), plan)
    assert read_trial({**record, "after": None}, 1, plan).index == 1
    with pytest.raises(ValueError, match="another subsample"):
        read_trial({**record, **change}, 1, plan)
