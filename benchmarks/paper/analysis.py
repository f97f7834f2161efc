"""What the kept trials say beyond the units themselves, as small tables: nothing here clusters anything again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.paper.calibration import estimates
from benchmarks.paper.data import SETS
from benchmarks.paper.outcomes import CRITERIA, Results, wilson
from benchmarks.paper.protocols import CLUSTERERS, N_SUBSAMPLES, SEEDS, VARIANTS
from benchmarks.paper.store import Store, has_trials
from compsil_kit import SelectionResult
from compsil_kit.weights import combine, weigh

Array = NDArray[Any]
Row = dict[str, Any]
Pairs = list[tuple[Row, SelectionResult]]
TRANSFORMS = ("tanh", "linear", "sigmoid", "step")
PREFIXES = (5, 10, 20, 30)
# The paper's convergence: a pool of 200, then 25 draws for every smaller number.
POOL, REPEATS, STEPS = 200, 25, range(10, 201, 10)
# How often the true k is found from so many subsamples of the pool of all seeds.
SIZES, N_DRAWS = (5, 10, 20, 30, 50, 100), 200


def write(store: Store) -> list[Path]:
    """Write every table beside the units, and return the files."""
    pairs = kept(store)
    made = {name: make(pairs) for name, make in TABLES.items()} | {"recovery": recovery(Results(store.folder))}
    paths = []
    for name, rows in made.items():
        path = store.folder / f"{name}.csv"
        pd.DataFrame(rows).to_csv(path, index=False, float_format="%.6g", lineterminator="\n")
        paths.append(path)
    return paths


def kept(store: Store) -> Pairs:
    """Return the selections with k-means and their trials."""
    records = [r for r in store.records() if has_trials(r) and r["clusterer"] == "kmeans"]
    lost = [record["unit"] for record in records if not store.trials_of(record["unit"]).exists()]
    if lost:
        raise FileNotFoundError(
            f"the trials of {len(lost)} units are not at hand, of {lost[0]!r} for one: they are not committed. "
            "Run the step 'run' first; it computes them again."
        )
    return [(record, store.selection(record["unit"])) for record in records]


def recovery(results: Results) -> Iterable[Row]:
    """Yield how often each criterion finds the true k of each set, with the 95 % interval of that rate."""
    for clusterer, criterion in product(CLUSTERERS, CRITERIA):
        for key in results.sets:
            chosen, k = results.choices(criterion, key, clusterer=clusterer), SETS[key].k
            if chosen:
                right, runs = chosen.count(k), len(chosen)
                low, high = wilson(right, runs)
                what = {"clusterer": clusterer, "set": key, "criterion": criterion, "k_true": k}
                yield {**what, "right": right, "runs": runs, "rate": right / runs, "low": low, "high": high}


def head(record: Row) -> Row:
    """Return what identifies a unit in every table."""
    return {name: record[name] for name in ("unit", "protocol", "set", "seed", "k_true")}


def ablation(pairs: Pairs) -> Iterable[Row]:
    """Yield the choice under each of the four transformations."""
    for record, result in pairs:
        if record["protocol"] in ("authors", "literal"):
            yield {**head(record), **{name: result.reweigh(transform=name).best_k for name in TRANSFORMS}}


def rules(pairs: Pairs) -> Iterable[Row]:
    """Yield the choice under three rules, from the first 5, 10, 20 and all subsamples, with the time these take."""
    for record, result in pairs:
        if record["protocol"] in VARIANTS:
            for n in PREFIXES:
                part = result.reweigh(n_subsamples=n)
                chosen = {
                    "max": part.best_k,
                    "lcb": part.reweigh(rule="lcb").best_k,
                    "one-se": one_standard_error(part),
                }
                seconds = record["seconds"] * n / result.n_subsamples
                yield {**head(record), "n_subsamples": n, **chosen, "seconds": seconds}


def one_standard_error(result: SelectionResult) -> int:
    """Return the smallest k whose score is within one standard error of the best."""
    bar = result.best_score - float(result.sem[result.ks.index(result.best_k)])
    return next(k for k, score in zip(result.ks, result.scores, strict=True) if score >= bar)


def pools(pairs: Pairs) -> dict[str, tuple[Row, Array, Array]]:
    """Return per set the trials of all seeds of the literal protocol in one pool, where all seeds are there."""
    found: dict[str, list[tuple[Row, SelectionResult]]] = {}
    for record, result in pairs:
        if record["protocol"] == "literal" and record["seed"] in SEEDS:
            found.setdefault(record["set"], []).append((record, result))
    return {
        key: (group[0][0], np.hstack([r.micro for _, r in group]), np.hstack([r.macro for _, r in group]))
        for key, group in found.items()
        if len(group) * N_SUBSAMPLES >= POOL
    }


def scores(micro: Array, macro: Array) -> Array:
    """Return the composite score per k from these trials."""
    return np.asarray(combine(micro, macro, weigh(micro, macro, "tanh")).mean(axis=-1))


def convergence(pairs: Pairs) -> Iterable[Row]:
    """Yield the distance of the score at the true k from that of the pool of 200 subsamples."""
    for key, (record, micro, macro) in pools(pairs).items():
        rng = np.random.default_rng(0)
        at = [record["ks"].index(record["k_true"])]
        micro, macro = micro[at, :POOL], macro[at, :POOL]
        reference = scores(micro, macro)[0]
        for n in STEPS:
            draws = [rng.choice(POOL, size=n, replace=False) for _ in range(REPEATS)]
            errors = [abs(scores(micro[:, draw], macro[:, draw])[0] - reference) for draw in draws]
            low, middle, high = np.quantile(errors, (0.25, 0.5, 0.75))
            yield {"set": key, "n_subsamples": n, "low": low, "median": middle, "high": high}


def subsamples(pairs: Pairs) -> Iterable[Row]:
    """Yield how often the true k, and the choice of the whole pool, are found from fewer subsamples."""
    for key, (record, micro, macro) in pools(pairs).items():
        rng = np.random.default_rng(0)
        ks = np.array(record["ks"])
        whole = ks[scores(micro, macro).argmax()]
        for n in SIZES:
            draws = [rng.choice(micro.shape[1], size=n, replace=False) for _ in range(N_DRAWS)]
            chosen = np.array([ks[scores(micro[:, draw], macro[:, draw]).argmax()] for draw in draws])
            right, agree = float((chosen == record["k_true"]).mean()), float((chosen == whole).mean())
            row = {"set": key, "pool": micro.shape[1], "k_true": record["k_true"], "k_pool": whole}
            yield {**row, "n_subsamples": n, "right": right, "agree": agree}


def calibration(pairs: Pairs) -> Iterable[Row]:
    """Yield how sure each run was of its choice, how many independent runs chose the same, and whether it is true."""
    runs = [(record, result) for record, result in pairs if record["protocol"] in PEERS]
    for record, result in runs:
        peers = [r["choices"]["composite"] for r, _ in runs if is_peer(r, record)]
        chosen = record["choices"]["composite"]
        if peers:
            yield {
                **head(record),
                "k": chosen,
                **estimates(result),
                "micro": record["choices"]["micro"],
                "macro": record["choices"]["macro"],
                "edge": chosen == record["ks"][-1],
                "peers": len(peers),
                "agree": float(np.mean([k == chosen for k in peers])),
                "right": int(chosen == record["k_true"]),
            }


# Whose answer is an independent one: other seeds on the same rows, or the same seed on the other half of the rows.
PEERS = {"literal": "literal", "first-half": "second-half", "second-half": "first-half"}


def is_peer(other: Row, record: Row) -> bool:
    """Tell whether another run is independent of this one and asked the same question."""
    if other["set"] != record["set"] or other["protocol"] != PEERS[record["protocol"]]:
        return False
    return bool(
        (other["seed"] != record["seed"]) if record["protocol"] == "literal" else other["seed"] == record["seed"]
    )


TABLES: dict[str, Callable[[Pairs], Iterable[Row]]] = {
    "ablation": ablation,
    "rules": rules,
    "convergence": convergence,
    "subsamples": subsamples,
    "calibration": calibration,
}
