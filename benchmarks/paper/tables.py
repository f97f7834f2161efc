"""The paper's tables from the committed results, as Markdown."""

from __future__ import annotations

import numpy as np
import pandas as pd

from benchmarks.paper.data import SETS
from benchmarks.paper.outcomes import (
    CRITERIA,
    PUBLISHED,
    SEVEN,
    Record,
    Results,
    markdown,
    over_sets,
    percent,
    points,
    share,
    wilson,
)
from compsil_kit._method.selection import TRANSFORMS

SHORT = {
    "composite": "composite", "micro": "micro", "macro": "macro", "full-micro": "micro, all data",
    "full-macro": "macro, all data", "calinski-harabasz": "CH", "davies-bouldin": "DB", "elbow": "elbow", "gap": "gap",
}  # fmt: skip
ON_SUBSAMPLES = ("composite", "micro", "macro")
AT_TRUE_K = ("composite", "micro", "macro", "full-micro", "full-macro", "calinski-harabasz", "davies-bouldin")
# The paper truncates its figures after the fourth digit (the first, for Calinski-Harabasz).
CUT = {"calinski-harabasz": 0.1}
STEPS = (10, 20, 30, 50, 100)


def names(criteria: tuple[str, ...]) -> list[str]:
    """Return the column headers for criteria."""
    return [SHORT[criterion] for criterion in criteria]


def rate_cell(chosen: list[int], k: int) -> str:
    """Return the number of correct choices and the wrong choices, or a dash if there are no runs."""
    if not chosen:
        return "–"
    wrong = sorted({found for found in chosen if found != k})
    text = f"{chosen.count(k)}/{len(chosen)}"
    return f"{text} ({', '.join(map(str, wrong))})" if wrong else f"**{text}**"


def recovery(results: Results, clusterer: str = "kmeans") -> str:
    """Return how often each criterion selects the true k of each set under the literal protocol."""
    criteria = CRITERIA if clusterer == "kmeans" else SEVEN
    rows = []
    for key in results.with_choices(clusterer):
        cells = [rate_cell(results.choices(c, key, clusterer=clusterer), SETS[key].k) for c in criteria]
        rows.append([f"{SETS[key].name}, k = {SETS[key].k}{'' if PUBLISHED[key]['exact'] else ' †'}", *cells])
    return markdown(["data", *names(criteria)], rows)


def totals(results: Results, clusterer: str = "kmeans") -> list[tuple[str, int, int, float, float, float]]:
    """Return the correct runs, all runs, and the mean rate with its interval for each criterion on the common sets."""
    criteria = CRITERIA if clusterer == "kmeans" else SEVEN
    common = common_sets(results, clusterer)
    found = []
    for criterion in criteria:
        chosen = [(results.choices(criterion, key, clusterer=clusterer), SETS[key].k) for key in common]
        right, runs = sum(c.count(k) for c, k in chosen), sum(len(c) for c, _ in chosen)
        found.append((criterion, right, runs, *over_sets([share(c, k) for c, k in chosen])))
    return found


def common_sets(results: Results, clusterer: str = "kmeans") -> list[str]:
    """Return the sets on which every criterion was run."""
    criteria = CRITERIA if clusterer == "kmeans" else SEVEN
    return [key for key in results.sets if all(results.choices(c, key, clusterer=clusterer) for c in criteria)]


def totals_table(results: Results, clusterer: str = "kmeans") -> str:
    """Return the rates of all criteria over the sets on which every criterion was run."""
    rows = [
        [SHORT[name], f"{right} of {runs}", percent(mean), f"{percent(low)} to {percent(high)}"]
        for name, right, runs, mean, low, high in totals(results, clusterer)
    ]
    return markdown(["criterion", "correct runs", "mean rate over sets", "95 % interval (sets resampled)"], rows)


# None of the paper's sets has seven, eight or nine clusters.
GROUPS = {"2": range(2, 3), "3 to 6": range(3, 7), "10 and more": range(7, 1000)}


def by_true_k(results: Results) -> dict[str, dict[str, tuple[int, int, int]]]:
    """Return the numbers of correct runs, runs and sets for each group of sets and criterion."""
    found: dict[str, dict[str, tuple[int, int, int]]] = {}
    for group, ks in GROUPS.items():
        keys = [key for key in common_sets(results) if SETS[key].k in ks]
        for criterion in CRITERIA:
            chosen = [(results.choices(criterion, key), SETS[key].k) for key in keys]
            counts = sum(c.count(k) for c, k in chosen), sum(len(c) for c, _ in chosen), len(keys)
            found.setdefault(group, {})[criterion] = counts
    return found


def by_true_k_table(results: Results) -> str:
    """Return how often each criterion is correct, by the true number of clusters."""
    rows = []
    for group, counts in by_true_k(results).items():
        if counts["composite"][2]:
            rows.append([group, counts["composite"][2], *(f"{right}/{runs}" for right, runs, _ in counts.values())])
    return markdown(["true k", "sets", *names(CRITERIA)], rows)


def intervals(n: int = 10) -> str:
    """Return the 95 % intervals for three rates in n runs."""
    parts = []
    for right in (n, n - 1, n // 2):
        low, high = wilson(right, n)
        parts.append(f"{right}/{n} is {percent(low)} to {percent(high)}")
    return "; ".join(parts)


def table_one(results: Results) -> str:
    """Return the choices with the authors' settings, and the published choices in brackets if they differ."""
    rows = []
    for key in results.sets:
        cells = [_choice(results, criterion, key) for criterion in CRITERIA]
        rows.append([f"{SETS[key].name}, k = {SETS[key].k}{'' if PUBLISHED[key]['exact'] else ' †'}", *cells])
    return markdown(["data", *names(CRITERIA)], rows)


def _choice(results: Results, criterion: str, key: str) -> str:
    found = results.choices(criterion, key, protocol="authors")
    return _printed(found, PUBLISHED[key]["kmeans"][criterion], SETS[key].k)


def majority(results: Results, clusterer: str) -> dict[tuple[str, str], tuple[int, int]]:
    """Return the most frequent choice (the smallest in a tie) and the printed choice for each set and criterion."""
    found = {}
    for key in results.with_choices(clusterer):
        for criterion in SEVEN:
            chosen = results.choices(criterion, key, clusterer=clusterer)
            if chosen:
                most = max(sorted(set(chosen)), key=chosen.count)
                found[key, criterion] = most, PUBLISHED[key][clusterer][criterion]
    return found


def majority_table(results: Results, clusterer: str) -> str:
    """Return the most frequent choices, and the printed choices in brackets if they differ."""
    found = majority(results, clusterer)
    rows = []
    for key in results.with_choices(clusterer):
        cells = []
        for criterion in SEVEN:
            ours = [found[key, criterion][0]] if (key, criterion) in found else []
            cells.append(_printed(ours, PUBLISHED[key][clusterer][criterion], SETS[key].k))
        rows.append([f"{SETS[key].name}, k = {SETS[key].k}{'' if PUBLISHED[key]['exact'] else ' †'}", *cells])
    return markdown(["data", *names(SEVEN)], rows)


def values(results: Results) -> list[tuple[str, str, float, float, bool]]:
    """Return the set, the criterion, our value for the true k, the published value, and whether all digits agree."""
    found = []
    for unit in results.find(protocol="authors", part="subsamples") + results.find(protocol="authors", part="full"):
        at = unit["ks"].index(unit["k_true"])
        for criterion in AT_TRUE_K:
            if criterion in unit["values"]:
                ours, printed = unit["values"][criterion][at], PUBLISHED[unit["set"]]["values"][criterion]
                equal = -1e-9 < ours - printed < CUT.get(criterion, 1e-4)
                found.append((unit["set"], criterion, ours, printed, equal))
    return found


def values_table(results: Results) -> str:
    """Return the values at the true k, with the published figures in brackets if they differ."""
    cells = {(key, name): _value(name, ours, printed, equal) for key, name, ours, printed, equal in values(results)}
    rows = [
        [SETS[key].name + ("" if PUBLISHED[key]["exact"] else " †"), *(cells.get((key, c), "–") for c in AT_TRUE_K)]
        for key in results.sets
    ]
    return markdown(["data", *names(AT_TRUE_K)], rows)


def _value(criterion: str, ours: float, printed: float, equal: bool) -> str:
    digits = 1 if criterion in CUT else 4
    if equal:
        return f"{ours:,.{digits + 2}f}"
    return f"{ours:,.{digits + 2}f} ({printed:,.{digits}f})"


def peers(units: list[Record]) -> str:
    """Return the differences to the authors' package, and its run time."""
    rows = []
    for unit in sorted(units, key=lambda unit: list(SETS).index(unit["set"])):
        name = SETS[unit["set"]].name + ("" if PUBLISHED[unit["set"]]["exact"] else " †")
        largest = [f"{max(unit[d].values()):.0e}" if d in unit else "–" for d in ("differences", "differences_exact")]
        rows.append([name, unit["n_subsamples"], f"{unit['copies']:,}", *largest, f"{unit['seconds']:.0f}"])
    header = ["data", "B", "duplicate rows", "largest difference", "with exact distances", "time for the package (s)"]
    return markdown(header, rows)


def ablation(results: Results) -> str:
    """Return the choices with the four transformations and the authors' settings, and the rates over ten seeds."""
    table = results.table("ablation")
    rows = []
    for key in results.sets:
        runs = table[table["set"] == key]
        one, many = runs[runs["protocol"] == "authors"], runs[runs["protocol"] == "literal"]
        if len(runs):
            printed = PUBLISHED[key]["ablation"]
            first = [_printed(one[name].tolist(), printed[name], SETS[key].k) for name in TRANSFORMS]
            name_of = SETS[key].name + ("" if PUBLISHED[key]["exact"] else " †")
            rows.append([name_of, *first, *(rate_cell(many[name].tolist(), SETS[key].k) for name in TRANSFORMS)])
    return markdown(["data", *TRANSFORMS, *(f"{name}, ten seeds" for name in TRANSFORMS)], rows)


def ablation_printed(results: Results) -> dict[str, tuple[int, int, int, int]]:
    """Return for each transformation the numbers of sets: correct here, correct in the paper, equal, and total."""
    table = results.table("ablation")
    exact = table[(table["protocol"] == "authors") & table["set"].map(lambda key: PUBLISHED[key]["exact"])]
    found = {}
    for name in TRANSFORMS:
        triples = [
            (ours, PUBLISHED[key]["ablation"][name], SETS[key].k)
            for key, ours in zip(exact["set"], exact[name], strict=True)
        ]
        ours, printed = (sum(triple[at] == triple[2] for triple in triples) for at in (0, 1))
        found[name] = ours, printed, sum(a == b for a, b, _ in triples), len(triples)
    return found


def _printed(found: list[int], printed: int, k: int) -> str:
    if not found:
        return "–"
    text = f"**{found[0]}**" if found[0] == k else str(found[0])
    return text if found[0] == printed else f"{text} ({printed})"


def ablation_totals(results: Results) -> str:
    """Return the rates for the transformations over all sets."""
    table = results.table("ablation")
    literal = table[table["protocol"] == "literal"]
    rows = []
    right = literal[list(TRANSFORMS)].eq(literal["k_true"], axis=0)
    rates = right.groupby(literal["set"]).mean()
    for name in TRANSFORMS:
        difference = "–" if name == "tanh" else points(over_sets((rates[name] - rates["tanh"]).tolist()))
        rows.append([name, f"{right[name].sum()} of {len(right)}", percent(rates[name].mean()), difference])
    return markdown(["transformation", "correct runs", "mean rate over sets", "points above tanh"], rows)


def convergence(results: Results) -> str:
    """Return the median error of the score for each set and number of subsamples."""
    table = results.table("convergence").pivot(index="set", columns="n_subsamples", values="median")
    rows = [[SETS[key].name, *(f"{table[n][key]:.4f}" for n in STEPS)] for key in SETS if key in table.index]
    for name, some in convergence_groups(results).items():
        rows.append([f"median of the {name} sets", *(f"{np.median(some[n]):.4f}" for n in STEPS)])
    return markdown(["data", *(f"B = {n}" for n in STEPS)], rows)


def convergence_groups(results: Results) -> dict[str, pd.DataFrame]:
    """Return the median errors (sets by numbers of subsamples) for synthetic and real sets."""
    table = results.table("convergence").pivot(index="set", columns="n_subsamples", values="median")
    kinds = ["synthetic" if SETS[key].kind == "synthetic" else "real" for key in table.index]
    return {str(kind): part for kind, part in sorted(table.groupby(kinds), reverse=True)}


def runtime(results: Results) -> str:
    """Return the run times for one k and for scikit-learn's silhouette on all the data."""
    rows = []
    for unit in sorted(results.find(protocol="runtime"), key=lambda unit: unit["n"]):
        ratio = unit["seconds_standard"] / unit["seconds"]
        times = (f"{unit['seconds']:.2f}", f"{unit['seconds_standard']:.2f}", f"{ratio:.2f}")
        rows.append([f"{unit['n']:,}", f"{unit['sample_size']:,}", *times])
    header = ["N", "rows in a subsample", "composite, 20 subsamples (s)", "silhouette on all the data (s)", "ratio"]
    return markdown(header, rows)
