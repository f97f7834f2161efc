"""Measure speed and memory of compsil-kit and of public alternatives in one run, and write docs/benchmarks.md.

Usage: python benchmarks/run.py [--quick] [--only NAME ...]
"""

from __future__ import annotations

import argparse
import importlib.metadata
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import joblib
import sklearn
from compsil import CompSil
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import silhouette_samples, silhouette_score
from threadpoolctl import threadpool_limits

import readme
from compsil_kit import select_k, silhouettes
from compsil_kit._kmeans.fit import Fits
from compsil_kit._method import silhouette
from measure import best_times, extra_peak_mib, fresh_process, machine

OUTPUT = Path(__file__).parents[1] / "docs" / "benchmarks.md"
KS = range(2, 11)


@dataclass(frozen=True)
class Row:
    """One row of the table."""

    task: str
    peer: str
    theirs: str
    ours: str
    ratio: str
    goal: str


def ratio_row(task: str, peer: str, theirs: float, ours: float, goal: str) -> Row:
    return Row(task, peer, seconds(theirs), seconds(ours), f"{theirs / ours:.1f}", goal)


def seconds(value: float) -> str:
    return f"{value * 1e3:.1f} ms" if value < 1 else f"{value:.2f} s"


def data(n: int, d: int, centers: int = 6) -> Any:
    return make_blobs(n, d, centers=centers, random_state=0)[0]


def complete_selection(n: int, n_subsamples: int, goal: str) -> list[Row]:
    """Time complete selections with compsil (joblib processes) and with compsil-kit (threads and processes)."""
    X = data(n, 10)
    seeds = range(42, 42 + n_subsamples)

    def theirs() -> None:
        CompSil(X, k_values=KS, num_samples=n_subsamples, n_jobs=-1).evaluate()

    def ours(n_jobs: int = 1) -> None:
        select_k(X, ks=KS, n_subsamples=n_subsamples, random_state=seeds, n_jobs=n_jobs, progress=False)

    def processes() -> None:
        with joblib.parallel_config(backend="loky", n_jobs=2):
            ours(2)

    variants = {"one worker": ours, "two threads": lambda: ours(2), "two processes": processes}
    for run in variants.values():
        run()
    best = best_times({"theirs": theirs, **variants}, rounds=3)
    task = f"complete selection, N = {n:,}, d = 10, k = 2..10, B = {n_subsamples}"
    peer = "compsil 0.1.4, n_jobs=-1"
    return [ratio_row(f"{task}, {name}", peer, best["theirs"], best[name], goal) for name in variants]


def nine_labelings(d: int, dtype: str, goal: str) -> list[Row]:
    X = data(6_000, d)
    labelings = [KMeans(k, n_init=1, random_state=42).fit_predict(X) for k in KS]
    mine = X.astype(dtype)

    def theirs() -> None:
        for labels in labelings:
            silhouette_samples(X, labels)

    def ours() -> None:
        silhouettes(mine, labelings)

    rows = []
    normal = silhouette.MIN_COMPILED_SILHOUETTE_POINTS
    with threadpool_limits(1):
        for path, threshold in (("compiled", normal), ("plain NumPy", 10**9)):
            silhouette.MIN_COMPILED_SILHOUETTE_POINTS = threshold
            ours()
            best = best_times({"theirs": theirs, "ours": ours}, rounds=4)
            task = f"silhouettes of nine labellings, m = 6,000, d = {d}, {dtype}, one thread, {path}"
            aim = goal if path == "compiled" else "–"
            rows.append(ratio_row(task, "scikit-learn, nine times, float64", best["theirs"], best["ours"], aim))
    silhouette.MIN_COMPILED_SILHOUETTE_POINTS = normal
    return rows


def nine_fits(m: int, d: int, goal: str) -> list[Row]:
    """Time k-means alone: one initialisation with each package, and five of ours against one of scikit-learn's."""
    X = data(m, d)
    counts: Counter[str] = Counter()

    def theirs() -> None:
        for k in KS:
            KMeans(k, n_init=1, random_state=42).fit(X)

    def ours(n_init: int = 1) -> None:
        fits = Fits(X, KMeans().tol)
        for k in KS:
            fits.labels(KMeans(k, n_init=n_init, random_state=42))
        counts.update(fits.counts)

    with threadpool_limits(1), sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
        ours(5)
        counts.clear()
        best = best_times({"theirs": theirs, "ours": ours, "five": lambda: ours(5)}, rounds=10)
    task = f"nine k-means fits, m = {m:,}, d = {d}, one thread"
    fallback = f"by scikit-learn: {counts['handed over']} of {counts['fits']} fits, {counts['settled']} chunks"
    five = f"{task}, best of five initialisations"
    return [
        ratio_row(f"{task} ({fallback})", "scikit-learn", best["theirs"], best["ours"], goal),
        ratio_row(five, "scikit-learn, one initialisation", best["theirs"], best["five"], "0.5"),
    ]


def one_labeling() -> list[Row]:
    X = data(20_000, 10)
    labels = KMeans(6, n_init=1, random_state=42).fit_predict(X)
    with threadpool_limits(1):
        silhouettes(X, labels)
        best = best_times(
            {"theirs": lambda: silhouette_samples(X, labels), "ours": lambda: silhouettes(X, labels)}, rounds=3
        )
    task = "silhouette of one labelling, m = 20,000, d = 10, one thread"
    return [ratio_row(task, "scikit-learn", best["theirs"], best["ours"], "5, aim 15")]


MEMORY_SETUP = """
import numpy as np
{imports}
X = np.random.default_rng(0).normal(size=({n}, 10))
labelings = [np.arange({n}) * k // {n} for k in range(2, 11)]
silhouette(X[:3000], [np.arange(3000) % 2] * 9 if {many} else np.arange(3000) % 2)
"""
MINE = "from compsil_kit import silhouettes as silhouette"
SKLEARN = "from sklearn.metrics import silhouette_samples as silhouette"
GENIE = "from genieclust.cluster_validity import silhouette_index as silhouette"


def memory() -> list[Row]:
    def extra(imports: str, n: int, which: str) -> float:
        setup = MEMORY_SETUP.format(imports=imports, n=n, many=which == ":")
        call = "silhouette(X, labelings)" if which == ":" else f"silhouette(X, labelings[{which}])"
        return extra_peak_mib(setup, call)

    mine = {(n, which): extra(MINE, n, which) for n in (15_000, 30_000, 60_000) for which in ("8", ":")}
    theirs, genie = extra(SKLEARN, 30_000, "8"), extra(GENIE, 30_000, "8")
    rows = []
    for which, name in (("8", "one labelling"), (":", "nine labellings")):
        here, growth = mine[30_000, which], mine[60_000, which] - mine[15_000, which]
        task = f"extra peak memory of silhouettes, m = 30,000, d = 10, {name}"
        peers = f"scikit-learn {theirs:,.0f} MiB, genieclust {genie:.0f} MiB (one labelling)"
        rows.append(Row(task, peers, f"{theirs:,.0f} MiB", f"{here:.0f} MiB", f"{theirs / here:.0f}", "64 MiB, aim 16"))
        increase = "increase of the peak memory from m = 15,000 to 60,000"
        rows.append(Row(f"{increase}, {name}", "–", "–", f"{growth:.0f} MiB", "–", "at most 32 MiB"))
    return rows


def against_full_data(quick: bool) -> list[Row]:
    sizes = [1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000]
    rows = []
    for n in sizes[: 5 if quick else None]:
        X = data(n, 10, centers=5)
        labels = KMeans(5, n_init=1, random_state=0).fit_predict(X)
        best = best_times(
            {
                "theirs": lambda X=X, labels=labels: silhouette_score(X, labels),
                "ours": lambda X=X: select_k(X, ks=[5], n_subsamples=20, n_jobs=-1, progress=False),
            },
            rounds=3 if n <= 20_000 else 1,
        )
        task = f"one k = 5, d = 10, B = 20, N = {n:,}, clustering included, all cores"
        goal = "faster" if n >= 10_000 else "–"
        rows.append(ratio_row(task, "scikit-learn's silhouette on all the data", best["theirs"], best["ours"], goal))
    return rows


FIRST_CALL = """
import time
import numpy, sklearn.cluster, sklearn.mixture
from sklearn.datasets import make_blobs
X = make_blobs(2000, 10, centers=6, random_state=0)[0]
start = time.perf_counter()
from compsil_kit import select_k
select_k(X, ks=range(2, 11), n_subsamples=20, random_state=0, progress=False)
print(time.perf_counter() - start)
"""


def first_call() -> list[Row]:
    """Time the first selection in a process, with and without compiled loops in the cache."""
    with TemporaryDirectory() as cache:
        compiling = fresh_process(FIRST_CALL, NUMBA_CACHE_DIR=cache)
        loading = min(fresh_process(FIRST_CALL, NUMBA_CACHE_DIR=cache) for _ in range(5))
    task = (
        "first selection in a process, N = 2,000, d = 10, k = 2..10, B = 20, one worker, scikit-learn already imported"
    )
    return [
        Row(f"{task}; compiled code cached", "–", "–", seconds(loading), "–", "0.5 s, aim 0.2 s"),
        Row(f"{task}; compilation included", "–", "–", seconds(compiling), "–", "15 s"),
    ]


def suites(quick: bool) -> dict[str, Callable[[], list[Row]]]:
    return {
        "selection-10000": lambda: complete_selection(10_000, 10, "40, aim 60 on two threads"),
        "selection-2000": lambda: complete_selection(2_000, 20, "12, aim 20; two threads 20, aim 35"),
        "kmeans-1600": lambda: nine_fits(1_600, 10, "5, aim 8"),
        "kmeans-6000": lambda: nine_fits(6_000, 10, "3, aim 6"),
        "kmeans-6000-50": lambda: nine_fits(6_000, 50, "1.5, aim 3"),
        "labelings-2": lambda: nine_labelings(2, "float64", "30, aim 80"),
        "labelings-10": lambda: nine_labelings(10, "float64", "30, aim 80"),
        "labelings-50": lambda: nine_labelings(50, "float64", "31, aim 60"),
        "labelings-10-float32": lambda: nine_labelings(10, "float32", "45, aim 120"),
        "one-labeling": one_labeling,
        "memory": memory,
        "first-call": first_call,
        "full-data": lambda: against_full_data(quick),
    }


def markdown(rows: list[Row], command: str) -> str:
    names = ("numpy", "scipy", "scikit-learn", "numba", "joblib", "compsil", "genieclust")
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in names)
    lines = [
        "# Benchmarks",
        "",
        "All packages are measured alternately in one run, and the best time of a few rounds is reported. Ratios",
        "above 1 mean that compsil-kit is faster or uses less memory. The plain NumPy path is used without the",
        "`fast` extra.",
        "",
        'For "two processes", the call is made inside `joblib.parallel_config(backend="loky", n_jobs=2)`, the',
        "backend that `compsil` uses; the workers are started before the measurement. Compiled k-means returns",
        "scikit-learn's labels; the numbers of fits and chunks for which it needed scikit-learn are in brackets.",
        "",
        f"Command: `{command}`. On {machine()}; {versions}.",
        "",
        "| task | compared with | other package | compsil-kit | ratio | goal |",
        "|---|---|---|---|---|---|",
        *(f"| {r.task} | {r.peer} | {r.theirs} | {r.ours} | {r.ratio} | {r.goal} |" for r in rows),
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="skip measurements that take minutes")
    parser.add_argument("--only", nargs="+", help="run only these measurements, and write no file")
    arguments = parser.parse_args()
    rows: list[Row] = []
    for name, suite in suites(arguments.quick).items():
        if arguments.only and name not in arguments.only:
            continue
        for row in suite():
            print(f"{row.ratio:>6}  (goal {row.goal})  {row.task}: {row.ours} against {row.theirs}", flush=True)
            rows.append(row)
    if not arguments.only:
        OUTPUT.write_text(markdown(rows, "make bench" + (" with --quick" if arguments.quick else "")))
        readme.main()
        print(f"Wrote {OUTPUT.relative_to(Path.cwd())} and the figures in the README.")


if __name__ == "__main__":
    main()
