"""Results, batches and checkpoints that were damaged or forged are refused with a clear message, or change nothing."""

import json
import math
from pathlib import Path

import pytest
from sklearn.datasets import make_blobs

from compsil_kit import Plan, SelectionResult, combine_batches, plan_batches, run_batch, select_k
from compsil_kit._result.records import unpack_trial
from compsil_kit._run.fingerprint import _versions
from compsil_kit._util.schema import digest, signed

X = make_blobs([300, 180, 90, 30], 3, cluster_std=[1.0, 0.8, 0.6, 0.5], random_state=7)[0]
SETTINGS = {"ks": range(2, 6), "n_subsamples": 4}
ATTACK = "<img src=x onerror=alert(1)>"


def result():
    def unlucky(X, k, seed):
        if k == 3 and seed % 2:
            raise ValueError("no luck")
        return (X[:, 0].argsort().argsort() * k) // len(X)

    return select_k(X, ks=range(2, 6), n_subsamples=6, clusterer=unlucky, on_failure="skip")


@pytest.fixture(scope="module")
def saved():
    return json.loads(json.dumps(result().to_dict()))


def change(data, path, value):
    """A copy with another value at a path, and with the digest that a forger would put there."""
    data = json.loads(json.dumps(data))
    *way, last = path
    place = data
    for step in way:
        place = place[step]
    place[last] = value
    return signed({name: entry for name, entry in data.items() if name != "digest"})


FORGED = [
    (("plan", "ks"), [-1, -2, 3, 4]),
    (("plan", "ks"), [5, 4, 3, 2]),
    (("plan", "ks"), []),
    (("plan", "ks"), "2345"),
    (("plan", "seeds"), [1, 2]),
    (("plan", "seeds", 0), 2**40),
    (("plan", "n_subsamples"), 10**9),
    (("plan", "sample_size"), 10**6),
    (("plan", "n_rows"), "many"),
    (("plan", "clusterer"), {"name": ATTACK}),
    (("plan", "dtype"), "object"),
    (("trials", "micro", 0, 0), 1e9),
    (("trials", "micro", 0, 0), "0.5"),
    (("trials", "micro", 0, 0), True),
    (("trials", "micro", 0, 0), 10**400),
    (("trials", "macro", 1, 1), -1.5),
    (("trials", "micro"), [[0.1] * 4] * 6),
    (("trials", "micro", 0), None),
    (("trials", "subsamples"), [0, 0, 1, 2, 3, 4]),
    (("trials", "subsamples"), [5, 4, 3, 2, 1, 0]),
    (("trials", "subsamples", 5), 99),
    (("trials",), None),
    (("calibration",), []),
    (("rule",), "foo"),
    (("rule",), ["max"]),
    (("z",), -1),
    (("z",), "1"),
    (("transform",), 7),
    (("transform",), "cube"),
    (("failures", 0, "k"), ATTACK),
    (("failures", 0, "k"), 99),
    (("failures", 0, "subsample"), ATTACK),
    (("failures", 0, "seed"), ATTACK),
    (("failures", 0, "cause"), 3),
    (("failures",), {"k": 1}),
    (("preparation",), {"columns": 3}),
    (("preparation",), "x"),
    (("versions",), [1]),
    (("versions", "numpy"), 2),
    (("version",), 99),
    (("format",), "something else"),
]


@pytest.mark.parametrize(("path", "value"), FORGED, ids=lambda part: str(part)[:40])
def test_a_forged_result_is_refused(saved, path, value):
    with pytest.raises(ValueError, match="data") as refused:
        SelectionResult.from_dict(change(saved, path, value))
    assert ATTACK not in str(refused.value)


def test_a_changed_result_is_noticed_by_its_digest(saved):
    changed = json.loads(json.dumps(saved))
    changed["trials"]["micro"][0][0] = changed["trials"]["micro"][0][0] / 2
    with pytest.raises(ValueError, match="changed or damaged since it was written"):
        SelectionResult.from_dict(changed)
    # Files of the first release have no digest.
    del changed["digest"]
    assert math.isfinite(SelectionResult.from_dict(changed).best_score)


@pytest.mark.parametrize("name", ["plan", "trials", "rule", "weights", "failures", "versions", "preparation"])
def test_an_incomplete_result_is_refused(saved, name):
    missing = {key: value for key, value in saved.items() if key not in (name, "digest")}
    with pytest.raises(ValueError, match="data"):
        SelectionResult.from_dict(missing)


def test_a_digest_survives_other_programs():
    """JavaScript writes 1.0 as 1, and others order keys as they like."""
    assert digest({"a": 1.0, "b": [2, None, "x"]}) == digest({"b": [2.0, None, "x"], "a": 1})
    assert digest({"a": 1.5}) != digest({"a": 1.25})


BATCH_FORGED = [
    (("trials", 0, "micro", 0), 1e9),
    (("trials", 0, "micro"), [0.1]),
    (("trials", 0, "seed"), -1),
    (("trials", 0, "failures"), [{"k": ATTACK, "cause": "x"}]),
    (("trials", 0, "failures"), 7),
    (("trials",), None),
    (("plan", "ks"), [-1, -2]),
    (("plan",), None),
    (("indices",), ["a"]),
    (("indices",), None),
    (("fingerprint",), None),
    (("versions",), None),
]


@pytest.mark.parametrize(("path", "value"), BATCH_FORGED, ids=lambda part: str(part)[:40])
def test_a_forged_batch_is_refused(path, value):
    batches = [run_batch(X, batch) for batch in plan_batches(X, n_batches=2, **SETTINGS)]
    # Numbers may stand in a list, as earlier releases wrote them.
    listed = [
        unpack_trial(trial, index, Plan.from_dict(batches[0]["plan"]))
        for index, trial in zip(batches[0]["indices"], batches[0]["trials"], strict=True)
    ]
    forged = change({**batches[0], "trials": listed}, path, value)
    with pytest.raises(ValueError, match="batch") as refused:
        combine_batches([forged, batches[1]])
    assert ATTACK not in str(refused.value)


def test_every_flipped_bit_of_a_checkpoint_is_noticed_or_harmless(tmp_path):
    """A flip is refused, or it changes nothing that is read."""
    path = tmp_path / "run.json"
    whole = select_k(X, checkpoint=path, **SETTINGS)
    content = path.read_bytes()
    first = select_k(X, checkpoint=path, **{**SETTINGS, "n_subsamples": 2})
    assert first.micro.tolist() == whole.micro[:, :2].tolist()
    refused = 0
    # Every seventh bit, so that all positions in a byte take part.
    for bit in range(0, 8 * len(content), 7):
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << (bit % 8)
        path.write_bytes(damaged)
        try:
            found = select_k(X, checkpoint=path, **SETTINGS)
        except ValueError as error:
            refused += "checkpoint" in str(error)
        else:
            assert found.micro.tolist() == whole.micro.tolist()
            assert found.macro.tolist() == whole.macro.tolist()
    assert refused > 0.9 * (8 * len(content) / 7)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("trials", 0, "micro", 0), 1.036),
        (("trials", 0, "seed"), "3"),
        (("trials", 0, "failures"), [{"k": ATTACK, "cause": "x"}]),
        (("trials",), {"a": 1}),
        (("fingerprint",), [1]),
    ],
)
def test_a_forged_checkpoint_is_refused(path, value, tmp_path):
    file = tmp_path / "run.json"
    select_k(X, checkpoint=file, **SETTINGS)
    file.write_text(json.dumps(change(json.loads(file.read_text()), path, value)))
    with pytest.raises(ValueError, match=r"checkpoint: .* damaged"):
        select_k(X, checkpoint=file, **SETTINGS)


def test_a_checkpoint_without_a_digest_is_read(tmp_path):
    """As the first release wrote it."""
    file = tmp_path / "run.json"
    data = json.loads((Path(__file__).parent / "files" / "checkpoint.json").read_text())
    assert "digest" not in data
    data["fingerprint"].update(_versions())
    file.write_text(json.dumps(data))
    assert select_k(X, checkpoint=file, **SETTINGS).n_subsamples == 4
