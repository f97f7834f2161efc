"""Fingerprints distinguish functions and other objects, and are the same in every process."""

from __future__ import annotations

import functools
import os
import subprocess
import sys

import numba
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.cluster import AgglomerativeClustering, KMeans
from small_runs import X, split

from compsil_kit._run import fingerprint
from compsil_kit.adapters import make_plan, open_data
from compsil_kit.config import SelectionConfig


def make(shift, notes=None):
    def inner(X, k, seed):
        if notes is not None:
            notes.append(k)
        return (np.arange(X.shape[0]) + shift) % k

    return inner


def with_default(X, k, seed, shift=1):
    return (np.arange(X.shape[0]) + shift) % k


class Shifted:
    def __init__(self, shift):
        self.shift, self.log = shift, []

    def __call__(self, X, k, seed):
        self.log.append(k)
        return (np.arange(X.shape[0]) + self.shift) % k

    def method(self, X, k, seed):
        return self(X, k, seed)


def endless(n):
    def again(X, k, seed):
        return split(X, k, seed) if n else again(X, k, seed)

    return again


PAIRS = {
    "captured number": lambda n: make(n),
    "captured text": lambda n: functools.wraps(split)(make(str(n))),
    "captured array": lambda n: make(np.arange(3) + n),
    "captured function": lambda n: make(make(n)),
    "default": lambda n: lambda X, by=n: X % by,
    "keyword-only default": lambda n: lambda X, *, by=n: X % by,
    "partial": lambda n: functools.partial(with_default, shift=n),
    "object": Shifted,
    "method": lambda n: Shifted(n).method,
    "itself": endless,
    "estimator": lambda n: KMeans(n_init=n),
    "array": lambda n: KMeans(init=np.full((2, 3), n)),
    "nested": lambda n: KMeans(init=make(n)),
    "matrix": lambda n: AgglomerativeClustering(connectivity=sparse.eye_array(5) * n),
    "mapping": lambda n: {"a": [1, {n}], "b": (None, 2.5)},
    "object array": lambda n: np.array([n, None]),
    "cached": lambda n: functools.lru_cache(make(n)),
}


@pytest.mark.parametrize("build", PAIRS.values(), ids=PAIRS)
def test_descriptions_are_equal_only_for_equal_objects(build):
    assert fingerprint.describe(build(3)) == fingerprint.describe(build(3))
    assert fingerprint.describe(build(3)) != fingerprint.describe(build(4))


def test_the_order_of_a_mapping_does_not_matter():
    here, there = functools.partial(with_default, k=2, shift=1), functools.partial(with_default, shift=1, k=2)
    assert fingerprint.describe(here) == fingerprint.describe(there)


def test_functions_are_described_by_code_but_not_by_mutable_state():
    bodies = [eval(f"lambda X, k, seed: {body}") for body in ("X + 1", "X + 2", "X - 1", "X @ k")]
    assert len({fingerprint.describe(function) for function in [*bodies, np.add, np.subtract]}) == 6
    assert fingerprint.describe(numba.njit(split)) == fingerprint.describe(split)
    notes = []
    taking = make(1, notes)
    before = fingerprint.describe(taking)
    taking(X, 2, 0)
    assert notes == [2]
    assert fingerprint.describe(taking) == before


def test_an_unassigned_captured_variable_can_be_described():
    def outer():
        def inner(X, k, seed):
            return later

        text = fingerprint.describe(inner)
        later = 1
        return text, later

    assert "inner" in outer()[0]


def test_the_description_is_the_same_in_another_process():
    code = (
        "from compsil_kit._run.fingerprint import describe; import numpy as np\n"
        "f = lambda X, k, seed: k in {'a', 'b', 'c', 'd'} or np.float64(3)\n"
        "print(describe(f), describe({'x', 'y', 'z'}), describe(np.float64(3)))"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in "123"
    }
    assert len(texts) == 1


def test_descriptions_contain_the_versions_of_other_packages():
    assert fingerprint.describe(pd.DataFrame).endswith(f"(pandas {pd.__version__})")
    assert fingerprint.describe(KMeans) == "sklearn.cluster._kmeans.KMeans"


def test_the_fingerprint_contains_the_number_of_common_rows():
    X = np.random.default_rng(0).normal(size=(400, 2))
    data = open_data(X)
    few, many = (
        fingerprint.fingerprint(make_plan(data, SelectionConfig(ks=[2, 3], sample_size=size)), data)
        for size in (60, 59)
    )
    assert "rows for stability" not in few
    assert many["rows for stability"] == 59
    assert fingerprint.differences(few, many)[-1] == "rows for stability was not given and is now 59"


def test_differences_show_at_most_80_characters_of_a_value():
    (text,) = fingerprint.differences({"metric": "x" * 81}, {"metric": "y" * 80})
    assert text == f"metric was {'x' * 77}... and is now {'y' * 80}"
