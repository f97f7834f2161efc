"""How far the answer can be trusted, and which settings earn their place: tables from the committed results."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from benchmarks.paper.calibration import ESTIMATES, reliability, squared
from benchmarks.paper.data import SETS
from benchmarks.paper.outcomes import Results, markdown, over_sets, percent, points
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


def excess(runs: pd.DataFrame, name: str, outcome: str = "agree") -> tuple[float, float, float]:
    """Return how much more an estimate says than comes true, over all sets, with an interval from redrawing sets."""
    known = runs[runs[name].notna()]
    return over_sets((known[name] - known[outcome]).groupby(known["set"]).mean().tolist())


def better(results: Results) -> tuple[float, float, float]:
    """Return by how much the Brier score of repeat is below that of plain, with an interval from redrawing sets."""
    runs = questions(results)[SAME]
    plain, repeat = (squared(runs[name].to_numpy(), runs["agree"].to_numpy()) for name in ("plain", "repeat"))
    return over_sets(pd.Series(plain - repeat).groupby(runs["set"].to_numpy()).mean().tolist())


def estimates_table(results: Results) -> str:
    """Return how far each estimate promises more than comes true, against agreement and against the truth."""
    rows = []
    for question, runs in questions(results).items():
        for name in ESTIMATES:
            known = runs[runs[name].notna()]
            if len(known):
                cells = []
                for outcome in ("agree", "right"):
                    brier = squared(known[name].to_numpy(), known[outcome].to_numpy()).mean()
                    cells += [points(excess(runs, name, outcome)), f"{brier:.3f}"]
                rows.append([f"{question}: {name}", len(known), *cells])
    figures = (f"{figure} {what}" for what in ("agreement", "truth") for figure in ("points above", "Brier,"))
    return markdown(["agreement with / estimate", "runs", *figures], rows)


def sets_table(results: Results) -> str:
    """Return per set what the estimates say on average, how many independent runs agree, and how often it is true."""
    runs = questions(results)[SAME]
    means = runs.groupby("set")[["plain", "repeat", "agree", "right"]].mean()
    means = means.loc[[key for key in SETS if key in means.index]]
    rows = [[SETS[str(key)].name, *map(percent, values)] for key, *values in means.itertuples()]
    return markdown(["data", "plain says", "repeat says", "independent runs that agree", "true k"], rows)


def fewer_table(results: Results) -> str:
    """Return how sure runs of fewer subsamples are, and how many of as many agree."""
    rows = []
    for n, runs in results.table("fewer").groupby("n_subsamples"):
        says, agree, right = (percent(runs[name].mean()) for name in ("repeat", "agree", "right"))
        rows.append([f"{n}", says, agree, points(excess(runs, "repeat")), right])
    return markdown(["B", "says on average", "runs of as many that agree", "points above agreement", "true k"], rows)


@dataclass(frozen=True)
class Signal:
    """A sign that a run gives of itself: how many runs on how many sets, and how many of them chose the true k.

    ``few`` and ``many`` are the same for runs that chose few clusters and for those that chose many.
    """

    label: str
    n: int
    right: int
    n_sets: int
    few: tuple[int, int]
    many: tuple[int, int]

    @property
    def rate(self) -> float:
        """Share of these runs that found the true k."""
        return self.right / self.n if self.n else float("nan")


# Up to here the paper's sets have few clusters; the others have ten or more.
FEW = 6


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
        "selection probability of at least 90 %": sure,
        "selection probability below 90 %": ~sure,
        "at least 90 %, and micro and macro choose the same": sure & both,
        "at least 90 %, but one of them disagrees": sure & ~both,
        "the largest candidate": runs["edge"],
    }
    return [signal(label, runs[mark]) for label, mark in marks.items()]


def signal(label: str, runs: pd.DataFrame) -> Signal:
    """Count the runs that show a sign."""
    few = runs["k"] <= FEW
    parts = [(int(runs["right"][part].sum()), int(part.sum())) for part in (few, ~few)]
    return Signal(label, len(runs), int(runs["right"].sum()), runs["set"].nunique(), *parts)


def signals_table(results: Results) -> str:
    """Return the signs as a table; one that no run showed is left out."""
    rows = [
        [s.label, s.n_sets, *(f"{right} of {n}" if n else "–" for right, n in ((s.right, s.n), s.few, s.many))]
        for s in signals(results)
        if s.n
    ]
    header = ["the run says of itself", "sets", "true k", f"where it chose up to {FEW}", "where it chose more"]
    return markdown(header, rows)


def rules_table(results: Results) -> str:
    """Return the recovery rate of the three rules from 5 to 30 subsamples, and how far each is from the default."""
    table = results.table("rules")
    literal = table[table["protocol"] == "literal"]
    right = literal[list(RULES)].eq(literal["k_true"], axis=0).join(literal[["set", "n_subsamples"]])
    rates = right.groupby(["n_subsamples", "set"]).mean()
    default = rates.loc[literal["n_subsamples"].max(), RULES[0]]
    rows = []
    for n in sorted({int(value) for value in literal["n_subsamples"]}):
        some = rates.loc[n]
        cells = [
            f"{percent(some[rule].mean())}, {points(over_sets((some[rule] - default).tolist()))}" for rule in RULES
        ]
        rows.append([f"{n}", *cells, f"{n / 30:.2f}"])
    return markdown(["B", "max", "lcb (z = 1)", "one standard error", "cost"], rows)


def settings_table(results: Results) -> str:
    """Return recovery of the settings, on the sets and seeds that all of them were run on, and their time alone."""
    runs = paired(results)
    right = (runs["max"] == runs["k_true"]).groupby([runs["protocol"], runs["set"]]).agg(["sum", "size", "mean"])
    seconds = {name: sum(unit["seconds"] for unit in results.find(protocol=name, part="cost")) for name in VARIANTS}
    rows = []
    for name in (name for name in VARIANTS if name in right.index):
        some = right.loc[name]
        counts, rate = f"{some['sum'].sum():.0f} of {some['size'].sum():.0f}", percent(some["mean"].mean())
        difference = points(over_sets((some["mean"] - right.loc["literal"]["mean"]).tolist()))
        cost = f"{seconds[name] / seconds['literal']:.1f}" if seconds[name] and seconds["literal"] else "–"
        rows.append([LABELS[name], counts, rate, "–" if name == "literal" else difference, cost])
    return markdown(["setting", "runs right", "mean rate over sets", "points above the default", "time"], rows)


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
