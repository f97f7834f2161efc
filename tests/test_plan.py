"""Plans: candidates, the subsample size, and the amount of work."""

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
def test_as_many_clusters_as_rows_raise(k):
    with pytest.raises(
        ValueError, match=f"ks must be smaller.*got k={k} .*Pass smaller values of k, or a larger sample_size"
    ):
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
def test_automatic_sample_size_depends_on_rows_and_k(n_rows, k_max, size):
    assert resolve_sample_size("auto", n_rows, k_max) == size


def test_explicit_and_paper_sample_sizes():
    assert [resolve_sample_size("paper", n, 10) for n in (2000, 50_000, 1_000_000)] == [1600, 20_000, 400_000]
    assert resolve_sample_size(500, 1000, 10) == 500
    assert resolve_sample_size(0.25, 1001, 10) == 250
    assert resolve_sample_size(1.0, 1000, 10) == 1000
    with pytest.raises(ValueError, match="sample_size must be at most the number of rows, 1000; got 1001"):
        resolve_sample_size(1001, 1000, 10)
    with pytest.raises(ValueError, match="sample_size in rows must be an integer of at least 3; got 2"):
        resolve_sample_size(0.002, 1000, 10)


def test_a_plan_counts_clusterings_and_pairs():
    plan = plan_of([2, 3, 5], 4, n_calibration=2)
    assert plan.n_clusterings == 6 * 3
    assert plan.n_pairs == 6 * 800 * 799 // 2
    assert not plan.whole_data
    assert plan_of([2], 3, sample_size=1000).whole_data


def test_each_scored_subsample_is_compared_with_the_previous_one():
    plan = plan_of([2], 3, n_calibration=2)
    assert [plan.before(at) for at in range(5)] == [None, 0, 1, None, None]


def test_missing_fields_of_older_plans_have_defaults():
    """Files written by earlier releases lack these fields."""
    fields = {name: value for name, value in vars(plan_of([2], 3)).items() if name not in ("n_starts", "structure")}
    assert (Plan(**fields).n_starts, Plan(**fields).structure) == (1, False)


def test_metrics_with_a_closed_form_need_no_pairs():
    plans = [plan_selection(GOOD, ks=[2], metric=metric) for metric in ("euclidean", "manhattan", "cosine")]
    assert [bool(plan.n_pairs) for plan in plans] == [True, True, False]


def test_a_plan_can_be_printed(monkeypatch):
    monkeypatch.setattr(cost, "has", lambda name: False)
    text = str(plan_selection(GOOD, ks=[2, 3, 4], n_subsamples=5, n_calibration=2, sample_size=20))
    assert text == (
        "5 subsamples and 2 for calibration, 20 of 40 rows each (3 features, float64)\n"
        "k in 2..4, clusterer kmeans, metric euclidean\n"
        "21 clusterings, 1,330 pairs of distances, about a second with one worker"
    )


def test_a_plan_shows_the_rows_read_and_kept():
    plan = plan_of([2], 3, sample_size=20_000)
    plan = dataclasses.replace(plan, n_rows=10**8, scanned_bytes=4 * 10**9)
    assert str(plan).startswith("reads 100,000,000 rows once (4.0 GB), keeps about 61,987\n3 subsamples, 20,000 of")
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
        # 15 and 14 shared rows; 14 are too few for the largest k, although more than a twentieth is sampled.
        ({"n_rows": 300, "sample_size": 68, "ks": (3, 5)}, 0),
        ({"n_rows": 300, "sample_size": 67, "ks": (3, 5)}, 67),
    ],
)
def test_common_rows_are_used_if_too_few_rows_are_shared(changes, n_common):
    plan = dataclasses.replace(plan_of([2], 3, sample_size=20_000), n_rows=10**6)
    assert dataclasses.replace(plan, **changes).n_common == n_common
