"""Every way to run a selection gives the bits of one run in this thread: workers, streams, checkpoints and batches."""

import json

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.datasets import make_blobs
from small_runs import SETTINGS, X, identical, kept, stop_after
from tables import CutSource, columns_of

from compsil_kit import Interrupted, combine_batches, plan_batches, prepare, run_batch, select_k, stream

# Functions without a name are sent to processes by value: these modules cannot be imported there.
KINDS = {
    "calibration": {"n_calibration": 3},
    "several initialisations": {"n_starts": 3, "criterion": "stable"},
    "likely": {"criterion": "likely"},
    "structure": {"structure": True},
    "lower bound": {"criterion": "micro", "rule": "lcb", "z": 2.0},
    "names": {"clusterer": "gmm", "metric": "manhattan", "transform": "step"},
    "failures": {"clusterer": lambda X, k, seed: np.arange(len(X)) % (k + (k == 4 and seed % 2)), "on_failure": "skip"},
    "estimator": {"clusterer": KMeans(n_init=3, init="random"), "random_state": range(42, 48)},
    "linkage": {"clusterer": AgglomerativeClustering(linkage="single"), "metric": "cosine"},
    "functions": {
        "clusterer": lambda X, k, seed: (np.arange(len(X)) + seed) % k,
        "metric": lambda a, b: float(np.abs(a - b).max()),
    },
    "float32": {"X": X.astype(np.float32), "sample_size": 0.5},
    "sparse": {"X": sparse.csr_array(X * (np.abs(X) > 1))},
    "table": {"X": pd.DataFrame(X, columns=["a", "b"])},
    "compiled": {"X": make_blobs(4000, 4, centers=4, random_state=0)[0], "sample_size": 0.8},
    "out of core": {"X": prepare(CutSource(columns_of()))},
    "out of core, several initialisations": {"X": prepare(CutSource(columns_of())), "n_starts": 5},
}


def in_threads(X, path, **settings):
    return select_k(X, **settings, n_jobs=2)


def in_all_threads(X, path, **settings):
    with joblib.parallel_config(backend="threading", n_jobs=-1):
        return select_k(X, **settings)


def in_processes(X, path, **settings):
    with joblib.parallel_config(backend="loky", n_jobs=2):
        return select_k(X, **settings)


def streamed(X, path, **settings):
    # The structure test comes after the last subsample.
    *results, last = stream(X, **settings)
    results = results if settings.get("structure") else [*results, last]
    assert [result.n_subsamples for result in results] == [1, 2, 3, 4, 5, 6]
    assert [result.partial for result in results] == [True] * 5 + [False]
    return last


def resumed(X, path, **settings):
    with pytest.raises(Interrupted, match="from which the same call continues") as stop:
        select_k(X, **settings, checkpoint=path, progress=stop_after(4))
    assert stop.value.result.partial
    assert len(kept(path)["trials"]) == 4
    result = select_k(X, **settings, checkpoint=path)
    before = path.read_bytes()
    assert identical(select_k(X, **settings, checkpoint=str(path)), result)
    assert path.read_bytes() == before
    return result


def in_batches(X, path, **settings):
    """Batches travel as strict JSON, without functions and estimators."""
    again = {name: settings[name] for name in ("clusterer", "metric") if not isinstance(settings.get(name, ""), str)}
    batches = json.loads(json.dumps(plan_batches(X, **settings, n_batches=4), allow_nan=False))
    done = json.dumps([run_batch(X, batch, **again) for batch in batches[::-1]], allow_nan=False)
    return combine_batches(json.loads(done))


@pytest.fixture(scope="module", autouse=True)
def _few_references():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("compsil_kit._run.structure.N_NULL", 19)
        yield


@pytest.fixture(scope="module", params=KINDS)
def kind(request):
    settings = {"X": X, **SETTINGS, **KINDS[request.param]}
    return settings, select_k(**settings)


@pytest.mark.parametrize("way", [in_threads, in_all_threads, in_processes, streamed, resumed, in_batches])
def test_every_way_gives_the_same_bits(kind, way, tmp_path):
    settings, expected = kind
    assert identical(way(path=tmp_path / "run.json", **settings), expected)
