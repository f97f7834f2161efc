"""What a selection costs: each part grows with what it depends on, and with nothing else."""

import dataclasses

import pytest
from samples import plan_of

from compsil_kit._method import cost
from compsil_kit._method.cost import ONCE, SCAN_RATE, Cost, cost_of


def with_numba(monkeypatch, *, installed=True):
    monkeypatch.setattr(cost, "has", lambda name: installed)
    monkeypatch.setattr(cost, "MIN_COMPILED_POINTS", 900)


def test_workers_share_all_but_the_reading():
    whole = Cost(scanning=10.0, clustering=4.0, distances=8.0)
    assert whole.seconds() == ONCE + 22.0
    assert whole.seconds(4) == ONCE + 13.0
    plan = plan_of([2, 3, 5], 40)
    assert plan.estimate_seconds(4) == cost_of(plan).seconds(4)


def test_twice_the_subsamples_are_twice_the_work():
    once, twice = cost_of(plan_of([2, 3, 5], 40)), cost_of(plan_of([2, 3, 5], 80))
    assert twice.clustering == pytest.approx(2 * once.clustering)
    assert twice.distances == pytest.approx(2 * once.distances)


def test_reading_goes_by_bytes():
    plan = dataclasses.replace(plan_of([2], 3), scanned_bytes=3 * 10**9)
    assert cost_of(plan).scanning == pytest.approx(3e9 / SCAN_RATE)
    assert cost_of(plan_of([2], 3)).scanning == 0


@pytest.mark.parametrize(
    ("size", "installed", "dtype", "per_pair"),
    [
        (800, True, "float64", 3.2e-9 + 2 * 6e-11),
        (900, False, "float64", 3.2e-9 + 2 * 6e-11),
        (900, True, "float64", 1.2e-9 + 2 * 5.6e-11),
        (900, True, "float32", 0.7e-9 + 2 * 2.6e-11),
    ],
)
def test_compiled_loops_are_expected_where_they_are_used(monkeypatch, size, installed, dtype, per_pair):
    with_numba(monkeypatch, installed=installed)
    plan = dataclasses.replace(plan_of([2], 3, sample_size=size), dtype=dtype)
    assert cost_of(plan).distances == pytest.approx(plan.n_pairs * per_pair)
    other = dataclasses.replace(plan, metric="manhattan")
    assert cost_of(other).distances == pytest.approx(plan.n_pairs * 6e-9)
    assert cost_of(dataclasses.replace(plan, metric="cosine")).distances == 0


@pytest.mark.parametrize(
    ("clusterer", "installed", "dtype", "seconds"),
    [
        ("kmeans", True, "float64", 3e-4 + 800 * 3 * (2.8e-8 + 2e-9)),
        ("KMeans", True, "float64", 3e-4 + 800 * 3 * (2.8e-8 + 2e-9)),
        ("kmeans", True, "float32", 3e-4 + 800 * 3 * (7.5e-8 + 8e-9)),
        ("kmeans", False, "float64", 1.5e-3 + 800 * 3 * 2 * 1.5e-8),
        ("minibatch-kmeans", True, "float64", 1.5e-3 + 800 * 3 * 2 * 1.5e-8),
        ("gmm", True, "float64", 1.5e-3 + 800 * 3 * 2 * 1.5e-8 + 800 * 3 * 4 * 2e-8),
        ("agglomerative", True, "float64", 800**2 * 4e-8),
        ("AgglomerativeClustering", True, "float64", 800**2 * 4e-8),
        ("kmedoids", True, "float64", 800**2 * 4e-8),
        ("spectral", True, "float64", 800**2 * 16e-8),
        ("SpectralClustering", True, "float64", 800**2 * 16e-8),
    ],
)
def test_clusterers(monkeypatch, clusterer, installed, dtype, seconds):
    with_numba(monkeypatch, installed=installed)
    plan = dataclasses.replace(plan_of([3], 4, sample_size=800), clusterer=clusterer, dtype=dtype)
    assert cost_of(plan).clustering == pytest.approx(4 * seconds)
    assert cost_of(dataclasses.replace(plan, n_starts=5)).clustering == pytest.approx(20 * seconds)


def test_the_test_for_structure_is_counted():
    """296 sets of at most 500 rows, two starts under each k."""
    plan = plan_of([2, 3, 5], 40, sample_size=20_000)
    plan = dataclasses.replace(plan, n_rows=10**6)
    tested = cost_of(dataclasses.replace(plan, structure=True))
    assert cost_of(plan).structure == 0
    assert (tested.clustering, tested.distances) == (cost_of(plan).clustering, cost_of(plan).distances)
    small = cost_of(plan_of([2, 3, 5], 1, sample_size=500))
    assert tested.structure == pytest.approx(296 * (2 * small.clustering + small.distances))
    assert tested.seconds(2) == pytest.approx(cost_of(plan).seconds(2) + tested.structure / 2)
