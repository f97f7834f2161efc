"""Results as plain text: table, explanation and settings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from compsil_kit._method.selection import LIKELY, MAX_AUTO_SUBSAMPLES, MAX_FAILED_SHARE, STOP_PROBABILITY
from compsil_kit._show.facts import (
    MIN_SUBSAMPLES,
    SCORED,
    TIE_PERCENT,
    at_best,
    columns,
    confidence_text,
    failures,
    no_clusters,
    probability_text,
)
from compsil_kit._util.format import format_ks, number, percent, whole_percent

if TYPE_CHECKING:
    from compsil_kit.result import SelectionResult

# Minimum selection probabilities, in percent as printed, for a clear choice and for listing other candidates.
CLEAR_PERCENT, LISTED_PERCENT = 95, 5
# Minimum confidence, in tenths, for reporting that no candidate may be correct.
MIN_TENTHS_NONE = 2


def table(result: SelectionResult) -> str:
    """Return the choice, the curve and the settings as a text table."""
    cells = columns(result)
    cells["k"] = [f"{'*' if at == result._best_index else ' '} {k:>3}" for at, k in enumerate(cells["k"])]
    widths = [5 if heading == "k" else max(8, len(heading) + 1) for heading in cells]
    rows: list[Iterable[str]] = [cells, *zip(*cells.values(), strict=True)]
    lines = [" ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows]
    verdict = f"{no_clusters(result)}\n\n" if no_clusters(result) else ""
    return verdict + "\n".join([_headline(result), "", *lines, "", settings_line(result)])


def _headline(result: SelectionResult) -> str:
    if result._best_index is None:
        return f"SelectionResult: no k of {format_ks(result.ks)} can be selected"
    done = result.n_subsamples + len(result.calibration.subsamples)
    score = f"   score {result.best_score:.4f} ± {number(at_best(result, result.sem))}"
    partial = f"   PARTIAL, {done} of {len(result.plan.seeds)} subsamples" if result.partial else ""
    return (
        f"SelectionResult: k* = {result.best_k} of {format_ks(result.ks)}"
        # With criterion="likely", the score is the confidence.
        f"{'' if result.criterion == LIKELY else score}{partial}\n"
        f"confidence {confidence_text(result)}   selection probability {probability_text(result)}"
    )


def settings_line(result: SelectionResult, *, preparation: bool = False) -> str:
    """Return the relevant settings on one line, optionally with the preparation of the table."""
    used = result.settings
    calibration = f" + {used['n_calibration']} for calibration" if used["n_calibration"] else ""
    noun = "subsample" if used["n_subsamples"] == 1 else "subsamples"
    parts = [
        f"{used['n_subsamples']} {noun}{calibration}, {used['sample_size']:,} of {result.plan.n_rows:,} rows each",
        used["clusterer"],
        "" if used["n_starts"] == 1 else f"{used['n_starts']} initialisations",
        used["metric"],
        # The transform affects only the composite.
        f"transform {used['transform']}" if result.criterion == "composite" else f"criterion {used['criterion']}",
        f"rule {used['rule']}" + (f" (z={used['z']:g})" if used["rule"] == "lcb" else ""),
        str(result.preparation) if preparation and result.preparation is not None else "",
    ]
    return " · ".join(str(part) for part in parts if part)


def sentences(result: SelectionResult) -> list[str]:
    """Return the summary as sentences."""
    if result._best_index is None:
        return [why_no_choice(result)]
    unknown, several = bool(result.confidence_note), len(result.ks) > 1
    found = (
        no_clusters(result),
        "" if unknown else _confidence(result),
        _choice(result),
        f"The confidence is unknown: {result.confidence_note}." if unknown and several else "",
        _probability(result) if several else "",
        "" if result.partial or not result.plan.adaptive else _adaptive_stop(result),
        _averages(result),
        result.structure.verdict if result.structure is not None and result.structure.found else "",
        "" if result.preparation is None else f"Data: {result.preparation}.",
    )
    return [text for text in found if text]


def _confidence(result: SelectionResult) -> str:
    own, none = at_best(result, result.confidence), result.confidence_none
    text = (
        f"k = {result.best_k}: on comparable simulated data, answers like this were correct {_rounded(own)} of the "
        f"time (confidence {percent(own)}){_alternative(result, own)}."
    )
    if _tenths(none) < MIN_TENTHS_NONE:
        return text
    likely = "probably have no clusters, or k lies" if none >= 0.5 else "may have no clusters, or k may lie"
    return (
        f"{text} In {_rounded(none)} of comparable cases no candidate was correct: the data {likely} outside this "
        "range."
    )


def _alternative(result: SelectionResult, own: float) -> str:
    """Return a clause about the most likely alternative, if its confidence is at least 10 %."""
    others = np.where(result._selectable, result.confidence, -np.inf)
    others[result._best_index] = -np.inf
    k, other = result.ks[int(others.argmax())], others.max()
    if not _tenths(other):
        return ""
    if _tenths(other) == _tenths(own):
        return f"; k = {k} was correct about as often"
    return f"; k = {k} {'was correct more often' if other > own else 'is the main alternative'} ({_rounded(other)})"


def _tenths(confidence: float) -> int:
    return 0 if confidence < 0.1 else round(10 * float(confidence))


def _rounded(confidence: float) -> str:
    """Return a confidence rounded to tenths, because more digits would suggest a precision that the model lacks."""
    tenths = _tenths(confidence)
    return {0: "under 10 %", 10: "over 90 %"}.get(tenths, f"about {10 * tenths} %")


def _choice(result: SelectionResult) -> str:
    text = f"k = {result.best_k} has {_best(result)}"
    if (result.n_failed[~result._selectable] > 0).any():
        text = f"Of the candidates that can be selected, {text}"
    second = result._runner_up
    if second is None:
        return f"{text}; {'it is the only candidate' if len(result.ks) == 1 else 'no other candidate can be selected'}."
    if result.criterion == LIKELY:
        return f"{text}; k = {result.ks[second]} is second, with {percent(result.confidence[second])}."
    return f"{text}; the second best is k = {result.ks[second]}, {result._lead:.4f} lower."


def _best(result: SelectionResult) -> str:
    """Return the quantity maximised by the selected k, and its value."""
    name, sem = SCORED[result.criterion], at_best(result, result.sem)
    if result.criterion == LIKELY:
        return f"the highest {name}, {percent(result.best_score)}"
    if result.rule == "lcb":
        return f"the best lower confidence bound, {at_best(result, result.lcb):.4f} ({name} {result.best_score:.4f})"
    error = f" (standard error {sem:.4f} over {result.n_subsamples} subsamples)" if np.isfinite(sem) else ""
    return f"the best {name}, {result.best_score:.4f}{error}"


def _probability(result: SelectionResult) -> str:
    probability = at_best(result, result.selection_probability)
    if not np.isfinite(probability):
        return "The selection probability cannot be estimated from these subsamples."
    if result.n_subsamples < MIN_SUBSAMPLES:
        few = f"{result.n_subsamples} subsamples are too few to estimate the selection probability"
        return f"{few}; use at least {MIN_SUBSAMPLES}."
    shown = whole_percent(probability)
    often = "rarely" if shown >= CLEAR_PERCENT else "sometimes" if shown >= TIE_PERCENT else "often"
    # Subsamples that contain all rows have no sampling noise.
    noise = "" if result.plan.whole_data else f"; sampling noise {often} changes the choice"
    text = (
        f"A new run on the same data would select k = {result.best_k} in {percent(probability)} of cases (selection "
        f"probability){noise}."
    )
    ranked = sorted(zip(result.selection_probability, result.ks, strict=True), reverse=True)
    others = [f"k = {k} ({percent(p)})" for p, k in ranked if whole_percent(p) >= LISTED_PERCENT and k != result.best_k]
    return f"{text} Also possible: {', '.join(others)}." if others and shown < CLEAR_PERCENT else text


def _adaptive_stop(result: SelectionResult) -> str:
    n_dropped = int((result._n_run < result.n_subsamples).sum())
    dropped = f" {n_dropped} of {len(result.ks)} candidates were dropped early." if n_dropped else ""
    if result.n_subsamples >= MAX_AUTO_SUBSAMPLES:
        return f"The run stopped at {result.n_subsamples} subsamples, the maximum for n_subsamples='auto'.{dropped}"
    if at_best(result, result.selection_probability) < STOP_PROBABILITY or result.criterion != result.plan.adaptive:
        n_best = int(result._n_run[result._best_index])
        fewer = f" k = {result.best_k} was run on only {n_best} subsamples." if n_best < result.n_subsamples else ""
        return (
            f"The number of subsamples was chosen for criterion={result.plan.adaptive!r}; {result.n_subsamples} may "
            f"not be enough for the current settings.{fewer}"
        )
    return f"The run stopped at {result.n_subsamples} subsamples: the selection probability is at least 99 %.{dropped}"


def _averages(result: SelectionResult) -> str:
    """Return the choices of micro and macro (for other criteria: of the composite) as a sentence if they differ."""
    micro, macro, composite = (result.choices[name] for name in ("micro", "macro", "composite"))
    if result.criterion != "composite":
        same = composite in (None, result.best_k) or result.second_opinion == ("composite", composite)
        return "" if same else f"The {SCORED['composite']} would select k = {composite}."
    # Omit agreement, which hardly makes the choice more likely to be correct.
    if None in (micro, macro) or micro == macro == result.best_k:
        return ""
    if micro == macro:
        return f"The micro and macro averages would both select k = {micro}."
    return f"The micro average would select k = {micro}, and the macro average k = {macro}."


def why_no_choice(result: SelectionResult) -> str:
    """Return the reason why no k can be selected, and a suggested fix."""
    if result.criterion == LIKELY and result._selectable.any():
        if not result.confidence_note:
            return (
                "No k can be selected by rule='lcb' with criterion='likely', because a confidence has no lower bound."
            )
        return (
            f"No k can be selected by criterion='likely', because the confidence is unknown: "
            f"{result.confidence_note}. Pass another criterion, for example 'stable'."
        )
    if result.rule == "lcb" and result.n_subsamples < 2:
        return (
            "No k can be selected by rule='lcb' from a single subsample, because the standard error is undefined. "
            "Pass n_subsamples=2 or more."
        )
    return (
        f"No k of {format_ks(result.ks)} can be selected: clustering failed for each on more than "
        f"{percent(MAX_FAILED_SHARE)} of the {result.n_subsamples} subsamples {failures(result)} Pass smaller values "
        "of k, a larger sample_size, or another clusterer."
    )
