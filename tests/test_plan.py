"""What is decided before computing: candidates, the size of a subsample, the work ahead."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from samples import plan_of

from compsil_kit import Plan, plan_selection, select_k
from compsil_kit._method import cost
from compsil_kit._method.subsample import resolve_sample_size

GOOD = np.random.default_rng(0).normal(size=(40, 3)) + np.repeat([[0.0], [8.0]], 20, axis=0)


@pytest.mark.parametrize("k", [20, 25])
def test_as_many_clusters_as_rows_are_refused(k):
    with pytest.raises(ValueError, match=f"ks must be smaller.*got k={k} .*Pass smaller ks, or a larger sample_size"):
        select_k(GOOD, ks=(2, k), sample_size=20)


@pytest.mark.parametrize(
    ("n_rows", "k_max", "size"),
    [
        (2000, 10, 1600),
        (2001, 10, 1200),
        (20_000, 10, 12_000),
        (20_001, 10, 8000),
        (100, 2, 80),
        (100, 10, 100),
        (1000, 30, 900),
        (50_000, 10, 20_000),
        (50_001, 10, 20_000),
        (10**9, 10, 20_000),
        (10**9, 700, 21_000),
    ],
)
def test_the_automatic_size_of_a_subsample(n_rows, k_max, size):
    assert resolve_sample_size("auto", n_rows, k_max) == size


def test_sizes_of_the_paper_and_sizes_that_are_given():
    assert [resolve_sample_size("paper", n, 10) for n in (2000, 50_000, 1_000_000)] == [1600, 20_000, 400_000]
    assert resolve_sample_size(500, 1000, 10) == 500
    assert resolve_sample_size(0.25, 1001, 10) == 250
    assert resolve_sample_size(1.0, 1000, 10) == 1000
    with pytest.raises(ValueError, match="sample_size must be at most the number of rows, 1000; got 1001"):
        resolve_sample_size(1001, 1000, 10)
    with pytest.raises(ValueError, match="sample_size in rows must be an integer of at least 3; got 2"):
        resolve_sample_size(0.002, 1000, 10)


def test_the_work_ahead():
    plan = plan_of([2, 3, 5], 4, n_calibration=2)
    assert plan.n_clusterings == 6 * 3
    assert plan.n_pairs == 6 * 800 * 799 // 2
    assert not plan.whole_data
    assert plan_of([2], 3, sample_size=1000).whole_data


def test_each_scored_subsample_but_the_first_is_compared_with_the_one_before():
    plan = plan_of([2], 3, n_calibration=2)
    assert [plan.before(at) for at in range(5)] == [None, 0, 1, None, None]


def test_what_older_plans_do_not_say():
    """Files of earlier releases have neither."""
    fields = {name: value for name, value in vars(plan_of([2], 3)).items() if name not in ("n_starts", "structure")}
    assert (Plan(**fields).n_starts, Plan(**fields).structure) == (1, False)


def test_metrics_with_a_closed_form_need_no_pairs():
    plans = [plan_selection(GOOD, ks=[2], metric=metric) for metric in ("euclidean", "manhattan", "cosine")]
    assert [bool(plan.n_pairs) for plan in plans] == [True, True, False]


def test_a_plan_in_words(monkeypatch):
    monkeypatch.setattr(cost, "has", lambda name: False)
    text = str(plan_selection(GOOD, ks=[2, 3, 4], n_subsamples=5, n_calibration=2, sample_size=20))
    assert text == (
        "5 subsamples and 2 for calibration of 20 of 40 rows (3 features, float64)\n"
        "k in 2..4, clusterer kmeans, metric euclidean\n"
        "21 clusterings, 1,330 pairs of distances, about a second with one worker"
    )


def test_rows_read_and_kept_of_a_table_outside_memory():
    plan = plan_of([2], 3, sample_size=20_000)
    plan = dataclasses.replace(plan, n_rows=10**8, scanned_bytes=4 * 10**9)
    assert str(plan).startswith("reads 100,000,000 rows once (4.0 GB), keeps about 61,987\n3 subsamples of 20,000 of")
    plan = dataclasses.replace(plan_of([2, 3], 200, sample_size=20_000), n_rows=500_000)
    assert plan.n_common == 2_000
    assert 499_800 < plan.n_fetched <= 500_000


@pytest.mark.parametrize(
    ("changes", "n_common"),
    [
        ({}, 2_000),
        ({"clusterer": "KMeans"}, 2_000),
        ({"sample_size": 1_500}, 1_500),
        ({"n_rows": 400_001}, 2_000),
        ({"n_rows": 400_000}, 0),
        ({"clusterer": "gmm"}, 0),
        ({"metric": "manhattan"}, 0),
        # Too few shared rows for the largest k, though a twentieth of them is shared: 15 and 14.
        ({"n_rows": 300, "sample_size": 68, "ks": (3, 5)}, 0),
        ({"n_rows": 300, "sample_size": 67, "ks": (3, 5)}, 67),
    ],
)
def test_rows_on_which_clusterings_are_compared(changes, n_common):
    plan = dataclasses.replace(plan_of([2], 3, sample_size=20_000), n_rows=10**6)
    assert dataclasses.replace(plan, **changes).n_common == n_common
