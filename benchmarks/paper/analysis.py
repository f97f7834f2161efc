"""Compute tables from the stored trials, without clustering the data again."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterable
from itertools import product
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.paper.calibration import estimates
from benchmarks.paper.data import SETS
from benchmarks.paper.outcomes import CRITERIA, Results, wilson
from benchmarks.paper.protocols import CLUSTERERS, SEEDS, VARIANTS
from benchmarks.paper.store import Store, has_trials
from compsil_kit import SelectionResult
from compsil_kit._method.selection import combine, weigh
from compsil_kit._types import TransformName
from compsil_kit._util.system import write_atomically

Array = NDArray[Any]
Row = dict[str, Any]
Pairs = list[tuple[Row, SelectionResult]]
PREFIXES = (5, 10, 20, 30)
# As in the paper, convergence is measured with a pool of 200 and 25 draws for every smaller number.
POOL, REPEATS, STEPS = 200, 25, range(10, 201, 10)
# Numbers of subsamples drawn from the pool of all seeds, and number of draws.
SIZES, N_DRAWS = (5, 10, 20, 30, 50, 100), 200


def write(store: Store) -> tuple[list[Path], list[str]]:
    """Write every table next to the units; return the files, and notes on sets without trials.

    For sets without trials, the rows from an earlier analysis are kept. Only ``recovery`` needs no trials.
    """
    pairs, lost = selections(store)
    made = {name: pd.DataFrame(make(pairs)) for name, make in TABLES.items()}
    notes = [f"Rows kept unchanged because their trials are missing: {', '.join(lost)}."] if lost else []
    paths = []
    for name, new in (made | {"recovery": pd.DataFrame(recovery(Results(store.folder)))}).items():
        path = store.folder / f"{name}.csv"
        table = as_text(csv(new))
        if lost and name in made:
            old, note = old_rows(path, table, lost)
            # If there are no new rows, only the old table defines the columns.
            table = pd.concat([table, old]) if len(table) else old
            notes += [note] if note else []
        write_atomically(path, csv(in_order(table, store) if name in made else table).encode())
        paths.append(path)
    return paths, notes


def csv(table: pd.DataFrame) -> str:
    """Format a table as CSV."""
    return table.to_csv(index=False, float_format="%.6g", lineterminator="\n")


def as_text(content: str) -> pd.DataFrame:
    """Parse CSV without converting numbers, so that cells are written back unchanged."""
    try:
        return pd.read_csv(io.StringIO(content), dtype=str, keep_default_na=False)
    except pd.errors.EmptyDataError:
        return pd.DataFrame({"set": []}, dtype=str)


def old_rows(path: Path, new: pd.DataFrame, lost: list[str]) -> tuple[pd.DataFrame, str]:
    """Return the rows for these sets from an existing table, and a note on sets without rows."""
    old = as_text(path.read_text() if path.exists() else "")
    rows, reason = old[old["set"].isin(lost)], "has none" if path.exists() else "does not exist"
    if len(new) and len(rows):
        fits = set(new.columns) <= set(old.columns)
        rows, reason = (rows[new.columns], reason) if fits else (new[:0], "has other columns")
    absent = [key for key in lost if key not in set(rows["set"])]
    return rows, f"No rows of {', '.join(absent)}: {path.name} {reason}." if absent else ""


def in_order(table: pd.DataFrame, store: Store) -> pd.DataFrame:
    """Sort the rows by unit, or by the first unit of each set under the literal protocol."""
    records = store.records()
    sets = dict.fromkeys(record["set"] for record in records if record["protocol"] == "literal")
    at = {name: i for i, name in enumerate([*sets, *(record["unit"] for record in records)])}
    return table.sort_values("unit" if "unit" in table else "set", key=lambda names: names.map(at), kind="stable")


def selections(store: Store) -> tuple[Pairs, list[str]]:
    """Return the k-means selections, and the sets with missing trials.

    Sets with missing trials are excluded completely, because incomplete sets would change the tables.
    """
    records = [r for r in store.records() if has_trials(r) and r["clusterer"] == "kmeans"]
    lost = list(dict.fromkeys(r["set"] for r in records if not store.trials_of(r["unit"]).exists()))
    return [(record, store.selection(record["unit"])) for record in records if record["set"] not in lost], lost


def recovery(results: Results) -> Iterable[Row]:
    """Yield how often each criterion selects the true k of each set, with the 95 % interval for the rate."""
    for clusterer, criterion in product(CLUSTERERS, CRITERIA):
        for key in results.sets:
            chosen, k = results.choices(criterion, key, clusterer=clusterer), SETS[key].k
            if chosen:
                right, runs = chosen.count(k), len(chosen)
                low, high = wilson(right, runs)
                row = {"clusterer": clusterer, "set": key, "criterion": criterion, "k_true": k}
                yield {**row, "right": right, "runs": runs, "rate": right / runs, "low": low, "high": high}


def head(record: Row) -> Row:
    """Return the columns that identify a unit."""
    return {name: record[name] for name in ("unit", "protocol", "set", "seed", "k_true")}


def ablation(pairs: Pairs) -> Iterable[Row]:
    """Yield the choices with the four transformations."""
    for record, result in pairs:
        if record["protocol"] in ("authors", "literal"):
            yield {**head(record), **{name: result.reweigh(transform=name).best_k for name in get_args(TransformName)}}


def rules(pairs: Pairs) -> Iterable[Row]:
    """Yield the choices of the three rules with the first 5, 10 and 20 subsamples and with all subsamples."""
    for record, result in pairs:
        if record["protocol"] in VARIANTS:
            for n in PREFIXES:
                part = result.reweigh(n_subsamples=n)
                chosen = {
                    "max": part.best_k,
                    "lcb": part.reweigh(rule="lcb").best_k,
                    "one-se": one_standard_error(part),
                }
                yield {**head(record), "n_subsamples": n, **chosen}


def one_standard_error(result: SelectionResult) -> int:
    """Return the smallest k whose score is within one standard error of the best."""
    bound = result.best_score - float(result.sem[result.ks.index(result.best_k)])
    return next(k for k, score in zip(result.ks, result.scores, strict=True) if score >= bound)


def pools(pairs: Pairs) -> dict[str, tuple[Row, Array, Array]]:
    """Return the pooled trials for all seeds under the literal protocol, for sets with results for all seeds."""
    found: dict[str, list[tuple[Row, SelectionResult]]] = {}
    for record, result in pairs:
        if record["protocol"] == "literal" and record["seed"] in SEEDS:
            found.setdefault(record["set"], []).append((record, result))
    return {
        key: (group[0][0], np.hstack([r.micro for _, r in group]), np.hstack([r.macro for _, r in group]))
        for key, group in found.items()
        if {record["seed"] for record, _ in group} == set(SEEDS)
    }


def scores(micro: Array, macro: Array) -> Array:
    """Return the composite score for each k, ignoring failed trials; NaN if all trials failed."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Mean of empty slice", RuntimeWarning)
        return np.asarray(np.nanmean(combine(micro, macro, weigh(micro, macro, "tanh")), axis=-1))


def best(ks: Array, values: Array) -> int:
    """Return the k with the best score, or 0 if no k has a score."""
    return 0 if np.isnan(values).all() else int(ks[np.nanargmax(values)])


def convergence(pairs: Pairs) -> Iterable[Row]:
    """Yield the error of the score for the true k, compared with the pool of 200 subsamples."""
    for key, (record, micro, macro) in pools(pairs).items():
        rng = np.random.default_rng(0)
        at = [record["ks"].index(record["k_true"])]
        micro, macro = micro[at, :POOL], macro[at, :POOL]
        reference = scores(micro, macro)[0]
        if np.isnan(reference):
            continue
        for n in STEPS:
            draws = [rng.choice(POOL, size=n, replace=False) for _ in range(REPEATS)]
            errors = [abs(scores(micro[:, draw], macro[:, draw])[0] - reference) for draw in draws]
            # The score is NaN if all drawn trials failed.
            low, middle, high = np.nanquantile(errors, (0.25, 0.5, 0.75))
            yield {"set": key, "n_subsamples": n, "low": low, "median": middle, "high": high}


def subsamples(pairs: Pairs) -> Iterable[Row]:
    """Yield how often fewer subsamples select the true k, and how often the same k as the whole pool."""
    for key, (record, micro, macro) in pools(pairs).items():
        rng = np.random.default_rng(0)
        ks = np.array(record["ks"])
        whole = best(ks, scores(micro, macro))
        for n in SIZES:
            draws = [rng.choice(micro.shape[1], size=n, replace=False) for _ in range(N_DRAWS)]
            chosen = np.array([best(ks, scores(micro[:, draw], macro[:, draw])) for draw in draws])
            right, agree = float((chosen == record["k_true"]).mean()), float((chosen == whole).mean())
            row = {"set": key, "pool": micro.shape[1], "k_true": record["k_true"], "k_pool": whole}
            yield {**row, "n_subsamples": n, "right": right, "agree": agree}


def calibration(pairs: Pairs) -> Iterable[Row]:
    """Yield the estimates from each run, the share of agreeing independent runs, and whether the choice is correct."""
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


def fewer(pairs: Pairs) -> Iterable[Row]:
    """Yield the estimates from runs with fewer subsamples, and the share of these runs with other seeds that agree."""
    literal = [(record, result) for record, result in pairs if record["protocol"] == "literal"]
    for n in PREFIXES:
        parts = [(record, result.reweigh(n_subsamples=n)) for record, result in literal]
        for record, part in parts:
            peers = [other.best_k for r, other in parts if is_peer(r, record)]
            if peers:
                estimate = part.selection_probability[part._best_index]
                agree = float(np.mean([k == part.best_k for k in peers]))
                right = int(part.best_k == record["k_true"])
                yield {
                    **head(record),
                    "n_subsamples": n,
                    "k": part.best_k,
                    "repeat": estimate,
                    "agree": agree,
                    "right": right,
                }


# Independent runs use other seeds on the same rows, or the same seed on the other half of the rows.
PEERS = {"literal": "literal", "first-half": "second-half", "second-half": "first-half"}


def is_peer(other: Row, record: Row) -> bool:
    """Return whether another run is an independent repetition of this run."""
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
    "fewer": fewer,
}
