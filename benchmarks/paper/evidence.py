"""Write docs/evidence.md and its plots from the committed results. All numbers in the text are computed."""

from __future__ import annotations

from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from benchmarks.paper import figures, tables, trust
from benchmarks.paper.calibration import reliability
from benchmarks.paper.data import ROOT, SETS
from benchmarks.paper.outcomes import CRITERIA, PUBLISHED, Record, Results, over_sets, percent, points, share
from benchmarks.paper.protocols import (
    CLUSTERERS,
    FEW,
    FULL_REPEATS,
    FULL_SEED,
    FULL_SEEDS,
    HEAVY_MIXTURES,
    N_SUBSAMPLES,
    SEEDS,
    SLOW,
    SLOW_REPEATS,
    units,
)  # fmt: skip
from benchmarks.paper.runs import MAX_DIFFERENCE
from benchmarks.paper.store import HERE
from compsil_kit._util.system import write_atomically

DOCS = ROOT / "docs"
TEMPLATE = HERE / "evidence.template.md"
# The page needs at least one run for each of these combinations of protocol, clusterer and part.
REQUIRED = (
    ("authors", "kmeans", "subsamples"), ("authors", "kmeans", "full"), ("authors", "kmeans", "compsil"),
    ("literal", "kmeans", "subsamples"), ("literal", "kmeans", "full"), ("literal", "bisecting-kmeans", "full"),
    ("literal", "gmm", "full"), ("ten-starts", "kmeans", "subsamples"), ("first-half", "kmeans", "subsamples"),
    ("second-half", "kmeans", "subsamples"), ("runtime", "kmeans", "subsamples"),
)  # fmt: skip
Fields = dict[str, Any]


def write(folder: Path, docs: Path = DOCS) -> list[Path]:
    """Write the page and its plots, and return the paths."""
    results = Results(folder)
    page = text(results)
    (docs / "_static").mkdir(parents=True, exist_ok=True)
    drawn = figures.write(results, docs / "_static")
    write_atomically(docs / "evidence.md", page.encode())
    return [docs / "evidence.md", *drawn]


def text(results: Results) -> str:
    """Return the text of the page."""
    absent = [" ".join(p) for p in REQUIRED if not results.find(protocol=p[0], clusterer=p[1], part=p[2])]
    if absent:
        raise RuntimeError(f"the page needs runs that are missing: {', '.join(absent)}. Run the 'run' step first.")
    fields: Fields = {}
    for part in (overview, authors, literal, by_set, clusterers, experiments, selection_probability, settings):
        fields.update(part(results))
    return Template(TEMPLATE.read_text()).substitute(fields)


def overview(results: Results) -> Fields:
    """Return the number of runs, their settings and versions."""
    protocols = sorted({unit["protocol"] for unit in results.units})
    done = {unit["unit"] for unit in results.units}
    # A set that was unavailable in the last run is not missing if an earlier run has results.
    missing = [key for key in SETS if key in results.missing and key not in results.sets]
    names = ", ".join(SETS[key].name for key in missing)
    planned = [unit.name for unit in units() if unit.data not in missing]
    pending = [name for name in planned if name not in done]
    return {
        "progress": f"**{len(pending)} of {len(planned)} planned runs are not finished**, so some tables have "
        "gaps and small numbers."
        if pending
        else "All planned runs are finished.",
        "n_runs": f"{sum(unit['protocol'] != 'runtime' and unit['part'] != 'cost' for unit in results.units):,}",
        "n_sets": len(results.sets),
        "missing": f"Missing because the data were not available: {names}." if names else "",
        "n_subsamples": N_SUBSAMPLES,
        "n_seeds": len(SEEDS),
        "slow_repeats": SLOW_REPEATS,
        "slow_sets": ", ".join(SETS[key].name for key in SLOW),
        "heavy_subsamples": FEW,
        "heavy_sets": " and ".join(SETS[key].name for key in HEAVY_MIXTURES),
        "counts": ", ".join(f"{name} {len(results.find(protocol=name))}" for name in protocols),
        "versions": "; ".join(sorted({unit["versions"] for unit in results.units})),
    }


def authors(results: Results) -> Fields:
    """Return the comparison of the published figures with our figures."""
    comparable = [row for row in tables.values(results) if PUBLISHED[row[0]]["exact"]]
    exact = [equal for _, criterion, _, _, equal in comparable if criterion in tables.ON_SUBSAMPLES]
    full = [equal for _, criterion, _, _, equal in comparable if criterion not in tables.ON_SUBSAMPLES]
    peers = results.find(protocol="authors", part="compsil")
    return {
        "table_one": tables.table_one(results),
        "values": tables.values_table(results),
        "exact_equal": sum(exact),
        "exact_all": len(exact),
        "full_equal": sum(full),
        "full_all": len(full),
        "full_seed": FULL_SEED,
        "full_seeds": ", ".join(f"{seed} on {SETS[key].name}" for key, seed in FULL_SEEDS.items()),
        "full_exceptions": " and ".join(f"{n} on {SETS[key].name}" for key, n in FULL_REPEATS.items()),
        **{f"{name}_equal": same_choices(results, name) for name in ("elbow", "gap")},
        "peer": peers[0]["peer"],
        "n_peers": len(peers),
        "notable": f"{MAX_DIFFERENCE:.0e}",
        "n_peers_exact": sum(PUBLISHED[unit["set"]]["exact"] for unit in peers),
        "largest_without_copies": f"{largest([unit for unit in peers if not unit['copies']]):.0e}",
        "largest_exact": f"{largest([unit for unit in peers if PUBLISHED[unit['set']]['exact']]):.0e}",
        "peers": tables.peers(peers),
    }


def same_choices(results: Results, criterion: str) -> str:
    """Return on how many sets with the authors' rows a criterion selects the printed k."""
    pairs = [
        (chosen[0], PUBLISHED[key]["kmeans"][criterion])
        for key in results.sets
        if PUBLISHED[key]["exact"] and (chosen := results.choices(criterion, key, protocol="authors"))
    ]
    return f"{sum(ours == printed for ours, printed in pairs)} of {len(pairs)} data sets"


def largest(peers: list[Record]) -> float:
    """Return the largest difference from the authors' package, with exact distances if available."""
    found = [unit["differences_exact" if "differences_exact" in unit else "differences"] for unit in peers]
    return max((max(difference.values()) for difference in found), default=float("nan"))


def literal(results: Results) -> Fields:
    """Return the rates for all criteria."""
    rates = {name: (right, runs, mean) for name, right, runs, mean, *_ in tables.totals(results)}
    right, runs, mean = rates["composite"]
    ahead = sum(rate > mean for _, _, rate in rates.values())
    groups = [counts["composite"] for counts in tables.by_true_k(results).values()]
    few = [sum(counts[at] for counts in groups[:2]) for at in (0, 1)]
    return {
        "composite_right": right,
        "composite_runs": runs,
        "composite_rate": percent(mean),
        "n_common": len(tables.common_sets(results)),
        "rank": "the highest rate of the nine criteria" if not ahead else f"rank {ahead + 1} among the nine criteria",
        **lead(results, rates),
        "recovery": tables.recovery(results),
        "totals": tables.totals_table(results),
        "intervals": tables.intervals(len(SEEDS)),
        "by_true_k": tables.by_true_k_table(results),
        "few_right": few[0],
        "few_runs": few[1],
        "many_right": groups[2][0],
        "many_runs": groups[2][1],
        "few": trust.FEW,
    }


def lead(results: Results, rates: dict[str, tuple[int, int, float]]) -> Fields:
    """Return the difference in rate between the composite and the best other criterion, averaged over sets."""
    rival = max((name for name in rates if name != "composite"), key=lambda name: rates[name][2])
    chosen = [
        (results.choices("composite", key), results.choices(rival, key), SETS[key].k)
        for key in tables.common_sets(results)
    ]
    mean, low, high = over_sets([share(ours, k) - share(theirs, k) for ours, theirs, k in chosen])
    return {
        "rival": tables.SHORT[rival],
        "lead": f"{100 * mean:+.0f} points (95 % interval {100 * low:+.0f} to {100 * high:+.0f})",
    }


# With ten runs per set, a difference of one or two runs is noise.
MIN_DIFFERENCE = 3


def by_set(results: Results) -> Fields:
    """Return the sets on which the composite is correct, and those on which it fails."""
    rates = {key: share(results.choices("composite", key), SETS[key].k) for key in results.with_choices()}
    always = [key for key, rate in rates.items() if rate == 1]
    return {
        "n_always": len(always),
        "always": ", ".join(f"{SETS[key].name} (k = {SETS[key].k})" for key in always),
        "mostly": "\n".join(summary_of_set(results, key) for key, rate in rates.items() if 0.5 < rate < 1),
        "rarely": "\n".join(summary_of_set(results, key) for key, rate in rates.items() if rate <= 0.5),
        "clearly": MIN_DIFFERENCE,
        "others_better": "\n".join(filter(None, (better_criteria(results, key) for key in rates))) or "- On no set.",
        "composite_better": worse_averages(results, list(rates)),
    }


def summary_of_set(results: Results, key: str) -> str:
    """Return the choices of the composite, micro and macro on a set."""
    k, chosen = SETS[key].k, results.choices("composite", key)
    wrong = ", ".join(f"{found} ({chosen.count(found)}×)" for found in sorted(set(chosen)) if found != k)
    alone = {name: results.choices(name, key) for name in ("micro", "macro")}
    rates = ", ".join(f"{name} {values.count(k)}/{len(values)}" for name, values in alone.items())
    return f"- {SETS[key].name}, k = {k}: {chosen.count(k)}/{len(chosen)}, otherwise {wrong}. For comparison: {rates}."


def n_correct(results: Results, key: str) -> dict[str, int]:
    """Return the number of runs in which each criterion selected the true k of a set."""
    return {name: results.choices(name, key).count(SETS[key].k) for name in CRITERIA if results.choices(name, key)}


def better_criteria(results: Results, key: str) -> str:
    """Return the criteria that are clearly better than the composite on a set, or an empty string."""
    right = n_correct(results, key)
    better = [
        f"{tables.SHORT[name].replace(',', ' on')} ({n})"
        for name, n in right.items()
        if n >= right["composite"] + MIN_DIFFERENCE
    ]
    return f"- {SETS[key].name}: {', '.join(better)}; composite ({right['composite']})." if better else ""


def worse_averages(results: Results, keys: list[str]) -> str:
    """Return the sets on which the composite is clearly better than micro or macro."""
    found = []
    for key in keys:
        right = n_correct(results, key)
        worse = [name for name in ("micro", "macro") if right["composite"] >= right[name] + MIN_DIFFERENCE]
        found += [f"{SETS[key].name} ({' and '.join(worse)})"] if worse else []
    return ", ".join(found) or "no set"


def clusterers(results: Results) -> Fields:
    """Return the rates with the other two clusterers."""
    fields: Fields = {}
    for name in CLUSTERERS[1:]:
        few = [unit for unit in results.find(clusterer=name, part="subsamples") if unit["n_subsamples"] < N_SUBSAMPLES]
        failed = sum(unit["n_failed"] for unit in results.find(clusterer=name))
        notes = [f" {SETS[unit['set']].name} has only {unit['n_subsamples']} subsamples." for unit in few]
        notes += [f" Failed clusterings, which are excluded: {failed}."] if failed else []
        cells = [
            ours == printed
            for (key, _), (ours, printed) in tables.majority(results, name).items()
            if PUBLISHED[key]["exact"]
        ]
        short = name.split("-")[0]
        fields |= {
            short: tables.recovery(results, name),
            f"{short}_majority": tables.majority_table(results, name),
            f"{short}_equal": f"{sum(cells)} of {len(cells)}",
            f"{short}_totals": tables.totals_table(results, name),
            f"{short}_printed": sum(PUBLISHED[key][name]["composite"] == SETS[key].k for key in SETS),
            f"{short}_notes": "".join(notes),
        }
    return fields


def experiments(results: Results) -> Fields:
    """Return the results on transformations, convergence and run times."""
    units = results.find(protocol="runtime")
    slower = [unit["n"] for unit in units if unit["seconds"] >= unit["seconds_standard"]]
    faster = [unit["n"] for unit in units if unit["n"] > max(slower, default=0)]
    printed = tables.ablation_printed(results)
    groups, first = tables.convergence_groups(results), tables.STEPS[0]
    medians = " and ".join(f"{np.median(part[first]):.4f} on the {name} sets" for name, part in groups.items())
    worst = max((part[first].max(), SETS[str(part[first].idxmax())].name) for part in groups.values())
    return {
        "ablation": tables.ablation(results),
        "ablation_totals": tables.ablation_totals(results),
        "ablation_exact": ", ".join(
            f"{name} on {ours} ({theirs} in the paper)" for name, (ours, theirs, *_) in printed.items()
        ),
        "ablation_equal": "{} of {}".format(*(sum(row[at] for row in printed.values()) for at in (2, 3))),
        "n_exact": printed["tanh"][-1],
        "convergence": tables.convergence(results),
        "convergence_median": medians,
        "convergence_worst": f"{worst[0]:.3f} ({worst[1]})",
        "runtime": tables.runtime(results),
        "faster": f"From N = {min(faster):,} on, the composite is faster." if faster else "",
    }


def selection_probability(results: Results) -> Fields:
    """Return the results on the calibration of the selection probability."""
    same, other = trust.questions(results).values()
    sure = same[same["repeat"] >= 0.9]
    top = reliability(same["plain"].to_numpy(), same["agree"].to_numpy())[-1]
    unsure = trust.indicators(results)[4]
    mean, low, high = trust.better(results)
    return {
        "sure_agree": percent(sure["agree"].mean()),
        "unsure_few": "{} of {}".format(*unsure.few),
        "reliability": trust.reliability_table(results),
        "estimates": trust.estimates_table(results),
        "says_per_set": trust.sets_table(results),
        "fewer": trust.fewer_table(results),
        "indicators": trust.indicators_table(results),
        "plain_excess": points(trust.excess(same, "plain")),
        "repeat_excess": points(trust.excess(same, "repeat")),
        "brier_gain": f"{mean:.3f} ({low:+.3f} to {high:+.3f})",
        "plain_sure_says": percent(top["estimate"]),
        "plain_sure_agree": percent(top["observed"]),
        "n_pairs": len(other) // 2,
        **{f"halves_{name}": percent(other[name].mean()) for name in ("agree", "plain", "repeat", "sample")},
    }


def settings(results: Results) -> Fields:
    """Return the results with other settings."""
    return {
        "rules": trust.rules_table(results),
        "subsamples": trust.subsamples_table(results),
        "settings": trust.settings_table(results),
        "settings_by_set": trust.settings_by_set(results),
    }
