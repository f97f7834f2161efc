"""Run one measurement and print it as JSON: ``python -m benchmarks.scale.work KIND PLACE``."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

KS = range(2, 11)
WORKERS = 2
SILHOUETTE_ROWS = 20_000


def from_parquet(place: Path) -> dict[str, Any]:
    """Time a selection from Parquet, a plain scan, and the selection on the fetched rows."""
    import pyarrow.dataset as ds

    from compsil_kit import plan_selection, select_k
    from compsil_kit.adapters import load, make_plan, open_data, run_selection
    from compsil_kit.config import SelectionConfig
    from compsil_kit.events import Events

    warm_up()
    plan = plan_selection(str(place))
    settings = {"n_jobs": WORKERS, "progress": False}

    def scan() -> None:
        dataset = ds.dataset(place)
        for _ in dataset.to_batches(columns=dataset.schema.names):
            pass

    whole, result = timed(lambda: select_k(str(place), **settings))
    peak = peak_bytes()
    scanned, _ = timed(scan)
    events, table = Events(progress=False), open_data(str(place))
    run_plan = make_plan(table, SelectionConfig(n_jobs=WORKERS))
    fetched = load(table, run_plan, events)
    selecting, _ = timed(lambda: run_selection(run_plan, fetched, events))
    likely = result.reweigh(criterion="likely").best_k
    return {
        "seconds": whole, "peak": peak, "scan": scanned, "selection": selecting, "best": result.best_k,
        "likely": likely, "confidence": {k: float(result.confidence[result.ks.index(k)]) for k in result.ks},
        "predicted": plan.estimate_seconds(WORKERS), "bytes": plan.scanned_bytes, "fetched": plan.n_fetched,
        "clusterings": plan.n_clusterings, "sample_size": plan.sample_size,
    }  # fmt: skip


def from_memory(place: Path) -> dict[str, Any]:
    """Time a selection on an array, and the check for non-finite cells."""
    from compsil_kit import plan_selection, select_k
    from compsil_kit._data.matrix import validate_matrix

    X = loaded(place)
    warm_up()
    before = peak_bytes()
    finite, _ = timed(lambda: validate_matrix(X))
    whole, result = timed(lambda: select_k(X, n_jobs=WORKERS, progress=False))
    return {
        "seconds": whole, "finite": finite, "extra": peak_bytes() - before, "best": result.best_k,
        "predicted": plan_selection(X).estimate_seconds(WORKERS),
    }  # fmt: skip


def scikit_learn(place: Path) -> dict[str, Any]:
    """Time the usual loop, with k-means on all rows and the silhouette on a sample of rows."""
    from sklearn.cluster import KMeans
    from sklearn.metrics import silhouette_score

    X = loaded(place)

    def loop() -> int:
        scores = {}
        for k in KS:
            labels = KMeans(k, n_init=1, random_state=0).fit_predict(X)
            scores[k] = silhouette_score(X, labels, sample_size=min(len(X), SILHOUETTE_ROWS), random_state=0)
        return max(scores, key=lambda k: scores[k])

    seconds, best = timed(loop)
    return {"seconds": seconds, "peak": peak_bytes(), "best": best}


def spark(place: Path) -> dict[str, Any]:
    """Time Spark on two cores, with k-means and ClusteringEvaluator on all rows."""
    from pyspark.ml.clustering import KMeans
    from pyspark.ml.evaluation import ClusteringEvaluator
    from pyspark.ml.feature import VectorAssembler
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master(f"local[{WORKERS}]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "8g")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")

    def loop() -> int:
        frame = session.read.parquet(str(place))
        data = (
            VectorAssembler(inputCols=frame.columns, outputCol="features").transform(frame).select("features").cache()
        )
        scores = {}
        for k in KS:
            found = KMeans(k=k, seed=1).fit(data).transform(data)
            scores[k] = ClusteringEvaluator().evaluate(found)
        return max(scores, key=lambda k: scores[k])

    seconds, best = timed(loop)
    session.stop()
    return {"seconds": seconds, "best": best}


def loaded(place: Path) -> Any:
    """Load the rows into one array."""
    import pyarrow.dataset as ds

    dataset = ds.dataset(place)
    X = np.empty((dataset.count_rows(), len(dataset.schema.names)), dtype=np.float32)
    at = 0
    for batch in dataset.to_batches(batch_readahead=1, fragment_readahead=1):
        for i, column in enumerate(batch.columns):
            X[at : at + batch.num_rows, i] = column.to_numpy()
        at += batch.num_rows
    return X


def warm_up() -> None:
    """Import all modules and compile all loops before the measurement."""
    from compsil_kit import select_k

    select_k(np.random.default_rng(0).normal(size=(3_000, 10)).astype(np.float32), n_subsamples=2, progress=False)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the run time of a call in seconds, and the returned value."""
    start = time.perf_counter()
    found = work()
    return round(time.perf_counter() - start, 3), found


def peak_bytes() -> int:
    """Return the peak resident memory of this process; getrusage would include its parent's memory."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024


if __name__ == "__main__":
    kind, where = sys.argv[1:]
    print(
        json.dumps(
            {"parquet": from_parquet, "memory": from_memory, "scikit-learn": scikit_learn, "spark": spark}[kind](
                Path(where)
            )
        )
    )
