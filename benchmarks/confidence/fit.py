"""Fit the confidence model to the measured selections, in seconds: ``python -m benchmarks.confidence.fit``."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from benchmarks.confidence.generate import MAX_CLUSTERS, SEED
from benchmarks.confidence.measure import MAX_ROWS, N_SUBSAMPLES, STARTS, plan_of, read
from compsil_kit._method import likelihood
from compsil_kit._method.likelihood import MODEL_FILE, features

Array = NDArray[np.float64]

# Ridge penalty, which prevents large coefficients of opposite sign for correlated features.
PENALTY = 3e-4
# Data sets in which one cluster is hidden inside another are excluded.
MIN_RECALL = 0.6
# Limits within which the confidence is defined: slightly beyond the generated data sets.
LIMITS = {"k": MAX_CLUSTERS + 10, "features": 150, "subsamples": 5}


def numbers_of(record: dict[str, Any], starts: int) -> dict[str, Array]:
    """Return the measured numbers as arrays."""
    return {name: np.array(values, dtype=np.float64) for name, values in record[str(starts)].items()}


def fit(records: list[dict[str, Any]], starts: int) -> dict[str, Any]:
    """Fit the coefficients by penalised maximum likelihood."""
    rows = [features(numbers_of(record, starts), plan_of(record, starts, N_SUBSAMPLES)) for record in records]
    # The better half of the subsamples approximates several initialisations, so it is redundant if there are several.
    names = [name for name in rows[0][0] if starts == 1 or "better" not in name]
    none_names = list(rows[0][1])
    n, width = len(rows), max(len(record["ks"]) for record in records)
    per_k, none = np.zeros((n, width, len(names))), np.zeros((n, len(none_names)))
    there, truth = np.zeros((n, width + 1), dtype=bool), np.full(n, width)
    there[:, width] = True
    for at, (record, (of_ks, of_none)) in enumerate(zip(records, rows, strict=True)):
        n_ks = len(record["ks"])
        per_k[at, :n_ks], none[at] = np.stack([of_ks[name] for name in names], axis=1), list(of_none.values())
        there[at, :n_ks] = True
        if record["k"] in record["ks"]:
            truth[at] = record["ks"].index(record["k"])
    scale, none_scale = per_k[there[:, :width]].std(axis=0), np.abs(none).max(axis=0)
    scale[scale == 0] = 1.0
    per_k, none = per_k / scale, none / none_scale

    def loss(weights: Array) -> tuple[float, Array]:
        one, other = weights[: len(names)], weights[len(names) :]
        utilities = np.where(there, np.concatenate([per_k @ one, (none @ other)[:, None]], axis=1), -np.inf)
        chances = np.exp(utilities - utilities.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
        value = -np.log(np.maximum(chances[np.arange(n), truth], 1e-300)).mean() + PENALTY * weights @ weights
        chances[np.arange(n), truth] -= 1.0
        slope = [np.einsum("nk,nkf->f", chances[:, :width], per_k), chances[:, width] @ none]
        return value, np.concatenate(slope) / n + 2 * PENALTY * weights

    found = minimize(
        loss, np.zeros(len(names) + len(none_names)), jac=True, method="L-BFGS-B", options={"maxiter": 2000}
    ).x
    one, other = found[: len(names)] / scale, found[len(names) :] / none_scale
    return {
        "sharpness": 1.0,
        "k": dict(zip(names, (float(f"{value:.6g}") for value in one), strict=True)),
        "none": dict(zip(none_names, (float(f"{value:.6g}") for value in other), strict=True)),
    }


def write(model: dict[str, Any]) -> None:
    """Write the model to its file in the package."""
    MODEL_FILE.write_text(json.dumps(model, indent=2) + "\n")
    likelihood.model.cache_clear()


def sharpen(model: dict[str, Any], labelled: list[dict[str, Any]]) -> None:
    """Set the sharpness of each model so that its confidence has the lowest Brier score on labelled data sets.

    Selections on generated data use fewer and smaller subsamples than real selections, so the model is underconfident.
    The scored choices are the composite's and the model's; all data sets have equal weight.
    """
    runs = Counter(record["set"] for record in labelled)
    for starts, name in zip(STARTS, model["starts"], strict=True):
        scores = {}
        for sharpness in np.arange(1.0, 2.01, 0.05):
            model["starts"][name]["sharpness"] = round(float(sharpness), 2)
            write(model)
            scores[model["starts"][name]["sharpness"]] = sum(
                _brier(each, starts) / runs[each["set"]] for each in labelled
            )
        model["starts"][name]["sharpness"] = min(scores, key=lambda each: scores[each])
    write(model)


def _brier(record: dict[str, Any], starts: int) -> float:
    """Return the squared error of the confidence for two choices."""
    confidence = likelihood.likelihood(numbers_of(record, starts), plan_of(record, starts, N_SUBSAMPLES))[:-1]
    right = np.array(record["ks"]) == record["k"]
    choices = int(confidence.argmax()), int(np.argmax(record["1"]["composite"]))
    return float(sum((confidence[at] - right[at]) ** 2 for at in choices))


def main() -> None:
    """Fit both models and write them to their file in the package."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measured", type=Path, default=Path("benchmarks/confidence/measured.jsonl"))
    parser.add_argument("--labelled", type=Path, default=Path("benchmarks/truth/results/runs.jsonl"))
    options = parser.parse_args()
    records = [record for record in read(options.measured) if record["recall"] >= MIN_RECALL and len(record["ks"]) >= 3]
    few, several = STARTS
    model = {
        "recipe": "make confidence: benchmarks/confidence generates data sets, runs selections on them and fits a "
        "conditional logit over the candidates and none of them",
        "data_sets": len(records),
        "seed": SEED,
        "subsamples": N_SUBSAMPLES,
        "most_rows_in_a_subsample": MAX_ROWS,
        "limits": LIMITS,
        "starts": {"1": fit(records, few), "several": fit(records, several)},
    }
    labelled = [record for record in read(options.labelled) if record["ks"][-1] <= LIMITS["k"]]
    sharpen(model, labelled)
    print(f"{len(records):,} generated and {len(Counter(r['set'] for r in labelled))} labelled sets: {MODEL_FILE.name}")


if __name__ == "__main__":
    main()
