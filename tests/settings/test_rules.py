"""Keywords that cannot be used: refused before computing, with the name, the rule and what was given."""

from __future__ import annotations

import decimal
import fractions
import math

import numpy as np
import pytest

from compsil_kit import select_k
from compsil_kit._settings import rules

GOOD = np.random.default_rng(0).normal(size=(40, 3)) + np.repeat([[0.0], [8.0]], 20, axis=0)

INTEGERS = (True, np.True_, "3", 2.7, 3.0, np.float64(3), None, math.nan, math.inf, [3], (), {}, b"3", 3j, object())
WORDS = (True, 0, 1.5, None, [], ["max"], {}, b"max", object())
TYPES = {
    "ks": (
        "ks must be integers of at least 2",
        (True, np.True_, "2", "23", b"23", 2.7, math.nan, None, {2: 3}, object(), 2j, fractions.Fraction(5, 2)),
    ),
    "n_subsamples": ("n_subsamples must be an integer of at least 1", INTEGERS),
    "n_calibration": ("n_calibration must be an integer of at least 0", INTEGERS),
    "sample_size": (
        r"sample_size must be 'auto', 'paper', an integer number of rows, or a fraction of the rows in \(0, 1\]",
        (True, np.True_, None, [3], (), {}, b"3", 3j, object(), decimal.Decimal(1)),
    ),
    "metric": ("metric must be a name or a function", (True, 2, 1.5, None, ["euclidean"], b"euclidean", object())),
    "clusterer": ("clusterer must be a name .*a scikit-learn estimator, or a function", WORDS),
    "transform": ("transform must be one of 'tanh', .*or a function", WORDS),
    "rule": ("rule must be one of 'max', 'lcb'", WORDS),
    "on_failure": ("on_failure must be one of 'raise', 'skip'", WORDS),
    "z": ("z must be a number in", (True, np.True_, "1", None, [1.0], (), {}, 1j, decimal.Decimal(1), object())),
    "n_jobs": (
        "n_jobs must be None, a number of workers, or -1",
        (True, np.True_, "2", 2.7, 2.0, math.nan, [2], (), {}, object()),
    ),
    "random_state": (
        "random_state must be an integer, None, or a sequence",
        (True, "42", b"42", 4.2, 42.0, math.nan, {1, 2}, {}, object(), np.random.RandomState(0)),
    ),
    "progress": ("progress must be True, False, None", ("yes", 1, 0, 1.5, [], object())),
}


@pytest.mark.parametrize(
    ("name", "value"), [pytest.param(name, value) for name, (_, values) in TYPES.items() for value in values]
)
def test_parameters_of_the_wrong_type_are_refused(name, value):
    with pytest.raises(TypeError, match=f"^{TYPES[name][0]}.*; got .+"):
        select_k(GOOD, **{"ks": (2, 3), "n_subsamples": 2, name: value})


VALUES = [
    ("ks", [], "ks must hold at least one integer of at least 2; it is empty"),
    ("ks", range(5, 5), "ks must hold at least one integer"),
    ("ks", 1, "ks must be .*at least 2; got 1"),
    ("ks", -3, "ks must be .*at least 2; got -3"),
    ("ks", [2, 0], "ks must be .*at least 2; got 0"),
    ("ks", -(10**5000), "ks must be .*at least 2; got an integer of 16610 bits"),
    ("ks", 40, "ks must be smaller than the number of rows, 40; got k=40"),
    ("n_subsamples", 0, "n_subsamples must be an integer of at least 1; got 0"),
    ("n_subsamples", -5, "n_subsamples must be an integer of at least 1; got -5"),
    ("n_calibration", -1, "n_calibration must be an integer of at least 0; got -1"),
    ("sample_size", 0, "sample_size must be an integer of at least 3; got 0"),
    ("sample_size", -4, "sample_size must be an integer of at least 3; got -4"),
    ("sample_size", 41, "sample_size must be at most the number of rows, 40; got 41"),
    ("sample_size", 0.0, "sample_size .*at least 3; got 0"),
    ("sample_size", 0.01, "sample_size .*at least 3; got 0"),
    ("sample_size", -0.5, r"sample_size as a fraction must be a number in .0, 1\]; got -0.5"),
    ("sample_size", 1.5, r"sample_size as a fraction must be a number in .0, 1\]; got 1.5"),
    ("sample_size", 30.0, r"sample_size as a fraction must be a number in .0, 1\]; got 30.0"),
    ("sample_size", math.nan, "sample_size as a fraction.*; got nan"),
    ("sample_size", "all", "sample_size must be .*'auto'.*; got 'all'"),
    ("sample_size", "30", "sample_size must be .*'auto'.*; got '30'"),
    ("metric", "Euclidean", "metric must be a function or one of .*cosine, .*euclidean, .*; got 'Euclidean'"),
    ("metric", "nan_euclidean", "metric must be a function or one of"),
    ("metric", "", "metric must be a function or one of .*; got ''"),
    ("clusterer", "k-means", "clusterer must be one of 'kmeans', .*'clara'; got 'k-means'"),
    ("clusterer", "", "clusterer must be one of 'kmeans'"),
    ("transform", "TANH", "transform must be one of 'tanh', .*; got 'TANH'"),
    ("rule", "LCB", "rule must be one of 'max', 'lcb'; got 'LCB'"),
    ("on_failure", "ignore", "on_failure must be one of 'raise', 'skip'; got 'ignore'"),
    ("z", -0.1, r"z must be a number in \[0, .*; got -0.1"),
    ("z", math.nan, "z must be a number in .*; got nan"),
    ("z", math.inf, "z must be a number in .*; got inf"),
    ("z", 10**400, "z must be a number in .*; got an integer of 1329 bits"),
    ("n_jobs", 0, "n_jobs must be None, a number of workers, or -1 for all cores, or 'auto'; got 0"),
    ("random_state", -1, "random_state must be made of integers from 0 to 4294967295; got -1"),
    ("random_state", 2**32, "random_state must be made of integers from 0 to 4294967295; got 4294967296"),
    ("random_state", [1], "random_state as a sequence must hold one seed per subsample: 2 are needed, got 1"),
    ("random_state", range(3), "2 are needed, got 3. Pass as many seeds as subsamples, or a single integer"),
    ("random_state", [1, -1], "random_state must be made of integers from 0 to 4294967295; got -1"),
]


@pytest.mark.parametrize(
    ("name", "value", "message"), [pytest.param(*case, id=f"{case[0]}-{i}") for i, case in enumerate(VALUES)]
)
def test_parameters_out_of_range_are_refused(name, value, message):
    with pytest.raises(ValueError, match=message):
        select_k(GOOD, **{"ks": (2, 3), "n_subsamples": 2, name: value})


ELEMENTS = [
    ("ks", [2, 2.5], "2.5"),
    ("ks", ["2"], "'2'"),
    ("ks", [True, 3], "True"),
    ("ks", [None], "None"),
    ("ks", np.array([[2, 3]]), "ndarray"),
    ("ks", np.array([2.0, 3.0]), "2.0"),
    ("random_state", [1.0, 2.0], "1.0"),
    ("random_state", ["1", "2"], "'1'"),
    ("random_state", [True, False], "True"),
]


@pytest.mark.parametrize(("name", "value", "got"), ELEMENTS)
def test_elements_of_the_wrong_type_are_refused(name, value, got):
    with pytest.raises(TypeError, match=f"^{name} must be .*integer.*; got .*{got}"):
        select_k(GOOD, **{"ks": (2, 3), "n_subsamples": 2, name: value})


FINE = [
    ("ks", np.int64(3)),
    ("ks", {3, 2}),
    ("ks", [3, 2, 3]),
    ("ks", np.array([3, 2, 3], np.uint8)),
    ("n_subsamples", np.int32(2)),
    ("sample_size", np.float32(0.5)),
    ("sample_size", np.int16(20)),
    ("z", np.float32(2)),
    ("random_state", np.array([5, 6])),
    ("random_state", (5, 6)),
    ("random_state", np.uint32(7)),
    ("n_jobs", np.int64(1)),
]


@pytest.mark.parametrize(("name", "value"), FINE)
def test_numpy_numbers_and_other_collections_are_fine(name, value):
    result = select_k(GOOD, **{"ks": (2, 3), "n_subsamples": 2, name: value})
    assert result.best_k in (2, 3)
    assert list(result.ks) == sorted(set(result.ks))


def test_one_subsample_has_no_standard_error_to_maximise():
    with pytest.raises(ValueError, match="n_subsamples with rule='lcb' must be an integer of at least 2; got 1"):
        select_k(GOOD, rule="lcb", n_subsamples=1)


# --- by themselves ----------------------------------------------------------------------------------------------------


def test_bounds_and_words():
    assert rules.integer("n", minimum=1)(3) == 3
    with pytest.raises(ValueError, match="n must be an integer of at most 5; got 6"):
        rules.integer("n", minimum=1, maximum=5)(6)
    assert rules.choice("rule", ("max", "lcb"))("lcb") == "lcb"
    with pytest.raises(ValueError, match="rule must be one of 'max', 'lcb'; got 'best'"):
        rules.choice("rule", ("max", "lcb"))("best")
    assert rules.optional(rules.integer("n", minimum=1))(None) is None
    with pytest.raises(ValueError, match="at least 1; got 0"):
        rules.optional(rules.integer("n", minimum=1))(0)


def test_a_clusterer_by_name_is_not_built():
    assert rules.check_clusterer("kmedoids") == "kmedoids"
    estimator = object()
    with pytest.raises(TypeError, match="clusterer must be a name"):
        rules.check_clusterer(estimator)


def test_a_metric_is_checked_by_itself():
    assert rules.check_metric("cosine") == "cosine"
    with pytest.raises(ValueError, match="metric must be a function or one of"):
        rules.check_metric("luck")


@pytest.mark.parametrize("n_jobs", [None, 1, -1, -2, 8, np.int32(4), 999_999, "auto"])
def test_numbers_of_workers(n_jobs):
    assert rules.check_n_jobs(n_jobs) == n_jobs


@pytest.mark.parametrize("n_jobs", [0, 10**6, -(10**6)])
def test_impossible_numbers_of_workers(n_jobs):
    with pytest.raises(ValueError, match="n_jobs must be None, a number of workers"):
        rules.check_n_jobs(n_jobs)


@pytest.mark.parametrize("progress", [None, True, False, print])
def test_ways_to_tell_progress(progress):
    assert rules.check_progress(progress) is progress


def test_too_many_seeds_are_refused_before_they_are_looked_at(monkeypatch):
    with pytest.raises(ValueError, match="one seed per subsample, 1,000,000 at most; got 1,000,001"):
        rules.check_random_state(range(1_000_001))
    assert rules.check_random_state(range(1, 4)) == range(1, 4)
    assert rules.check_random_state(None) is None
    monkeypatch.setattr(rules, "MOST", 3)
    assert rules.check_random_state([7, 8, 9]) == [7, 8, 9]


def test_places_for_a_checkpoint(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert rules.check_checkpoint(None) is None
    assert rules.check_checkpoint("run.json") == tmp_path / "run.json"
    assert rules.check_checkpoint(tmp_path / "run.json").is_absolute()
    (tmp_path / "link.json").symlink_to(tmp_path / "real.json")
    assert rules.check_checkpoint("link.json") == tmp_path / "real.json"
    with pytest.raises(FileNotFoundError, match="no such folder for the checkpoint"):
        rules.check_checkpoint("missing/run.json")
    with pytest.raises(IsADirectoryError, match="checkpoint must be a file"):
        rules.check_checkpoint(tmp_path)
    with pytest.raises(TypeError, match="checkpoint must be the path of a file, or None; got 3"):
        rules.check_checkpoint(3)


def test_criteria_come_in_the_order_in_which_they_are_shown():
    assert rules.check_criteria("all") == rules.check_criteria(["all"]) == rules.CRITERIA
    assert rules.check_criteria(["gap", "micro", "gap"]) == ("micro", "gap")
    assert rules.check_criteria("elbow") == ("elbow",)
    for wrong, error in ((["luck"], ValueError), (["all", "gap"], ValueError), ([], TypeError), (None, TypeError)):
        with pytest.raises(error, match=r"^criteria must be"):
            rules.check_criteria(wrong)
