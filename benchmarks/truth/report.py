"""Write docs/truth.md and its plot from the results: ``python -m benchmarks.truth.report``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from benchmarks.confidence.measure import read
from benchmarks.truth.rates import CRITERIA, Record, calibration, chosen, confidence, rate, right, sign_test
from benchmarks.truth.runs import RESULTS
from compsil_kit._method.likelihood import model

DOCS = Path(__file__).parents[2] / "docs"
GROUPS: dict[str, Callable[[Record], bool]] = {
    "all": lambda _: True,
    "the paper's sets": lambda record: record["collection"] == "paper",
    "the collection": lambda record: record["collection"] == "collection",
    "k = 2 to 4": lambda record: record["k"] <= 4,
    "k = 5 to 7": lambda record: 5 <= record["k"] <= 7,
    "k >= 8": lambda record: record["k"] >= 8,
}
# Groups of data sets in the collection, which has a label for every point.
BY_CLASSES: dict[str, Callable[[Record], bool]] = {
    "ratio up to 2": lambda record: _fact(record, "imbalance") <= 2,
    "ratio 2 to 5": lambda record: 2 < _fact(record, "imbalance") <= 5,
    "ratio above 5": lambda record: _fact(record, "imbalance") > 5,
    "overlap up to 2 %": lambda record: _fact(record, "overlap") <= 0.02,
    "overlap 2 to 10 %": lambda record: 0.02 < _fact(record, "overlap") <= 0.1,
    "overlap above 10 %": lambda record: _fact(record, "overlap") > 0.1,
}


@cache
def _facts() -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = json.loads((RESULTS / "facts.json").read_text())
    return found


def _fact(record: Record, name: str) -> float:
    return _facts().get(record["set"], {}).get(name, float("nan"))


def known(records: Iterable[Record]) -> list[Record]:
    """Return the runs on sets within the limits of the model; Banking77 has too many clusters."""
    limit = model()["limits"]["k"]
    return [record for record in records if record["ks"][-1] <= limit]


def rates_table(records: list[Record], groups: dict[str, Callable[[Record], bool]]) -> str:
    """Return how often each criterion is correct, by group of sets."""
    some = {name: [record for record in records if holds(record)] for name, holds in groups.items()}
    sizes = [len({record["set"] for record in group}) for group in some.values()]
    lines = [
        "| criterion | "
        + " | ".join(f"{n} ({m} sets)" for n, m in zip(some, sizes, strict=True))
        + " | compared with the composite |"
    ]
    lines.append("|---|" + "---:|" * (len(some) + 1))
    composite = right(records, "composite")
    for name in CRITERIA:
        cells = []
        for group, chosen_records in some.items():
            mean, low, high = rate(right(chosen_records, name))
            cells.append(f"{mean:.0%}" + (f" ({low:.0%} to {high:.0%})" if group == "all" else ""))
        better, worse, chance = sign_test(right(records, name), composite)
        cells.append("–" if name == "composite" else f"better on {better}, worse on {worse} sets (p = {chance:.2g})")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def estimates_and_outcomes(records: list[Record]) -> dict[str, tuple[list[float], list[bool]]]:
    """Return each estimate for the choices, and whether the choices are correct."""
    found: dict[str, tuple[list[float], list[bool]]] = {}

    def add(name: str, estimate: float | None, correct: bool) -> None:
        lists = found.setdefault(name, ([], []))
        if estimate is not None:
            lists[0].append(float(estimate))
            lists[1].append(correct)

    for record in records:
        k = chosen(record, CRITERIA["composite"](record))
        at = record["ks"].index(k)
        add("selection probability of the composite's choice", record["1"]["probability"][at], k == record["k"])
        for starts, words in ((1, "one initialisation"), (5, "five initialisations")):
            chances = confidence(record, starts)
            add(f"confidence of the composite's choice, {words}", chances[at], k == record["k"])
            own = chosen(record, chances[:-1])
            add(f"confidence of the likely k, {words}", chances[record["ks"].index(own)], own == record["k"])
    return found


def calibration_table(found: dict[str, tuple[list[float], list[bool]]]) -> str:
    """Return the calibration error, the Brier score and the number of correct runs for each estimate."""
    lines = ["| estimate | runs | calibration error | Brier | 80 % or more: correct | 40 to 80 % | below 40 % |"]
    lines.append("|---|---:|---:|---:|---:|---:|---:|")
    for name, (estimates, correct) in found.items():
        error, brier, _ = calibration(estimates, correct)
        parts = []
        for low, high in ((0.8, 1.1), (0.4, 0.8), (-0.1, 0.4)):
            here = [is_correct for p, is_correct in zip(estimates, correct, strict=True) if low <= p < high]
            parts.append(f"{sum(here)} of {len(here)}")
        lines.append(
            f"| {name} | {len(estimates)} | {100 * error:.1f} points | {brier:.3f} | " + " | ".join(parts) + " |"
        )
    return "\n".join(lines)


def plot(found: dict[str, tuple[list[float], list[bool]]], path: Path) -> None:
    """Plot the observed rates as functions of the estimates."""
    shown = {
        "selection probability": found["selection probability of the composite's choice"],
        "confidence (one initialisation)": found["confidence of the composite's choice, one initialisation"],
        "confidence of the likely k (five initialisations)": found["confidence of the likely k, five initialisations"],
    }
    figure, axes = plt.subplots(1, len(shown), figsize=(11, 3.8), sharey=True, layout="constrained")
    for ax, (name, (estimates, correct)) in zip(axes, shown.items(), strict=True):
        _, _, rows = calibration(estimates, correct)
        ax.plot([0, 1], [0, 1], color="0.7", lw=1)
        ax.plot([p for p, _, _ in rows], [y for _, y, _ in rows], color="#2f8fd0", lw=1.5)
        ax.scatter(
            [p for p, _, _ in rows], [y for _, y, _ in rows], s=[12 + 240 * n / len(estimates) for *_, n in rows]
        )
        for p, y, n in rows:
            ax.annotate(str(n), (p, y), textcoords="offset points", xytext=(6, -12), fontsize=8, color="0.4")
        ax.set(title=name, xlabel="estimate", xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
    axes[0].set_ylabel("observed rate")
    figure.savefig(path, dpi=110)
    plt.close(figure)


def tried_table() -> str:
    """Return how often criteria from the literature are correct on the collection."""
    records = list(read(RESULTS / "tried.jsonl"))
    if not records:
        return "Not run."
    names = list(records[0]["choices"])
    counts = {name: sum(record["choices"][name] == record["k"] for record in records) for name in names}
    large = [record for record in records if record["k"] >= 8]
    header = f"| criterion | correct on {len(records)} sets | correct on {len(large)} sets with k >= 8 |"
    lines = [header, "|---|---:|---:|"]
    for name in sorted(names, key=lambda name: -counts[name]):
        many = sum(record["choices"][name] == record["k"] for record in large)
        lines.append(f"| {name} | {counts[name]} | {many} |")
    return "\n".join(lines)


def carve_table() -> str:
    """Return how often CARVE is correct."""
    records = list(read(RESULTS / "carve.jsonl"))
    if not records:
        return "Not run."
    done = [record for record in records if record["choices"]]
    lines = [f"| CARVE: measure, rule | correct on {len(done)} sets |", "|---|---:|"]
    counts = {name: sum(record["choices"][name] == record["k"] for record in done) for name in done[0]["choices"]}
    lines += [f"| {name} | {count} |" for name, count in counts.items()]
    return "\n".join(lines)


def authors_line() -> str:
    """Return how often the authors' package is correct, and how often it agrees with our composite."""
    records = list(read(RESULTS / "authors.jsonl"))
    if not records:
        return "Not run."
    right_of = {name: sum(record[name] == record["k"] for record in records) for name in ("authors", "ours")}
    same = sum(record["authors"] == record["ours"] for record in records)
    apart = max(record["apart"] for record in records)
    return (
        f"It selects the same k as our composite on {same} of {len(records)} data sets (scores differ by at most "
        f"{apart:.0e}) and is correct on {right_of['authors']}; our composite is correct on {right_of['ours']}."
    )


def failures_table(records: list[Record]) -> str:
    """Return the sets on which a criterion is never correct, with its choices."""
    lines = ["| set | k | composite | micro | likely |", "|---|---:|---|---|---|"]
    for name in dict.fromkeys(record["set"] for record in records):
        own = [record for record in records if record["set"] == name]
        cells = []
        for criterion in ("composite", "micro", "likely"):
            ks = [chosen(record, CRITERIA[criterion](record)) for record in own]
            cells.append(", ".join(map(str, sorted(set(ks)))) if own[0]["k"] not in ks else "")
        if any(cells):
            lines.append(f"| {name} | {own[0]['k']} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def text() -> str:
    """Return the text of the page."""
    records = known(read(RESULTS / "runs.jsonl"))
    facts: dict[str, Any] = {
        "n_runs": len(records), "n_sets": len({record["set"] for record in records}),
        "n_seeds": max(record["seed"] for record in records) + 1, "n_generated": f"{model()['data_sets']:,}",
        "rates": rates_table(records, GROUPS),
        "by_classes": rates_table(records, BY_CLASSES),
        "calibration": calibration_table(estimates_and_outcomes(records)), "tried": tried_table(),
        "carve": carve_table(), "authors": authors_line(), "failures": failures_table(records),
    }  # fmt: skip
    template = (Path(__file__).parent / "truth.template.md").read_text()
    for name, value in facts.items():
        template = template.replace("{" + name + "}", str(value))
    return template


def main() -> None:
    """Write the page and its plot."""
    (DOCS / "truth.md").write_text(text())
    runs = known(read(RESULTS / "runs.jsonl"))
    plot(estimates_and_outcomes(runs), DOCS / "_static" / "truth-reliability.png")


if __name__ == "__main__":
    main()
