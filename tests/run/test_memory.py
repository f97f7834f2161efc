"""Runs that need more than the free memory raise an error before they start."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from samples import plan_of
from small_runs import X as BLOBS
from small_runs import run

from compsil_kit import compare, plan_selection
from compsil_kit._run import planning
from compsil_kit._run.workers import in_threads
from compsil_kit.adapters import make_plan, open_data
from compsil_kit.config import SelectionConfig


@pytest.mark.parametrize(("free", "keywords"), [(2**20, {}), (60 * 2**20, {}), (100 * 2**20, {"n_jobs": 2})])
def test_subsamples_that_do_not_fit_into_memory_raise(free, keywords, monkeypatch):
    monkeypatch.setattr("compsil_kit._run.planning.available_bytes", lambda: free)
    calls = []
    with pytest.raises(MemoryError, match=r"subsamples of 60 rows .*GiB is free\. Reduce sample_size"):
        run(clusterer=lambda X, k, seed: calls.append(k), **keywords)
    assert calls == []


def test_workers_without_a_subsample_need_no_memory(monkeypatch):
    # Enough for one worker, but not for two.
    monkeypatch.setattr("compsil_kit._run.planning.available_bytes", lambda: 100 * 2**20)
    assert run(n_subsamples=1, n_jobs=8).n_subsamples == 1
    with pytest.raises(MemoryError, match=r"\b2 worker"):
        run(n_subsamples=1, n_calibration=1, n_jobs=8)


def workers_for(**settings):
    return planning.resolve_workers(make_plan(open_data(BLOBS), SelectionConfig(**settings)))


def test_automatic_n_jobs_uses_as_many_workers_as_fit(monkeypatch):
    """An error is raised only if the number of workers was requested explicitly."""
    monkeypatch.setattr("joblib.effective_n_jobs", lambda n_jobs: 8)
    for mib, n_workers in ((10_000, 8), (150, 2), (100, 1)):
        monkeypatch.setattr("compsil_kit._run.planning.available_bytes", lambda mib=mib: mib * 2**20)
        assert workers_for(n_jobs="auto", n_subsamples=8) == n_workers
    with pytest.raises(MemoryError, match=r"\b8 worker"):
        workers_for(n_jobs=-1, n_subsamples=8)
    monkeypatch.setattr("compsil_kit._run.planning.available_bytes", lambda: 2**20)
    with pytest.raises(MemoryError, match=r"\b1 worker"):
        workers_for(n_jobs="auto")


def test_a_comparison_uses_as_many_workers_as_fit_the_full_data_set(monkeypatch):
    """Two workers fit for subsamples of 500 rows, but only one for all 4,000 rows."""
    wide = np.random.default_rng(0).normal(size=(4000, 2))
    monkeypatch.setattr("joblib.effective_n_jobs", lambda n_jobs: 2)
    monkeypatch.setattr("compsil_kit._run.planning.available_bytes", lambda: 400 * 2**20)
    pools = []

    def count(work, items, n_workers, stop=None, **config):
        pools.append(n_workers)
        return in_threads(work, items, n_workers, stop, **config)

    monkeypatch.setattr("compsil_kit._criteria.compare.in_threads", count)
    monkeypatch.setattr("compsil_kit._run.engine.in_threads", count)
    settings = {"ks": [2], "n_subsamples": 2, "sample_size": 500, "clusterer": "agglomerative"}
    compare(wide, criteria=["composite", "elbow"], n_jobs="auto", **settings)
    assert pools[:2] == [2, 1]
    with pytest.raises(MemoryError, match=r"runs on the full data set.* 2 worker"):
        compare(wide, criteria=["elbow"], n_jobs=2, **settings)


@pytest.mark.parametrize(
    ("clusterer", "gib"), [("kmeans", "0.1"), ("agglomerative", "23.9"), ("spectral", "47.7"), ("kmedoids", "35.8")]
)
@pytest.mark.filterwarnings("ignore:distutils Version classes are deprecated:DeprecationWarning")
def test_memory_for_pairwise_distances_is_included(clusterer, gib, monkeypatch):
    """The clusterers need 16, 32 and 24 bytes for each of 40,000 x 40,000 pairs."""
    monkeypatch.setattr("compsil_kit._run.planning.available_bytes", lambda: 2**20)
    X = np.arange(40_000.0)[:, None]
    with pytest.raises(MemoryError, match=rf"need about {gib} GiB with 1 worker"):
        plan_selection(X, ks=2, n_subsamples=1, sample_size=40_000, clusterer=clusterer)


def checked(monkeypatch, free, **changes):
    """Check 4 subsamples of 800 rows and two columns, with two candidates and two workers."""
    monkeypatch.setattr(planning, "available_bytes", lambda: free)
    monkeypatch.setattr(planning, "n_workers", lambda n_jobs: 2)
    plan = replace(plan_of([2, 3], 4), metric=changes.pop("metric", "euclidean"))
    plan = replace(plan, config=plan.config.changed(n_jobs="auto" if changes.pop("fewer", False) else 2))
    return planning.resolve_workers(plan, **changes)


@pytest.mark.parametrize(
    ("changes", "rows", "distances"),
    [({}, 800, 0), ({"n_rows": 1000}, 1000, 0), ({"metric": "precomputed"}, 800, 8 * 800**2)],
)
def test_the_memory_limit_of_subsamples_is_exact(monkeypatch, changes, rows, distances):
    one = 64 * 2**20 + (48 * 2 + 25 * 2) * rows + distances
    assert checked(monkeypatch, 2 * one, **changes) == checked(monkeypatch, None, **changes) == 2
    with pytest.raises(MemoryError, match=rf" of {rows:,} rows .* with 2 worker"):
        checked(monkeypatch, 2 * one - 1, **changes)
    assert checked(monkeypatch, 2 * one - 1, fewer=True, **changes) == 1
    assert checked(monkeypatch, one, fewer=True, **changes) == 1
    with pytest.raises(MemoryError, match="with 1 worker"):
        checked(monkeypatch, one - 1, fewer=True, **changes)


class RayBackend:
    """A stand-in, of which only the class name matters."""


def test_one_worker_must_fit_on_each_remote_machine(monkeypatch):
    monkeypatch.setattr(planning, "get_active_backend", lambda: (RayBackend(), None))
    assert checked(monkeypatch, 64 * 2**20 + (48 * 2 + 25 * 2) * 800) == 2


def test_memory_for_pending_rows_is_subtracted_first(monkeypatch):
    both = 2 * (64 * 2**20 + (48 * 2 + 25 * 2) * 800)
    assert checked(monkeypatch, both + 5000, pending_bytes=5000) == 2
    assert checked(monkeypatch, both + 4999, pending_bytes=5000, fewer=True) == 1
    assert checked(monkeypatch, None, pending_bytes=5000) == 2
    for free, what in (
        (both + 4999, "subsamples of 800 rows"),
        (5000, "the result for"),
        (4999, "4 subsamples of 800 rows need"),
    ):
        with pytest.raises(MemoryError, match=f"^{what}"):
            checked(monkeypatch, free, pending_bytes=5000)
    with pytest.raises(MemoryError, match=r"of 800 rows need about 3\.0 GiB, but only 2\.0 GiB is free"):
        checked(monkeypatch, 2 * 2**30, pending_bytes=3 * 2**30)


@pytest.mark.parametrize(("dtype", "size"), [("float64", 8), ("float32", 4)])
def test_fetched_rows_need_twice_their_size(dtype, size):
    """Four subsamples of 800 out of 1,000 rows miss a fraction of 0.2^4; each row has two values."""
    plan = replace(plan_of([2, 3], 4), dtype=dtype)
    assert planning.fetched_bytes(plan) == 2 * 998 * 2 * size


@pytest.mark.parametrize(
    ("free", "what"),
    [
        (250 * 4 * 2, "subsamples of 800 rows"),
        (1999, r"the result for 4 subsamples and 2 candidates needs about 0\.0 GiB, but only 0\.0 GiB is free"),
    ],
)
def test_the_memory_limit_of_the_result_is_exact(monkeypatch, free, what):
    """A result with a million subsamples and nine candidates took 2.1 GB as a dict."""
    with pytest.raises(MemoryError, match=f"^{what}"):
        checked(monkeypatch, free)
