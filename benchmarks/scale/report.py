"""docs/scale.md and its picture, from what was measured: ``python -m benchmarks.scale.report``."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from compsil_kit.method.cost import ONCE, cost_of
from compsil_kit.method.plan import Plan

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs"
CLUSTER = 32


def write_page() -> None:
    """Write the page and the picture."""
    scale = json.loads((HERE / "results" / "scale.json").read_text())
    page = (HERE / "scale.template.md").read_text()
    parts = {
        "machine": scale["machine"],
        "times": _times(scale["sizes"]),
        "parts": _parts(scale["sizes"]),
        "computed": _computed(),
        "cap": _cap(_lines("cap.jsonl")),
        "cap_sentence": _cap_sentence(_lines("cap.jsonl")),
        "adaptive": _adaptive(_lines("adaptive.jsonl")),
    }
    for name, text in parts.items():
        page = page.replace(f"{{{{{name}}}}}", text)
    (DOCS / "scale.md").write_text(page)
    _draw(scale["sizes"])


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


def _parts(sizes: dict[str, Any]) -> str:
    heading = [
        "rows",
        "one scan by pyarrow",
        "the selection alone",
        "whole / (scan + selection)",
        "predicted / measured",
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
    """Return what the cost model says of tables that nobody measured here."""
    plan = Plan(10**9, 10, tuple(range(2, 11)), 30, 0, 20_000, tuple(range(30)), "kmeans", "euclidean", "float32")
    rows = []
    for n_rows in (10**9, 10**10):
        cost = cost_of(replace(plan, n_rows=n_rows, scanned_bytes=n_rows * 40))
        # The pass runs on the workers, too, and so do the subsamples, of which there are 30.
        one = cost.seconds()
        many = ONCE + cost.scanning / CLUSTER + (cost.clustering + cost.distances) / min(CLUSTER, 30)
        rows.append([f"{n_rows:,}", f"{n_rows * 40 / 1e9:,.0f} GB", _seconds(one), _seconds(many)])
    return _table(["rows", "bytes", "one process (computed)", f"{CLUSTER} workers (computed)"], rows)


def _cap(runs: list[dict[str, Any]]) -> str:
    by_set: dict[str, dict[tuple[int, str], dict[str, Any]]] = defaultdict(dict)
    for run in runs:
        by_set[run["set"]][run["seed"], str(run["asked"])] = run
    rows = []
    for name, found in by_set.items():
        seeds = sorted({seed for seed, asked in found if asked == "paper"})
        cells = []
        for size in ("5000", "10000", "20000"):
            same = sum(found[seed, size]["best"] == found[seed, "paper"]["best"] for seed in seeds)
            cells.append(f"{same} of {len(seeds)}")
        right = [
            sum(found[seed, size]["best"] == found[seed, size]["k"] for seed in seeds) for size in ("20000", "paper")
        ]
        rows.append([name, *cells, *map(str, right)])
    heading = ["set", "5,000", "10,000", "20,000", "right with 20,000", "right with 80,000"]
    return _table(heading, rows)


def _cap_sentence(runs: list[dict[str, Any]]) -> str:
    """Say where the two sizes differ, and how sure of its choice the larger one was there."""
    found = {(run["set"], run["seed"], str(run["asked"])): run for run in runs}
    pairs = [(found[name, seed, "20000"], run) for (name, seed, asked), run in found.items() if asked == "paper"]
    differ = [(small, large) for small, large in pairs if small["best"] != large["best"]]
    sure = [pair for pair in differ if pair[1]["probability"] >= 0.95 and pair[0]["probability"] >= 0.95]
    cpu = np.mean([large["cpu"] for _, large in pairs]) / np.mean([small["cpu"] for small, _ in pairs])
    apart = [(small["probability"], large["probability"]) for small, large in differ]
    highest = max((min(pair) for pair in apart), default=0.0)
    return (
        f"Of {len(pairs)} pairs of runs, {len(pairs) - len(differ)} choose the same k. In {len(sure)} of the others "
        f"both are sure of their choice (selection probability of 95 % or more; the less sure of the two has at most "
        f"{highest:.0%}). 80,000 rows cost {cpu:.0f} times the CPU time of 20,000."
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
    return _table(["set", "same choice as 200", "subsamples", "clusterings, of those of 200"], [*rows, total])


def _seconds(value: float) -> str:
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
    left.set(xlabel="rows", ylabel="seconds", title="Choosing k among 2 to 10")
    left.legend(frameon=False, fontsize="small")
    for kind in ("parquet", "scikit-learn"):
        known = [(int(size), row[kind]["peak"] / 1e9) for size, row in sizes.items() if kind in row]
        colour = "C0" if kind == "parquet" else "C2"
        right.loglog(
            *zip(*known, strict=True), marker="o" if kind == "parquet" else "^", color=colour, label=names[kind]
        )
    right.set(xlabel="rows", ylabel="GB", title="Peak memory of the process")
    right.legend(frameon=False, fontsize="small")
    for axes in (left, right):
        axes.grid(alpha=0.3)
    figure.savefig(DOCS / "_static" / "scale.png", dpi=150)


if __name__ == "__main__":
    write_page()
