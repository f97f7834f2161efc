"""Work that does not fit into the memory that is free is refused before it starts."""

from __future__ import annotations

import numpy as np
import pytest
from small_runs import run

from compsil_kit import select_k


@pytest.mark.parametrize(("free", "keywords"), [(2**20, {}), (60 * 2**20, {}), (100 * 2**20, {"n_jobs": 2})])
def test_work_that_does_not_fit_into_memory_is_refused(free, keywords, monkeypatch):
    monkeypatch.setattr("compsil_kit.run.memory.available_bytes", lambda: free)
    calls = []
    with pytest.raises(MemoryError, match=r"subsamples of 60 rows .*GiB are free\. Pass a smaller sample_size"):
        run(clusterer=lambda X, k, seed: calls.append(k), **keywords)
    assert calls == []


def test_workers_without_a_subsample_need_no_memory(monkeypatch):
    # Enough for one worker, and too little for two.
    monkeypatch.setattr("compsil_kit.run.memory.available_bytes", lambda: 100 * 2**20)
    assert run(n_subsamples=1, n_jobs=8).n_subsamples == 1
    with pytest.raises(MemoryError, match=r"\b2 worker"):
        run(n_subsamples=1, n_calibration=1, n_jobs=8)
    with pytest.raises(MemoryError, match=r"\b2 worker"):
        run(n_subsamples=8, n_jobs=2)


def test_clusterers_that_hold_all_pairs_need_more_memory(monkeypatch):
    wide = np.random.default_rng(0).normal(size=(4000, 2))
    monkeypatch.setattr("compsil_kit.run.memory.available_bytes", lambda: 100 * 2**20)
    with pytest.raises(
        MemoryError, match=r"subsamples of 4,000 rows with clusterer='agglomerative' need about 0\.3 GiB"
    ):
        select_k(wide, ks=2, n_subsamples=1, sample_size=4000, clusterer="agglomerative")
    assert select_k(wide, ks=2, n_subsamples=1, sample_size=500, clusterer="agglomerative").best_k == 2


@pytest.mark.parametrize("free", [None, 2**40])
def test_work_that_fits_or_cannot_be_judged_goes_on(free, monkeypatch):
    monkeypatch.setattr("compsil_kit.run.memory.available_bytes", lambda: free)
    assert run().best_k == 3
