"""How far the answer can be trusted, and which settings earn their place: tables from the committed results."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from benchmarks.paper.calibration import ESTIMATES, brier, gap, reliability
from benchmarks.paper.data import SETS
from benchmarks.paper.outcomes import Results, markdown, over_sets, percent
from benchmarks.paper.protocols import HALVES, VARIANTS

SAME, OTHER = "the same data, other seeds", "other rows"
RULES = ("max", "lcb", "one-se")
LABELS = {
    "literal": "one start, automatic size (the default)",
    "ten-starts": "ten starts (`n_init=10`)",
    "half": "`sample_size=0.5`",
    "four-fifths": "`sample_size=0.8`",
}


def questions(results: Results) -> dict[str, pd.DataFrame]:
    """Return the runs whose agreement is judged on the same data, and those judged on other rows."""
    table = results.table("calibration")
    halves = table["protocol"].isin(HALVES)
    return {SAME: table[~halves], OTHER: table[halves]}


def reliability_table(results: Results) -> str:
    """Return what the engine's probability said, how many independent runs agreed, and how often it was true."""
    runs = questions(results)[SAME]
    said = runs["repeat"].to_numpy()
    agreed = reliability(said, runs["agree"].to_numpy())
    true = reliability(said, runs["right"].to_numpy())
    rows = [
        [
            f"{percent(a['low'])} to {percent(a['high'])}",
            a["n"],
            percent(a["said"]),
            percent(a["came"]),
            percent(t["came"]),
        ]
        for a, t in zip(agreed, true, strict=True)
    ]
    return markdown(["says", "runs", "says on average", "independent runs that agree", "true k"], rows)


def estimates_table(results: Results) -> str:
    """Return how far each estimate promises more than comes true, against three outcomes."""
    rows = []
    for question, runs in questions(results).items():
        for name in ESTIMATES:
            known = runs[runs[name].notna()]
            if len(known):
                said, agree, right = (known[column].to_numpy() for column in (name, "agree", "right"))
                figures = (gap(said, agree), brier(said, agree), gap(said, right), brier(said, right))
                signed = [f"{value:+.3f}" if at % 2 == 0 else f"{value:.3f}" for at, value in enumerate(figures)]
                rows.append([f"{question}: {name}", len(known), *signed])
    header = ["agreement with / estimate", "runs", "excess over agreement", "Brier", "excess over truth", "Brier"]
    return markdown(header, rows)


@dataclass(frozen=True)
class Signal:
    """A sign that a run gives of itself."""

    label: str
    n: int
    right: int

    @property
    def rate(self) -> float:
        """Share of these runs that found the true k."""
        return self.right / self.n if self.n else float("nan")


def signals(results: Results) -> list[Signal]:
    """Return how often the choice is true among runs that show a sign, on the literal protocol."""
    runs = questions(results)[SAME]
    both = (runs["micro"] == runs["k"]) & (runs["macro"] == runs["k"])
    one = ((runs["micro"] == runs["k"]) | (runs["macro"] == runs["k"])) & ~both
    sure = runs["repeat"] >= 0.9
    marks = {
        "micro and macro choose the same k": both,
        "one of them does": one,
        "neither does": ~both & ~one,
        "would win at least 90 % of new runs": sure,
        "would win less": ~sure,
        "at least 90 %, and micro and macro choose the same": sure & both,
        "at least 90 %, but one of them disagrees": sure & ~both,
        "the largest candidate": runs["edge"],
    }
    return [Signal(label, int(mark.sum()), int(runs.loc[mark, "right"].sum())) for label, mark in marks.items()]


def signals_table(results: Results) -> str:
    """Return the signs as a table; one that no run showed is left out."""
    rows = [[s.label, s.n, s.right, percent(s.rate)] for s in signals(results) if s.n]
    return markdown(["the run says of itself", "runs", "true k", "rate"], rows)


def rules_table(results: Results) -> str:
    """Return the recovery rate of the three rules from 5 to 30 subsamples."""
    table = results.table("rules")
    literal = table[table["protocol"] == "literal"]
    rows = []
    for n in sorted({int(value) for value in literal["n_subsamples"]}):
        runs = literal[literal["n_subsamples"] == n]
        rates = [over_sets((runs[rule] == runs["k_true"]).groupby(runs["set"]).mean().tolist())[0] for rule in RULES]
        rows.append([f"{n}", *(percent(rate) for rate in rates), f"{n / 30:.2f}"])
    return markdown(["B", "max", "lcb (z = 1)", "one standard error", "cost"], rows)


def settings_table(results: Results) -> str:
    """Return recovery and time of the settings, on the sets and seeds that all of them were run on."""
    runs = paired(results)
    rows = []
    base = runs[runs["protocol"] == "literal"]["seconds"].sum()
    for name in VARIANTS:
        some = runs[runs["protocol"] == name]
        if len(some):
            right = some["max"] == some["k_true"]
            mean, low, high = over_sets(right.groupby(some["set"]).mean().tolist())
            spread = f"{percent(low)} to {percent(high)}"
            cost = f"{some['seconds'].sum() / base:.1f}"
            rows.append([LABELS[name], f"{right.sum()} of {len(right)}", percent(mean), spread, cost])
    return markdown(["setting", "runs right", "mean rate over sets", "95 % interval (sets redrawn)", "time"], rows)


def paired(results: Results) -> pd.DataFrame:
    """Return the runs of all settings with all subsamples, on the sets and seeds that all of them have."""
    table = results.table("rules")
    whole = table[table["n_subsamples"] == table["n_subsamples"].max()]
    there = set(whole["protocol"])
    counts = whole.groupby(["set", "seed"])["protocol"].transform("nunique")
    return pd.DataFrame(whole[counts == len(there)])


def settings_by_set(results: Results) -> str:
    """Return the same per set."""
    runs = paired(results)
    there = [name for name in VARIANTS if name in set(runs["protocol"])]
    rows = []
    for key in SETS:
        cells = []
        for name in there:
            some = runs[(runs["set"] == key) & (runs["protocol"] == name)]
            wrong = sorted(set(some["max"]) - {SETS[key].k})
            text = f"{(some['max'] == SETS[key].k).sum()}/{len(some)}"
            cells.append(f"{text} ({', '.join(map(str, wrong))})" if wrong else f"**{text}**")
        if (runs["set"] == key).any():
            rows.append([f"{SETS[key].name}, k = {SETS[key].k}", *cells])
    return markdown(["data", *(LABELS[name] for name in there)], rows)


def subsamples_table(results: Results) -> str:
    """Return how often the true k, and the choice of all subsamples together, are found from fewer."""
    table = results.table("subsamples")
    rows = []
    for n, some in table.groupby("n_subsamples"):
        rows.append([f"{n}", percent(some["right"].mean()), percent(some["agree"].mean())])
    return markdown(["B", "true k", "the choice of all subsamples together"], rows)
