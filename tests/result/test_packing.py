"""Trials as short text: read back to the last bit, and damage is told."""

import json

import numpy as np
import pytest
from samples import plan_of

from compsil_kit._result.records import dump_trial, pack_trial, read_trial, unpack_trial
from compsil_kit._result.trials import Failure, Trial

KS = (2, 3, 4)


def trial(index=1, *, failures=(), n_starts=1):
    rng = np.random.default_rng(index)
    names = ("micro", "macro", "agreement", "within", *(("best_micro", "best_macro") if n_starts > 1 else ()))
    numbers = rng.uniform(-1, 1, (len(names), len(KS)))
    names, numbers = (*names, "small"), np.vstack([numbers, [0.0, 1.0, 1.0]])
    for failure in failures:
        numbers[:, KS.index(failure.k)] = np.nan
    return Trial(
        index, failures=failures, **{name: tuple(row) for name, row in zip(names, numbers.tolist(), strict=True)}
    )


@pytest.mark.parametrize("n_starts", [1, 5])
@pytest.mark.parametrize("failures", [(), (3,)], ids=["whole", "failed"])
def test_a_packed_trial_is_read_back(failures, n_starts):
    plan = plan_of(KS, 4, n_starts=n_starts)
    failed = tuple(Failure(k, 1, plan.seeds[1], "why") for k in failures)
    before = trial(failures=failed, n_starts=n_starts)
    packed = json.loads(json.dumps(pack_trial(before, plan), allow_nan=False))
    assert ("failures" in packed) == bool(failures)
    record = unpack_trial(packed, 1, plan)
    # None stands for what is undefined, so the plain forms can be compared.
    assert record == dump_trial(before, plan)
    assert dump_trial(read_trial(packed, 1, plan), plan) == dump_trial(before, plan)


def test_what_is_not_packed_is_left_alone():
    record = dump_trial(trial(), plan_of(KS, 4))
    assert unpack_trial(record, 1, plan_of(KS, 4)) is record
    assert unpack_trial(None, 1, plan_of(KS, 4)) is None


@pytest.mark.parametrize("change", [lambda text: text + "AAAA", lambda text: text[:-2], lambda text: f"?{text}"])
def test_text_of_another_length_or_alphabet_is_refused(change):
    plan = plan_of(KS, 4)
    packed = pack_trial(trial(), plan)
    with pytest.raises(ValueError, match=r"."):
        unpack_trial({**packed, "numbers": change(packed["numbers"])}, 1, plan)


@pytest.mark.parametrize("change", [{"seed": 2}, {"after": 2}])
def test_the_trial_of_another_subsample_is_refused(change):
    plan = plan_of(KS, 4)
    record = dump_trial(trial(), plan)
    assert read_trial({**record, "after": None}, 1, plan).index == 1
    with pytest.raises(ValueError, match="another subsample"):
        read_trial({**record, **change}, 1, plan)
