"""Write docs/scale.md and its plot from the results: ``python -m benchmarks.scale.report``."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.scale.cap import SIZES
from benchmarks.scale.confidence import MORE
from benchmarks.truth.report import calibration_table
from compsil_kit._method.cost import ONCE, cost_of
from compsil_kit.plan import Plan

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs"
CLUSTER = 32


def write_page() -> None:
    """Write the page and the plot."""
    (DOCS / "scale.md").write_text(text())
    _draw(_scale()["sizes"])


def text() -> str:
    """Return the text of the page."""
    scale = _scale()
    page = (HERE / "scale.template.md").read_text()
    parts = {
        "machine": scale["machine"],
        "times": _times(scale["sizes"]),
        "chosen": _chosen(scale["sizes"]),
        "silhouettes": " and ".join(f"{value:.3f} with {k} clusters" for k, value in scale["silhouettes"].items()),
        "parts": _parts(scale["sizes"]),
        "computed": _computed(),
        "cap": _cap(_by_key(_lines("cap.jsonl"))),
        "cap_sentence": _cap_sentence(_by_key(_lines("cap.jsonl"))),
        "adaptive": _adaptive(_lines("adaptive.jsonl")),
        "confidence": _confidence(_lines("confidence.jsonl")),
    }
    for name, value in parts.items():
        page = page.replace(f"{{{{{name}}}}}", value)
    return page


def _scale() -> dict[str, Any]:
    return dict(json.loads((HERE / "results" / "scale.json").read_text()))


def _lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (HERE / "results" / name).read_text().splitlines()]


def _table(heading: list[str], rows: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(row) + " |" for row in [heading, ["---"] * len(heading), *rows])


def _times(sizes: dict[str, Any]) -> str:
    heading = [
        "rows", "from Parquet", "peak memory", "from memory", "scikit-learn's loop", "Spark's loop",
    ]  # fmt: skip
    rows = []
    for size, row in sizes.items():
        parquet, memory = row["parquet"], row["memory"]
        others = [f"{row[name]['seconds']:,.0f} s" if name in row else "–" for name in ("scikit-learn", "spark")]
        rows.append(
            [f"{int(size):,}", _seconds(parquet["seconds"]), f"{parquet['peak'] / 1e9:.2f} GB",
             _seconds(memory["seconds"]), *others]
        )  # fmt: skip
    return _table(heading, rows)


def _chosen(sizes: dict[str, Any]) -> str:
    """Return the k selected by each method."""
    rows = []
    for size, row in sizes.items():
        found = row["parquet"]
        ours = [f"{found[kind]} ({found['confidence'][str(found[kind])]:.0%})" for kind in ("best", "likely")]
        others = [str(row[name]["best"]) if name in row else "–" for name in ("scikit-learn", "spark")]
        rows.append([f"{int(size):,}", *ours, *others])
    return _table(
        ["rows", "composite (confidence)", "likely k (confidence)", "scikit-learn's loop", "Spark's loop"], rows
    )


def _parts(sizes: dict[str, Any]) -> str:
    heading = [
        "rows",
        "one scan by PyArrow",
        "selection on the fetched rows",
        "total / (scan + selection)",
        "estimated / measured",
    ]
    rows = []
    for size, row in sizes.items():
        found = row["parquet"]
        ratio = found["seconds"] / (found["scan"] + found["selection"])
        guess = found["predicted"] / found["seconds"]
        rows.append(
            [f"{int(size):,}", _seconds(found["scan"]), _seconds(found["selection"]), f"{ratio:.2f}", f"{guess:.2f}"]
        )
    return _table(heading, rows)


def _computed() -> str:
    """Return the times that the cost model predicts for larger tables."""
    plan = Plan(10**9, 10, tuple(range(2, 11)), 30, 0, 20_000, tuple(range(30)), "kmeans", "euclidean", "float32")
    rows = []
    for n_rows in (10**9, 10**10):
        cost = cost_of(replace(plan, n_rows=n_rows, scanned_bytes=n_rows * 40))
        # The workers share the scan and the 30 subsamples.
        one = cost.seconds()
        many = ONCE + cost.scanning / CLUSTER + (cost.clustering + cost.distances) / min(CLUSTER, 30)
        rows.append([f"{n_rows:,}", f"{n_rows * 40 / 1e9:,.0f} GB", _seconds(one), _seconds(many)])
    return _table(["rows", "bytes", "one process (computed)", f"{CLUSTER} workers (computed)"], rows)


Runs = dict[tuple[str, int, str], dict[str, Any]]


def _by_key(runs: list[dict[str, Any]]) -> Runs:
    """Return the runs by set, seed and size, for the seeds that have runs with all sizes."""
    found = {(run["set"], run["seed"], str(run["asked"])): run for run in runs}
    whole = {(name, seed) for name, seed, _ in found if all((name, seed, asked) in found for asked in SIZES)}
    return {key: run for key, run in found.items() if key[:2] in whole}


def _cap(found: Runs) -> str:
    rows = []
    for name in dict.fromkeys(key[0] for key in found):
        seeds = sorted({seed for other, seed, _ in found if other == name})
        chosen = {asked: [found[name, seed, asked]["best"] for seed in seeds] for asked in SIZES}
        pairs = [("5000", "paper"), ("10000", "paper"), ("20000", "paper"), ("20000", "again")]
        same = [sum(a == b for a, b in zip(chosen[one], chosen[two], strict=True)) for one, two in pairs]
        right = [sum(k == found[name, seeds[0], asked]["k"] for k in chosen[asked]) for asked in ("20000", "paper")]
        rows.append([name, *(f"{n} of {len(seeds)}" for n in (*same, *right))])
    heading = ["set", "5,000", "10,000", "20,000", "20,000, drawn twice", "correct with 20,000", "correct with 80,000"]
    return _table(heading, rows)


def _cap_sentence(found: Runs) -> str:
    """Summarise how often the choices with two sizes differ, how often two draws of one size differ, and the cost."""
    keys = sorted({key[:2] for key in found})

    def differ(one: str, two: str) -> list[tuple[Any, Any]]:
        pairs = [(found[*key, one], found[*key, two]) for key in keys]
        return [pair for pair in pairs if pair[0]["best"] != pair[1]["best"]]

    sizes, chance = differ("20000", "paper"), differ("20000", "again")
    sure = [pair for pair in sizes if min(run["probability"] for run in pair) >= 0.95]
    cpu = [np.mean([found[*key, asked]["cpu"] for key in keys]) for asked in ("paper", "20000")]
    right = [sum(found[*key, asked]["best"] == found[*key, asked]["k"] for key in keys) for asked in ("20000", "paper")]
    return (
        f"In {len(keys) - len(sizes)} of {len(keys)} pairs of runs, 20,000 and 80,000 rows give the same k. "
        f"In {len(keys) - len(chance)} of {len(keys)} pairs of runs with 20,000 rows on different subsamples, "
        f"the same k is selected. In {len(sure)} of the {len(sizes)} pairs in which 20,000 and 80,000 rows give "
        "different values of k, both runs have a selection probability of at least 95 %. The true k is selected "
        f"{right[0]} times with 20,000 rows and {right[1]} times with 80,000 rows. 80,000 rows take "
        f"{cpu[0] / cpu[1]:.0f} times as much CPU time."
    )


def _adaptive(runs: list[dict[str, Any]]) -> str:
    rows = []
    for name in dict.fromkeys(run["set"] for run in runs):
        own = [run for run in runs if run["set"] == name]
        same = sum(run["fixed"] == run["auto"] for run in own)
        subsamples = sorted(run["n_subsamples"] for run in own)
        share = np.mean([run["share"] for run in own])
        rows.append([name, f"{same} of {len(own)}", f"{subsamples[0]} to {subsamples[-1]}", f"{share:.0%}"])
    same = np.mean([run["fixed"] == run["auto"] for run in runs])
    share = np.mean([run["share"] for run in runs])
    total = [f"**all {len(runs)} runs**", f"**{same:.1%}**", "", f"**{share:.1%}**"]
    return _table(["set", "same choice as with 200", "subsamples", "share of clusterings computed"], [*rows, total])


def _confidence(runs: list[dict[str, Any]]) -> str:
    known = [run for run in runs if "few" in run and "many" in run]
    names = {"few": "as generated", "many": f"{MORE} times the rows"}
    kinds = {"composite": "the composite's choice", "likely": "the likely k"}
    found = {
        f"confidence of {kinds[kind]}, {names[rows]}": tuple(zip(*(run[rows][kind] for run in known), strict=True))
        for kind in kinds
        for rows in names
    }
    return calibration_table({name: (list(estimate), list(correct)) for name, (estimate, correct) in found.items()})


def _seconds(value: float) -> str:
    if value < 1:
        return f"{value:.2f} s"
    return f"{value:.1f} s" if value < 100 else f"{value:,.0f} s" if value < 3600 else f"{value / 3600:.1f} h"


def _draw(sizes: dict[str, Any]) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    names = {
        "parquet": "compsil-kit, from Parquet", "memory": "compsil-kit, from memory",
        "scikit-learn": "scikit-learn's loop", "spark": "Spark's loop",
    }  # fmt: skip
    for (kind, label), marker in zip(names.items(), "os^D", strict=True):
        known = [(int(size), row[kind]["seconds"]) for size, row in sizes.items() if kind in row]
        left.loglog(*zip(*known, strict=True), marker=marker, label=label)
    left.set(xlabel="rows", ylabel="seconds", title="Run time, k from 2 to 10")
    left.legend(frameon=False, fontsize="small")
    for kind in ("parquet", "scikit-learn"):
        known = [(int(size), row[kind]["peak"] / 1e9) for size, row in sizes.items() if kind in row]
        colour = "C0" if kind == "parquet" else "C2"
        right.semilogx(
            *zip(*known, strict=True), marker="o" if kind == "parquet" else "^", color=colour, label=names[kind]
        )
    right.set(xlabel="rows", ylabel="GB", title="Peak memory of the process")
    right.set_ylim(bottom=0)
    right.legend(frameon=False, fontsize="small")
    for axes in (left, right):
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(DOCS / "_static" / "scale.png", dpi=150)


if __name__ == "__main__":
    write_page()
