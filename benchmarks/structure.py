"""Measure the size and power of the structure test: rejection rates on data without clusters and on labelled data.

python -m benchmarks.structure --null 200
python -m benchmarks.structure --labelled convex.npz
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from compsil_kit._method.structure import LEVEL, Structure
from compsil_kit._run import structure
from compsil_kit.adapters import load, make_plan, open_data
from compsil_kit.config import SelectionConfig
from compsil_kit.events import Events

DIMENSIONS = (2, 3, 5, 10, 20)
ROWS = (100, 3000)


def _directions(random: np.random.Generator, shape: tuple[int, int]) -> Any:
    drawn = random.normal(size=shape)
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def _mixed(random: np.random.Generator, X: Any) -> Any:
    """Return the data, transformed to a random covariance."""
    n_columns = X.shape[1]
    return X @ (random.normal(size=(n_columns, n_columns)) * np.exp(random.normal(size=n_columns) / 2))


def _box(random: np.random.Generator, n: int, d: int) -> Any:
    X = random.uniform(size=(n, d)) * np.exp(random.normal(size=d) / 2)
    return X if random.random() < 0.5 else X @ np.linalg.qr(random.normal(size=(d, d)))[0]


def _one_tail(random: np.random.Generator, n: int, d: int) -> Any:
    X = random.normal(size=(n, d))
    X[:, 0] = random.gamma(random.uniform(1, 4), size=n) * random.uniform(0.5, 2)
    return X


KINDS = {
    "Gaussian": lambda random, n, d: _mixed(random, random.normal(size=(n, d))),
    "box": _box,
    "t(5), elliptical": lambda random, n, d: _mixed(
        random, random.normal(size=(n, d)) / np.sqrt(random.chisquare(5, size=(n, 1)) / 5)
    ),
    "t(5), columns": lambda random, n, d: random.standard_t(5, size=(n, d)) * np.exp(random.normal(size=d) / 3),
    "ball": lambda random, n, d: (
        _directions(random, (n, d)) * random.uniform(size=(n, 1)) ** (1 / d) * np.exp(random.normal(size=d) / 3)
    ),
    "gamma, one column": _one_tail,
    "gamma, all columns": lambda random, n, d: random.gamma(random.uniform(1, 4), size=(n, d)),
}


def without_clusters(count: int, seed: int = 0) -> Iterator[tuple[str, str, Any]]:
    """Yield the kind, name and data for each data set without clusters."""
    for number in range(count):
        random = np.random.default_rng((seed, number))
        kind = list(KINDS)[number % len(KINDS)]
        d = int(random.choice(DIMENSIONS))
        n = int(np.exp(random.uniform(*np.log(ROWS))))
        yield kind, f"{kind} {number}: {n} rows, {d} columns", KINDS[kind](random, n, d)


def labelled(path: Path) -> Iterator[tuple[str, str, Any]]:
    """Yield the labelled data sets in a file; real data are standardised."""
    with np.load(path) as sets:
        for key in sorted(sets.files):
            if key.startswith("X_"):
                X = sets[key].astype(float)
                real = key.startswith("X_real_")
                yield "labelled", key[2:], (X - X.mean(0)) / np.where(X.std(0) > 0, X.std(0), 1) if real else X


def outcome(X: Any, seed: int) -> Structure:
    """Run the structure test without a selection."""
    settings = {"structure": True, "n_subsamples": 1, "random_state": seed}
    table = open_data(X)
    plan = make_plan(table, SelectionConfig(**settings))
    found = structure.find_structure(load(table, plan, Events(), warn=False).matrix, plan)
    assert found is not None
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--null", type=int, default=0, help="number of data sets without clusters")
    parser.add_argument("--labelled", type=Path, help="file with labelled data sets in arrays named X_<name>")
    parser.add_argument("--seed", type=int, default=0, help="seed for generating the data sets without clusters")
    parser.add_argument("--first", type=int, default=0, help="number of data sets to skip")
    parser.add_argument("--step", type=int, default=1, help="use only every STEP-th data set")
    parser.add_argument(
        "--references", type=int, default=structure.N_NULL, help="number of reference data sets of each kind"
    )
    given = parser.parse_args()
    structure.N_NULL = given.references
    sets = labelled(given.labelled) if given.labelled else without_clusters(given.null, given.seed)
    rejected = defaultdict(list)
    for number, (kind, name, X) in enumerate(sets):
        if number < given.first or number % given.step:
            continue
        found = outcome(X, number)
        rejected[kind].append(found.found)
        shown = ", ".join(f"{which} {p:.3f}" for which, p in found.p_values.items())
        print(f"{name} | p = {found.p_value:.3f} | {shown} | {found.statistic:.2f}", flush=True)
    for kind, rejections in rejected.items():
        print(f"{kind}: {sum(rejections)} of {len(rejections)} rejected at {LEVEL:.0%}")
    every = [each for rejections in rejected.values() for each in rejections]
    print(f"all: {sum(every)} of {len(every)}, {np.mean(every):.1%}")


if __name__ == "__main__":
    main()
