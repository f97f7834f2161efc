"""Tables on the calibration of the selection probability and on other settings, from the committed results."""

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
    "literal": "one initialisation, automatic size (the default)",
    "ten-starts": "ten initialisations (`n_init=10`)",
    "half": "`sample_size=0.5`",
    "four-fifths": "`sample_size=0.8`",
}


def questions(results: Results) -> dict[str, pd.DataFrame]:
    """Return the runs that are compared with runs on the same data, and with runs on other rows."""
    table = results.table("calibration")
    halves = table["protocol"].isin(HALVES)
    return {SAME: table[~halves], OTHER: table[halves]}


def reliability_table(results: Results) -> str:
    """Return the engine's estimate, the share of independent runs that agree, and the share of correct choices."""
    runs = questions(results)[SAME]
    estimated = runs["repeat"].to_numpy()
    agreed = reliability(estimated, runs["agree"].to_numpy())
    correct = reliability(estimated, runs["right"].to_numpy())
    rows = [
        [
            f"{percent(a['low'])} to {percent(a['high'])}",
            a["n"],
            percent(a["estimate"]),
            percent(a["observed"]),
            percent(c["observed"]),
        ]
        for a, c in zip(agreed, correct, strict=True)
    ]
    return markdown(["selection probability", "runs", "mean", "independent runs that agree", "true k"], rows)


def excess(runs: pd.DataFrame, name: str, outcome: str = "agree") -> tuple[float, float, float]:
    """Return how much an estimate exceeds the observed rate over sets, with an interval from resampling sets."""
    known = runs[runs[name].notna()]
    return over_sets((known[name] - known[outcome]).groupby(known["set"]).mean().tolist())


def better(results: Results) -> tuple[float, float, float]:
    """Return how much lower the Brier score is for repeat than for plain, with an interval from resampling sets."""
    runs = questions(results)[SAME]
    plain, repeat = (squared(runs[name].to_numpy(), runs["agree"].to_numpy()) for name in ("plain", "repeat"))
    return over_sets(pd.Series(plain - repeat).groupby(runs["set"].to_numpy()).mean().tolist())


def estimates_table(results: Results) -> str:
    """Return how much each estimate exceeds the agreement and the rate of correct choices, with Brier scores."""
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
    figures = (f"{figure} {what}" for what in ("agreement", "true k") for figure in ("points above", "Brier,"))
    return markdown(["other runs: estimate", "runs", *figures], rows)


def sets_table(results: Results) -> str:
    """Return the mean estimates and the shares of agreeing runs and of correct choices for each set."""
    runs = questions(results)[SAME]
    means = runs.groupby("set")[["plain", "repeat", "agree", "right"]].mean()
    means = means.loc[[key for key in SETS if key in means.index]]
    rows = [[SETS[str(key)].name, *map(percent, values)] for key, *values in means.itertuples()]
    return markdown(["data", "plain", "repeat", "independent runs that agree", "true k"], rows)


def fewer_table(results: Results) -> str:
    """Return the estimates from runs with fewer subsamples, and the share of these runs that agree."""
    rows = []
    for n, runs in results.table("fewer").groupby("n_subsamples"):
        mean, agree, right = (percent(runs[name].mean()) for name in ("repeat", "agree", "right"))
        rows.append([f"{n}", mean, agree, points(excess(runs, "repeat")), right])
    return markdown(["B", "mean", "other runs with B subsamples that agree", "points above agreement", "true k"], rows)


@dataclass(frozen=True)
class Indicator:
    """A property of runs, with the number of runs and sets that have it, and the number of these runs that are correct.

    ``few`` and ``many`` are (correct, runs) among the runs that selected few and many clusters, respectively.
    """

    label: str
    n: int
    right: int
    n_sets: int
    few: tuple[int, int]
    many: tuple[int, int]

    @property
    def rate(self) -> float:
        """Share of these runs that selected the true k."""
        return self.right / self.n if self.n else float("nan")


# The paper's sets have at most 6 or at least 10 clusters.
FEW = 6


def indicators(results: Results) -> list[Indicator]:
    """Return how often runs with certain properties are correct under the literal protocol."""
    runs = questions(results)[SAME]
    both = (runs["micro"] == runs["k"]) & (runs["macro"] == runs["k"])
    one = ((runs["micro"] == runs["k"]) | (runs["macro"] == runs["k"])) & ~both
    sure = runs["repeat"] >= 0.9
    properties = {
        "micro and macro select the same k": both,
        "one of the two selects the same k": one,
        "neither selects the same k": ~both & ~one,
        "selection probability of at least 90 %": sure,
        "selection probability below 90 %": ~sure,
        "at least 90 %, and micro and macro select the same k": sure & both,
        "at least 90 %, but micro or macro selects another k": sure & ~both,
        "selects the largest candidate": runs["edge"],
    }
    return [count_runs(label, runs[mask]) for label, mask in properties.items()]


def count_runs(label: str, runs: pd.DataFrame) -> Indicator:
    """Count the runs with a property, and the correct ones among them."""
    few = runs["k"] <= FEW
    parts = [(int(runs["right"][part].sum()), int(part.sum())) for part in (few, ~few)]
    return Indicator(label, len(runs), int(runs["right"].sum()), runs["set"].nunique(), *parts)


def indicators_table(results: Results) -> str:
    """Return a table of the indicators that at least one run has."""
    rows = [
        [s.label, s.n_sets, *(f"{right} of {n}" if n else "–" for right, n in ((s.right, s.n), s.few, s.many))]
        for s in indicators(results)
        if s.n
    ]
    header = ["runs in which", "sets", "true k", f"selected k up to {FEW}", "larger k"]
    return markdown(header, rows)


def rules_table(results: Results) -> str:
    """Return the recovery rates with the three rules and 5 to 30 subsamples, and the differences from the default."""
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
    """Return the recovery rate and the time for each setting, on the sets and seeds common to all settings."""
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
    return markdown(["setting", "correct runs", "mean rate over sets", "points above the default", "time"], rows)


def paired(results: Results) -> pd.DataFrame:
    """Return the runs with all subsamples on the sets and seeds common to all settings."""
    table = results.table("rules")
    whole = table[table["n_subsamples"] == table["n_subsamples"].max()]
    protocols = set(whole["protocol"])
    counts = whole.groupby(["set", "seed"])["protocol"].transform("nunique")
    return pd.DataFrame(whole[counts == len(protocols)])


def settings_by_set(results: Results) -> str:
    """Return the recovery counts for each set and setting."""
    runs = paired(results)
    variants = [name for name in VARIANTS if name in set(runs["protocol"])]
    rows = []
    for key in SETS:
        cells = []
        for name in variants:
            some = runs[(runs["set"] == key) & (runs["protocol"] == name)]
            wrong = sorted(set(some["max"]) - {SETS[key].k})
            text = f"{(some['max'] == SETS[key].k).sum()}/{len(some)}"
            cells.append(f"{text} ({', '.join(map(str, wrong))})" if wrong else f"**{text}**")
        if (runs["set"] == key).any():
            rows.append([f"{SETS[key].name}, k = {SETS[key].k}", *cells])
    return markdown(["data", *(LABELS[name] for name in variants)], rows)


def subsamples_table(results: Results) -> str:
    """Return how often fewer subsamples select the true k, and how often the same k as the whole pool."""
    table = results.table("subsamples")
    rows = []
    for n, some in table.groupby("n_subsamples"):
        rows.append([f"{n}", percent(some["right"].mean()), percent(some["agree"].mean())])
    return markdown(["B", "true k", "same k as the whole pool"], rows)
