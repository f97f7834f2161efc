"""Round trips of results, plans and trials through strict JSON, and rejection of invalid data."""

import json
import math
from functools import reduce

import numpy as np
import pytest
from samples import made_up, plan_of

from compsil_kit import Plan, SelectionResult, select_k
from compsil_kit._data.dataset import Preparation
from compsil_kit._method.structure import REFERENCE_KINDS, Structure
from compsil_kit._result.records import (
    dump,
    dump_trial,
    load_trial,
    pack_trial,
    read_trial,
    rebuild,
    unpack_trial,
)
from compsil_kit._result.trials import Failure, Trial
from compsil_kit._util.schema import signed
from compsil_kit.datasets import imbalanced_blobs

KS = (2, 3, 4)
ATTACK = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def imbalanced():
    return select_k(imbalanced_blobs()[0], n_subsamples=12)


@pytest.mark.parametrize("kind", ["plain", "custom", "lcb", "calibrated", "failed", "partial"])
def test_results_survive_a_round_trip_through_json(imbalanced, kind):
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


@pytest.fixture(scope="module")
def saved(blobs):
    """A result with failed clusterings, as JSON."""

    def unlucky(X, k, seed):
        if k == 3 and seed % 2:
            raise ValueError("no luck")
        return (X[:, 0].argsort().argsort() * k) // len(X)

    result = select_k(blobs, ks=range(2, 6), n_subsamples=6, clusterer=unlucky, on_failure="skip")
    return json.dumps(result.to_dict())


FORGED = {
    ("plan", "ks"): ([-1, -2, 3, 4], [5, 4, 3, 2], [2, 2, 3, 4], [], "2345"),
    ("plan", "seeds"): ([1, 2], [0, 1, 2, 3, 4, 2**32]),
    ("plan", "n_subsamples"): (10**9,),
    ("plan", "sample_size"): (5, 601),
    ("plan", "n_rows"): ("many",),
    ("plan", "clusterer"): ({"name": ATTACK},),
    ("plan", "dtype"): ("object",),
    ("trials", "micro", 0, 0): (1e9, "0.5", True, 10**400),
    ("trials", "macro", 1, 1): (-1.5,),
    ("trials", "micro"): ([[0.1] * 4] * 6,),
    ("trials", "micro", 0): (None,),
    ("trials", "subsamples"): ([0, 0, 1, 2, 3, 4], [5, 4, 3, 2, 1, 0], [0, 1, 2, 3, 4, 99]),
    ("trials",): (None,),
    ("calibration",): ([],),
    ("rule",): ("foo", ["max"]),
    ("z",): (-1, "1"),
    ("transform",): (7, "cube"),
    ("failures", 0, "k"): (ATTACK, 99),
    ("failures", 0, "subsample"): (ATTACK, -1, 6),
    ("failures", 0, "seed"): (ATTACK,),
    ("failures", 0, "cause"): (3,),
    ("failures",): ({"k": 1},),
    ("preparation",): ({"columns": 3}, "x"),
    ("versions",): ([1],),
    ("versions", "numpy"): (2,),
    ("version",): (99,),
    ("format",): ("something else",),
}


@pytest.mark.parametrize(
    ("path", "value"), [(path, value) for path, values in FORGED.items() for value in values], ids=lambda x: str(x)[:40]
)
def test_forged_results_are_rejected(saved, path, value):
    """The digest is updated, as a forger would do."""
    data = json.loads(saved)
    reduce(lambda place, step: place[step], path[:-1], data)[path[-1]] = value
    with pytest.raises(ValueError, match="data") as rejected:
        SelectionResult.from_dict(signed(data))
    assert ATTACK not in str(rejected.value)


@pytest.mark.parametrize("name", ["plan", "trials", "rule", "weights", "failures", "versions", "preparation"])
def test_incomplete_results_are_rejected(saved, name):
    missing = {key: value for key, value in json.loads(saved).items() if key not in (name, "digest")}
    with pytest.raises(ValueError, match=r"data is incomplete|data\.plan must"):
        SelectionResult.from_dict(missing)


def test_modified_results_are_rejected_because_of_their_digest(saved):
    changed = json.loads(saved)
    changed["trials"]["micro"][0][0] /= 2
    with pytest.raises(ValueError, match="changed or corrupted after it was written"):
        SelectionResult.from_dict(changed)
    # Files written by the first release have no digest.
    del changed["digest"]
    assert math.isfinite(SelectionResult.from_dict(changed).best_score)
    for other, message in (({}, "to_dict"), ({**changed, "version": 99}, "version 99")):
        with pytest.raises(ValueError, match=message):
            SelectionResult.from_dict(other)


def test_checkpoints_with_a_flipped_bit_are_rejected_or_equivalent(blobs, tmp_path):
    """A checkpoint with a flipped bit is rejected, or its trials are unchanged."""
    path, settings = tmp_path / "run.json", {"ks": range(2, 6), "n_subsamples": 4}
    whole = select_k(blobs, checkpoint=path, **settings)
    content = path.read_bytes()
    n_rejected = 0
    # Every seventh bit covers all bit positions within a byte.
    for bit in range(0, 8 * len(content), 7):
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << (bit % 8)
        path.write_bytes(damaged)
        try:
            found = select_k(blobs, checkpoint=path, **settings)
        except ValueError as error:
            n_rejected += "checkpoint" in str(error)
        else:
            assert (found.micro.tolist(), found.macro.tolist()) == (whole.micro.tolist(), whole.macro.tolist())
    assert n_rejected > 0.9 * (8 * len(content) / 7)


@pytest.mark.parametrize("changes", [{}, {"sample_size": 4}, {"sample_size": 1000}, {"seeds": [0, 1, 2**32 - 1]}])
def test_valid_plans_survive_a_round_trip(changes):
    data = {**plan_of([2, 3], 2, n_calibration=1).to_dict(), **changes}
    assert Plan.from_dict(data).to_dict() == data
    older = {name: value for name, value in data.items() if name not in ("n_starts", "structure")}
    assert Plan.from_dict(older).to_dict() == {**data, "n_starts": 1, "structure": False}


def test_structure_and_preparation_survive_a_round_trip():
    for p in (0.0, 1.0):
        structure = Structure(p, dict.fromkeys(REFERENCE_KINDS, p), -0.5, 1, 2)
        assert rebuild(Structure, json.loads(json.dumps(dump(structure))), "it") == structure
    for name in ("n_null", "n_rows"):
        with pytest.raises(ValueError, match=f"it.{name} must be"):
            rebuild(Structure, {**dump(structure), name: getattr(structure, name) - 1}, "it")
    for given in (Preparation(("a",)), Preparation(("a", "b"), ("city",), "robust", 3, ("column 'a' is odd.",))):
        assert rebuild(Preparation, json.loads(json.dumps(dump(given))), "it") == given
    assert rebuild(Structure, dump(None), "it") is None


@pytest.mark.parametrize(("value", "valid"), [(1 + 1e-10, True), (-1 - 1e-10, True), (1 + 1e-8, False), (-1.1, False)])
def test_silhouettes_may_exceed_one_only_by_rounding(value, valid):
    data = {"seed": 0, "micro": [value], "macro": [0.5], "failures": []}
    if valid:
        assert load_trial(data, 0, [2]).micro == (value,)
    else:
        with pytest.raises(ValueError, match=r"trial.micro\[0\] must be a number in"):
            load_trial(data, 0, [2])


@pytest.mark.parametrize("data", [None, [1], "micro"])
def test_load_trial_rejects_other_data(data):
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
def test_packed_trials_survive_a_round_trip(failed, n_starts):
    plan = plan_of(KS, 4, n_starts=n_starts)
    trial = trial_of(failures=tuple(Failure(k, 1, plan.seeds[1], "why") for k in failed), n_starts=n_starts)
    packed = json.loads(json.dumps(pack_trial(trial, plan), allow_nan=False))
    assert ("failures" in packed) == bool(failed)
    # Plain data can be compared, because they contain None instead of NaN.
    plain = dump_trial(trial, plan)
    assert ("best_micro" in plain) == ("best_macro" in plain) == (n_starts > 1)
    assert unpack_trial(packed, 1, plan) == unpack_trial(plain, 1, plan) == plain
    assert dump_trial(read_trial(packed, 1, plan), plan) == plain


@pytest.mark.parametrize("change", [lambda text: text + "AAAA", lambda text: text[:-2], lambda text: f"?{text}"])
def test_invalid_packed_trials_are_rejected(change):
    plan = plan_of(KS, 4)
    packed = pack_trial(trial_of(), plan)
    with pytest.raises(ValueError, match=r"."):
        unpack_trial({**packed, "numbers": change(packed["numbers"])}, 1, plan)
    assert unpack_trial(None, 1, plan) is None


@pytest.mark.parametrize("change", [{"seed": 2}, {"after": 2}])
def test_trials_of_another_subsample_are_rejected(change):
    plan = plan_of(KS, 4)
    record = dump_trial(trial_of(), plan)
    assert read_trial({**record, "after": None}, 1, plan).index == 1
    with pytest.raises(ValueError, match="a different subsample"):
        read_trial({**record, **change}, 1, plan)
