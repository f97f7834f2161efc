"""Draw the plots on the evidence page from the committed results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

from benchmarks.paper import trust
from benchmarks.paper.calibration import reliability
from benchmarks.paper.data import SETS
from benchmarks.paper.outcomes import CRITERIA, Results, share
from benchmarks.paper.tables import SHORT
from compsil_kit._show.plots import BLUE, GREEN, GREY, STYLES, VERMILION, tidy, title

COLOURS = {"plain": VERMILION, "repeat": BLUE, "sample": GREEN}
NAMES = {
    "plain": "plain: subsamples resampled",
    "repeat": "repeat: a new run (the engine's)",
    "sample": "sample: other rows",
}
# Bins with one or two runs would be misleading.
MIN_RUNS = 3
MARKERS = {"plain": "s", "repeat": "o", "sample": "^"}


def recovery(results: Results) -> Any:
    """Draw how often each criterion selects the true k, by set."""
    keys = results.with_choices()
    rates = np.full((len(keys), len(CRITERIA)), np.nan)
    for row, key in enumerate(keys):
        for column, criterion in enumerate(CRITERIA):
            chosen = results.choices(criterion, key)
            rates[row, column] = share(chosen, SETS[key].k) if chosen else np.nan
    figure, ax = plt.subplots(figsize=(8.2, 0.36 * len(keys) + 1.6), layout="constrained")
    ax.imshow(rates, cmap="Blues", vmin=0, vmax=1.25, aspect="auto")
    for (row, column), rate in np.ndenumerate(rates):
        text = "–" if np.isnan(rate) else f"{100 * rate:.0f}"
        ax.text(column, row, text, ha="center", va="center", fontsize=9, color="white" if rate > 0.75 else "black")
    ax.set_xticks(range(len(CRITERIA)), [SHORT[c].replace(", ", ",\n") for c in CRITERIA], fontsize=9)
    ax.set_yticks(range(len(keys)), [f"{SETS[key].name} (k = {SETS[key].k})" for key in keys], fontsize=9)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    title(ax, "True k selected, % of independent seeds")
    return figure


def synthetic(_: Results) -> Any:
    """Draw the points of the four synthetic sets."""
    keys = [key for key, data in SETS.items() if data.kind == "synthetic"]
    figure, axes = plt.subplots(1, len(keys), figsize=(11, 3.0), layout="constrained")
    for key, ax in zip(keys, axes, strict=True):
        ax.scatter(*SETS[key].load("published").T, s=3, color=BLUE, alpha=0.25, linewidths=0, rasterized=True)
        title(ax, f"{key}, true k = {SETS[key].k}")
        ax.set(xticks=[], yticks=[])
        tidy(ax)
    return figure


def trends(results: Results) -> Any:
    """Draw the three curves for every set with the authors' settings, with a star on each choice."""
    units = {unit["set"]: unit for unit in results.find(protocol="authors", part="subsamples")}
    keys = [key for key in SETS if key in units]
    figure, axes = plt.subplots(-(-len(keys) // 3), 3, figsize=(10, 2.3 * -(-len(keys) // 3)), layout="constrained")
    for ax in axes.flat[len(keys) :]:
        ax.set_visible(False)
    for key, ax in zip(keys, axes.flat, strict=False):
        unit = units[key]
        ax.axvline(unit["k_true"], color=GREY, linewidth=1, alpha=0.6)
        for name, values in unit["values"].items():
            style = {**STYLES[name], "markersize": 3, "linewidth": 1.4}
            ax.plot(unit["ks"], values, label=name, **style)
            at = unit["ks"].index(unit["choices"][name])
            ax.plot(unit["ks"][at], values[at], "*", color=style["color"], markersize=11, zorder=5)
        title(ax, f"{SETS[key].name}, true k = {unit['k_true']}")
        tidy(ax)
    figure.legend(*axes.flat[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    return figure


def convergence(results: Results) -> Any:
    """Draw the error of the score as a function of the number of subsamples, for synthetic and for real sets."""
    table = results.table("convergence")
    synthetic = table["set"].map(lambda key: SETS[key].kind == "synthetic")
    figure, axes = plt.subplots(1, 2, figsize=(9.2, 3.6), sharey=True, layout="constrained")
    for ax, part, name in zip(axes, (table[synthetic], table[~synthetic]), ("synthetic", "real"), strict=True):
        curves = part.pivot(index="n_subsamples", columns="set", values="median")
        ax.plot(curves.index, curves.to_numpy(), color=GREY, linewidth=0.9, alpha=0.7)
        middle, spread = curves.median(axis=1), (curves.quantile(0.75, axis=1) - curves.quantile(0.25, axis=1)) / 2
        ax.fill_between(curves.index, (middle - spread).clip(lower=0), middle + spread, color=BLUE, alpha=0.18, lw=0)
        ax.plot(curves.index, middle, color=BLUE, linewidth=2.4)
        ax.set_xlabel("subsamples B")
        title(ax, f"{curves.shape[1]} {name} sets")
        tidy(ax)
    axes[0].set_ylabel("median absolute error of the score")
    return figure


def calibration(results: Results) -> Any:
    """Draw agreement on the same data, agreement on other rows, and correct choices as functions of the estimates."""
    runs = trust.questions(results)
    panels = (
        (trust.SAME, "agree", "agreement: same data, other seeds"),
        (trust.OTHER, "agree", "agreement: other half of the rows"),
        (trust.SAME, "right", "true k"),
    )
    figure, axes = plt.subplots(1, 3, figsize=(11, 4.1), sharey=True, layout="constrained")
    for ax, (question, outcome, label) in zip(axes, panels, strict=True):
        ax.plot([0, 1], [0, 1], color=GREY, linestyle="--", linewidth=1)
        for name in NAMES:
            known = runs[question][runs[question][name].notna()]
            bins = [b for b in reliability(known[name].to_numpy(), known[outcome].to_numpy()) if b["n"] >= MIN_RUNS]
            estimate, observed, sizes = ([b[part] for b in bins] for part in ("estimate", "observed", "n"))
            ax.plot(estimate, observed, color=COLOURS[name], linewidth=1, alpha=0.7)
            area = 12 + 160 * np.array(sizes) / max(1, len(known))
            ax.scatter(
                estimate, observed, s=area, color=COLOURS[name], marker=MARKERS[name], label=NAMES[name], alpha=0.85
            )
        ax.set(xlim=(0, 1.03), ylim=(-0.03, 1.03), xlabel="estimate")
        title(ax, label)
        tidy(ax)
    axes[0].set_ylabel("observed rate")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    return figure


def runtime(results: Results) -> Any:
    """Draw the run time as a function of the number of rows."""
    units = sorted(results.find(protocol="runtime"), key=lambda unit: unit["n"])
    figure, ax = plt.subplots(figsize=(7.2, 4.0), layout="constrained")
    sizes = [unit["n"] for unit in units]
    ax.loglog(
        sizes, [u["seconds"] for u in units], "o-", color=BLUE, label="composite, 20 subsamples, clustering included"
    )
    ax.loglog(sizes, [u["seconds_standard"] for u in units], "s--", color=VERMILION, label="scikit-learn, all the data")
    ax.set(xlabel="rows N", ylabel="seconds")
    ax.legend(frameon=False)
    title(ax, "One k = 5 in ten dimensions")
    tidy(ax)
    return figure


FIGURES = {
    "recovery": recovery,
    "synthetic": synthetic,
    "trends": trends,
    "convergence": convergence,
    "reliability": calibration,
    "runtime": runtime,
}


def write(results: Results, folder: Path) -> list[Path]:
    """Draw all figures into a folder."""
    mpl.use("agg")
    paths = []
    for name, draw in FIGURES.items():
        path = folder / f"evidence-{name}.png"
        figure = draw(results)
        # Omit the software metadata, so that equal plots give equal files.
        figure.savefig(path, dpi=110, metadata={"Software": None})
        plt.close(figure)
        paths.append(path)
    return paths
