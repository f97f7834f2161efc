"""Whatever ends a run early, the exception carries what was finished."""

import joblib
import pytest

from compsil_kit import compare, select_k

SETTINGS = {"ks": [2, 3], "n_subsamples": 6}


class Lights(Exception):
    """What a progress function of the user raises."""


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_progress_function_that_raises(blobs, n_jobs):
    def progress(done, total):
        if done == 4:
            raise Lights("out")

    with pytest.raises(Lights) as ended:
        select_k(blobs, progress=progress, n_jobs=n_jobs, **SETTINGS)
    assert ended.value.result.n_subsamples == 4
    assert ended.value.result.partial


def test_memory_that_runs_out(blobs):
    calls = []

    def clusterer(X, k, seed):
        calls.append(seed)
        if len(calls) > 5:
            raise MemoryError("no more")
        return (X[:, 0].argsort().argsort() * k) // len(X)

    with pytest.raises(MemoryError) as ended:
        select_k(blobs, clusterer=clusterer, **SETTINGS)
    assert ended.value.result.n_subsamples == 2


def dies(X, k, seed):
    import os

    if os.path.exists(os.environ["COMPSIL_TEST_FUSE"]):
        os._exit(1)
    return (X[:, 0].argsort().argsort() * k) // len(X)


def test_a_worker_process_that_dies(blobs, tmp_path, monkeypatch):
    fuse = tmp_path / "fuse"
    monkeypatch.setenv("COMPSIL_TEST_FUSE", str(fuse))

    def progress(done, total):
        fuse.touch()

    with joblib.parallel_config("loky", n_jobs=1), pytest.raises(Exception, match=r"worker|terminated") as ended:
        select_k(blobs, clusterer=dies, progress=progress, n_jobs=2, ks=[2, 3], n_subsamples=40)
    assert 1 <= ended.value.result.n_subsamples < 40


def test_a_comparison_that_fails_keeps_its_finished_criteria(blobs):
    def progress(done, total):
        if done == 4:
            raise Lights("out")

    with pytest.raises(Lights) as ended:
        compare(blobs, ks=[2, 3], n_subsamples=2, n_references=2, progress=progress)
    assert list(ended.value.result.values.columns)[:3] == ["composite", "micro", "macro"]
