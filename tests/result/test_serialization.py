"""Results as plain data for strict JSON, and back; what cannot be one is refused."""

import json

import numpy as np
import pytest
from samples import made_up

from compsil_kit import SelectionResult, select_k
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
