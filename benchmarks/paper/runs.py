"""Run one unit of work through the public interface, and return a plain record."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from importlib.metadata import version
from statistics import median
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs
from sklearn.metrics import silhouette_samples, silhouette_score
from threadpoolctl import threadpool_limits

from benchmarks.paper.data import SETS, MissingData
from benchmarks.paper.protocols import FULL, HALVES, NINE, Unit, form, settings
from compsil_kit import SelectionResult, compare, select_k
from compsil_kit._data.table import load_data
from compsil_kit.errors import SelectionError

Record = dict[str, Any]
DIGITS = 10
# For up to this number of rows, run times are the median of several measurements.
MAX_REPEATED_ROWS, MEASUREMENTS = 20_000, 3
# Unavailable sets and the reasons, so that each process requests a source only once.
MISSING: dict[str, str] = {}


def attempt(unit: Unit) -> tuple[Unit, Record | None, dict[str, Any] | None, str]:
    """Run a unit, and return the reason if its data are missing; other errors stop the run.

    This function is not in ``__main__``, because functions there are pickled by value, each with its own ``MISSING``.
    """
    # Ignore convergence warnings of mixtures and k-means, as the paper does.
    warnings.simplefilter("ignore")
    if unit.data in MISSING:
        return unit, None, None, MISSING[unit.data]
    try:
        record, selection = run(unit)
    except MissingData as error:
        MISSING[unit.data] = str(error)
        return unit, None, None, str(error)
    return unit, record, selection, ""


@lru_cache(maxsize=2)
def rows(key: str, shape: str) -> Any:
    """Load the rows of a set; cached, because consecutive units often share a set."""
    return SETS[key].load(shape)


def run(unit: Unit) -> tuple[Record, dict[str, Any] | None]:
    """Return the record of a unit and, if it has a selection, the selection as plain data."""
    work = {"subsamples": selection, "full": full, "compsil": oracle, "cost": cost}
    found, kept = runtime(unit) if unit.protocol == "runtime" else work[unit.part](unit)
    head = {"unit": unit.name, "protocol": unit.protocol, "set": unit.data, "clusterer": unit.clusterer}
    return {**head, "seed": unit.seed, "part": unit.part, **found, "versions": versions()}, kept


def half(X: Any, unit: Unit) -> Any:
    """Return the rows of one of two random halves."""
    order = np.random.default_rng(unit.seed).permutation(len(X))
    return X[order[HALVES.index(unit.protocol) :: 2]]


def versions() -> str:
    """Return the library versions that affect the numbers."""
    return ", ".join(f"{name} {version(name)}" for name in ("compsil-kit", "scikit-learn", "numpy"))


def selection(unit: Unit) -> tuple[Record, dict[str, Any]]:
    """Select k on subsamples."""
    X = rows(unit.data, form(unit))
    if unit.protocol in HALVES:
        X = half(X, unit)
    start = time.perf_counter()
    result = selected(X, settings(unit))
    seconds = time.perf_counter() - start
    curve = result.curve
    record = {
        **about(result.plan.n_rows, result.plan.n_features, result.ks, unit),
        "sample_size": result.plan.sample_size,
        "n_subsamples": result.n_subsamples,
        "choices": result.choices,
        "values": {name: rounded(curve[column]) for name, column in COLUMNS.items()},
        "sem": rounded(result.sem),
        "n_failed": int(result.n_failed.sum()),
        "seconds": round(seconds, 2),
    }
    return record, result.to_dict()


COLUMNS = {"composite": "score", "micro": "micro", "macro": "macro"}


def cost(unit: Unit) -> tuple[Record, None]:
    """Time one selection on subsamples."""
    X = rows(unit.data, form(unit))
    result, seconds = timed(lambda: selected(X, settings(unit)))
    record = {
        **about(result.plan.n_rows, result.plan.n_features, result.ks, unit),
        "sample_size": result.plan.sample_size,
        "n_subsamples": result.n_subsamples,
        "seconds": round(seconds, 3),
    }
    return record, None


def timed(call: Callable[[], Any], measurements: int = 1) -> tuple[Any, float]:
    """Return the value of a call, and the median run time over several measurements."""
    seconds = []
    for _ in range(measurements):
        start = time.perf_counter()
        found = call()
        seconds.append(time.perf_counter() - start)
    return found, median(seconds)


def selected(X: Any, keywords: dict[str, Any]) -> SelectionResult:
    """Return the selection, even if so many subsamples failed that no k could be selected."""
    try:
        return select_k(replace(load_data(X), prepared=True), progress=False, **keywords)
    except SelectionError as error:
        if error.result is None:
            raise
        return error.result


def full(unit: Unit) -> tuple[Record, None]:
    """Compute the criteria on all the data; elbow and gap only for k-means, as in the paper."""
    X = rows(unit.data, form(unit))
    criteria = NINE if unit.clusterer == "kmeans" else FULL
    start = time.perf_counter()
    comparison = compare(replace(load_data(X), prepared=True), criteria=criteria, progress=False, **settings(unit))
    seconds = time.perf_counter() - start
    values = comparison.values
    record = {
        **about(X.shape[0], X.shape[1], comparison.ks, unit),
        "n_repeats": comparison.n_repeats,
        "n_references": comparison.n_references,
        "choices": comparison.choices,
        "values": {name: rounded(values[name]) for name in criteria},
        "n_failed": comparison.n_failed,
        "seconds": round(seconds, 2),
    }
    return record, None


# Our column names and the column names in the authors' package.
THEIRS = {"score": "S_mM", "sem": "se S_mM", "lcb": "LCB S_mM", "micro": "avg S_micro", "macro": "avg S_macro"}


# Differences from the authors' package above this value are analysed.
MAX_DIFFERENCE = 1e-10


def oracle(unit: Unit) -> tuple[Record, None]:
    """Run the authors' package with the same seeds, and return the largest differences from our numbers.

    If the differences exceed ``MAX_DIFFERENCE``, the package is run again with exact distances.
    """
    X, keywords = rows(unit.data, form(unit)), settings(unit)
    record = {
        **about(X.shape[0], X.shape[1], keywords["ks"], unit),
        "n_subsamples": keywords["n_subsamples"],
        **against_theirs(X, keywords),
        "copies": len(X) - len(np.unique(X, axis=0)),
        "peer": f"compsil {version('compsil')}",
    }
    return record, None


def against_theirs(X: Any, keywords: dict[str, Any]) -> Record:
    """Return the choice of the authors' package, the differences from our numbers, and the package's run time."""
    ours = selected(X, keywords).curve
    (table, chosen), seconds = timed(lambda: authors_package(X, keywords))
    found: Record = {"choices": {"composite": chosen}, "differences": differences(ours, table)}
    if max(found["differences"].values()) > MAX_DIFFERENCE:
        with mock.patch("compsil.compsil.silhouette_samples", exact_silhouettes):
            found["differences_exact"] = differences(ours, authors_package(X, keywords)[0])
    return {**found, "seconds": round(seconds, 2)}


def authors_package(X: Any, keywords: dict[str, Any]) -> tuple[pd.DataFrame, int]:
    """Return the table and the choice from the authors' package."""
    from compsil import CompSil

    seeds = keywords["random_state"]
    theirs = CompSil(X, k_values=list(keywords["ks"]), num_samples=len(seeds), random_state=seeds[0], n_jobs=1)
    # Without the limit, k-means starts one thread per core for every fit, which is slow on a busy machine.
    with threadpool_limits(1):
        theirs.evaluate()
    return theirs.get_results_dataframe(), int(theirs.get_optimal_k())


def exact_silhouettes(X: Any, labels: Any) -> Any:
    """Return scikit-learn's silhouettes, computed from distances that are exactly zero between equal rows."""
    return silhouette_samples(cdist(X, X), labels, metric="precomputed")


def differences(ours: pd.DataFrame, theirs: pd.DataFrame) -> dict[str, float]:
    """Return the largest difference in each column over all values of k."""
    found = {mine: float(np.abs(ours[mine] - theirs[other].to_numpy()).max()) for mine, other in THEIRS.items()}
    # Comparisons with NaN would not detect a difference.
    if not all(np.isfinite(value) for value in found.values()):
        raise ArithmeticError(f"the differences from the authors' package are not finite: {found}.")
    return found


def about(n: int, d: int, ks: Any, unit: Unit) -> Record:
    """Return the size of the data, the true k and the candidates."""
    return {"n": n, "d": d, "k_true": SETS[unit.data].k, "ks": list(ks)}


def runtime(unit: Unit) -> tuple[Record, None]:
    """Time one candidate (k = 5) on Gaussian data in ten dimensions, and scikit-learn's silhouette on all the data."""
    n = int(unit.data.removeprefix("N"))
    X, y = make_blobs(n, 10, centers=5, random_state=0)
    measurements = MEASUREMENTS if n <= MAX_REPEATED_ROWS else 1
    result, seconds = timed(lambda: select_k(X, ks=[5], n_subsamples=20, progress=False), measurements)
    standard, seconds_standard = timed(lambda: silhouette_score(X, y), measurements)
    record = {
        "n": n,
        "d": 10,
        "sample_size": result.plan.sample_size,
        "n_subsamples": 20,
        "values": {"composite": rounded(result.scores), "standard": rounded([standard])},
        "seconds": round(seconds, 3),
        "seconds_standard": round(seconds_standard, 3),
    }
    return record, None


def rounded(values: Any) -> list[float | None]:
    """Return the numbers as plain floats with ten digits, or None for NaN and infinity."""
    return [float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None for value in np.asarray(values, float)]


def warm_up() -> None:
    """Compile the kernels for both float types before the timed units."""
    X = make_blobs(5_000, 2, random_state=0)[0]
    for points in (X, X.astype(np.float32)):
        select_k(points, ks=[2, 3], n_subsamples=1, progress=False)
