"""Compare the choices and the number of clusterings with ``n_subsamples="auto"`` and with 200 on the paper's sets.

``python -m benchmarks.scale.adaptive FOLDER`` replays the decisions on the selections stored by ``longest``.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.scale.longest import N_SUBSAMPLES
from compsil_kit import SelectionResult
from compsil_kit._method.selection import ROUND, review_candidates
from compsil_kit._result.trials import Trial
from compsil_kit.plan import Plan
from compsil_kit.result import collect

RESULTS = Path(__file__).parent / "results" / "adaptive.jsonl"


def result_of(ks: Sequence[int], micro: Any, macro: Any, *, adaptive: str = "composite") -> SelectionResult:
    """Return the selection for these silhouettes (candidates by subsamples)."""
    n = micro.shape[1]
    plan = Plan(10**6, 2, tuple(ks), n, 0, 10**5, tuple(range(n)), "kmeans", "euclidean", "float64", adaptive=adaptive)
    return collect(plan, [Trial(b, tuple(micro[:, b]), tuple(macro[:, b])) for b in range(n)])


def replay(ks: Sequence[int], micro: Any, macro: Any) -> tuple[int | None, int, int]:
    """Return the choice, the number of subsamples, and the number of clusterings."""
    seen = {"micro": np.full_like(micro, np.nan), "macro": np.full_like(macro, np.nan)}
    active, n_clusterings = tuple(range(len(ks))), 0
    for low in range(0, N_SUBSAMPLES, ROUND):
        high = low + ROUND
        for name, values in (("micro", micro), ("macro", macro)):
            seen[name][list(active), low:high] = values[list(active), low:high]
        n_clusterings += len(active) * ROUND
        result = result_of(ks, seen["micro"][:, :high], seen["macro"][:, :high])
        enough, active = review_candidates(result.selection_probability, result._selectable, active)
        if enough:
            break
    return (None if result._best_index is None else result.best_k), high, n_clusterings


def main() -> None:
    """Replay all stored selections, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    records = []
    for file in sorted(parser.parse_args().folder.glob("*.npz")):
        name, _, seed = file.stem.rpartition("-")
        stored = np.load(file)
        ks = stored["ks"].tolist()
        fixed = result_of(ks, stored["micro"], stored["macro"], adaptive="")
        best, n_subsamples, n_clusterings = replay(ks, stored["micro"], stored["macro"])
        records.append(
            {
                "set": name,
                "seed": int(seed),
                "k": int(stored["k"]),
                "fixed": fixed.best_k,
                "auto": best,
                "probability": round(float(fixed.selection_probability[fixed._best_index]), 3),
                "n_subsamples": n_subsamples,
                "share": round(n_clusterings / (len(ks) * N_SUBSAMPLES), 4),
            }
        )
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text("".join(json.dumps(record) + "\n" for record in records))
    same = np.mean([record["fixed"] == record["auto"] for record in records])
    share = np.mean([record["share"] for record in records])
    print(f"{len(records)} selections: the same choice in {same:.1%}, {share:.1%} of the clusterings")


if __name__ == "__main__":
    main()
