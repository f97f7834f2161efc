"""Estimated run times: each part depends only on its own inputs."""

import dataclasses

import pytest
from samples import plan_of

from compsil_kit._method import cost
from compsil_kit._method.cost import ONCE, SCAN_RATE, Cost, cost_of


def change(plan, **changes):
    return cost_of(dataclasses.replace(plan, **changes))


@pytest.fixture
def plan(monkeypatch):
    monkeypatch.setattr(cost, "has", lambda name: True)
    monkeypatch.setattr(cost, "MIN_COMPILED_SILHOUETTE_POINTS", 900)
    return plan_of([2, 3, 5], 40, sample_size=1000)


def test_workers_share_all_tasks_except_scanning():
    total = Cost(scanning=10.0, clustering=4.0, distances=8.0)
    assert total.seconds() == ONCE + 22.0
    assert total.seconds(4) == ONCE + 13.0
    plan = plan_of([2, 3, 5], 40)
    assert plan.estimate_seconds(4) == cost_of(plan).seconds(4)


def test_each_task_scales_with_its_own_inputs(plan):
    once, twice = cost_of(plan), cost_of(plan_of([2, 3, 5], 80, sample_size=1000))
    assert twice.clustering == pytest.approx(2 * once.clustering)
    assert twice.distances == pytest.approx(2 * once.distances)
    assert change(plan, n_starts=5).clustering == pytest.approx(5 * once.clustering)
    assert change(plan, n_starts=5).distances == once.distances
    assert change(plan, scanned_bytes=3 * 10**9).scanning == pytest.approx(3e9 / SCAN_RATE)
    assert once.scanning == once.structure == 0


def test_compiled_kernels_have_lower_costs(plan, monkeypatch):
    compiled = cost_of(plan)
    assert change(plan, dtype="float32").distances < compiled.distances
    assert change(plan, dtype="float32").clustering > compiled.clustering
    assert change(plan, metric="manhattan").distances > 2 * compiled.distances
    assert change(plan, metric="cosine").distances == 0
    monkeypatch.setattr(cost, "MIN_COMPILED_SILHOUETTE_POINTS", 1001)
    assert cost_of(plan).distances > 2 * compiled.distances
    assert cost_of(plan).clustering == compiled.clustering
    monkeypatch.setattr(cost, "has", lambda name: False)
    assert cost_of(plan).clustering > compiled.clustering


def test_clustering_cost_depends_on_the_clusterer(plan):
    seconds = {name: change(plan, clusterer=name).clustering for name in ("kmeans", "KMeans", "minibatch-kmeans")}
    assert seconds["kmeans"] == seconds["KMeans"] < seconds["minibatch-kmeans"]
    assert change(plan, clusterer="gmm").clustering > seconds["minibatch-kmeans"]
    quadratic = change(plan, clusterer="agglomerative").clustering
    assert quadratic == pytest.approx(40 * 3 * 1000**2 * 4e-8)
    for name in ("AgglomerativeClustering", "kmedoids"):
        assert change(plan, clusterer=name).clustering == quadratic
    for name in ("spectral", "SpectralClustering"):
        assert change(plan, clusterer=name).clustering == pytest.approx(4 * quadratic)


def test_structure_test_adds_the_cost_of_its_data_sets():
    """The structure test clusters 296 data sets of 500 rows with two initialisations."""
    plan = dataclasses.replace(plan_of([2, 3, 5], 40, sample_size=20_000), n_rows=10**6)
    without, tested = cost_of(plan), change(plan, structure=True)
    assert (tested.clustering, tested.distances) == (without.clustering, without.distances)
    small = cost_of(plan_of([2, 3, 5], 1, sample_size=500))
    assert tested.structure == pytest.approx(296 * (2 * small.clustering + small.distances))
    assert tested.seconds(2) == pytest.approx(without.seconds(2) + tested.structure / 2)
