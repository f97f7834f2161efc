"""A result in words: the table, the explanation, the settings. It reads a result and computes nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from compsil_kit._method.selection import (
    LIKELY,
    MAX_AUTO_SUBSAMPLES,
    MAX_FAILED_SHARE,
    STOP_PROBABILITY,
    transform_name,
)
from compsil_kit._show.chances import (
    confidence_sentence,
    confidence_text,
    probability_sentence,
    probability_text,
    why_no_confidence,
)
from compsil_kit._show.curve import SCORED, curve_of
from compsil_kit._show.notes import failures, warnings
from compsil_kit._util.format import format_ks, number, percent
from compsil_kit.config import SelectionConfig, settings_of

if TYPE_CHECKING:
    from compsil_kit.result import SelectionResult


def table(result: SelectionResult) -> str:
    """Return the choice, the curve and the settings as text for a terminal."""
    columns = curve_of(result).columns()
    columns["k"] = [f"{'*' if at == result._best_index else ' '} {k:>3}" for at, k in enumerate(columns["k"])]
    widths = [5 if heading == "k" else max(8, len(heading) + 1) for heading in columns]
    rows: list[Iterable[str]] = [columns, *zip(*columns.values(), strict=True)]
    lines = [" ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows]
    first = [no_clusters(result), ""] if no_clusters(result) else []
    return "\n".join([*first, _headline(result), "", *lines, "", settings_line(result)])


def no_clusters(result: SelectionResult) -> str:
    """Return what comes before all else where the data were found to have no clusters; an empty text elsewhere."""
    return "" if result.structure is None or result.structure.found else result.structure.verdict


def _headline(result: SelectionResult) -> str:
    if result._best_index is None:
        return f"SelectionResult: no k of {format_ks(result.ks)} can be selected"
    at, done = result._best_index, result.n_subsamples + len(result.calibration.subsamples)
    score = f"   score {result.best_score:.4f} ± {number(result.sem[at])}"
    partial = f"   PARTIAL, {done} of {len(result.plan.seeds)} subsamples" if result.partial else ""
    return (
        f"SelectionResult: k* = {result.best_k} of {format_ks(result.ks)}"
        # Under this criterion the score is the confidence.
        f"{'' if result.criterion == LIKELY else score}{partial}\n"
        f"confidence {confidence_text(result)}   selection probability {probability_text(result)}"
    )


def settings(result: SelectionResult) -> dict[str, Any]:
    """Return every setting except ks as plain data, by the name of its keyword; "auto" is replaced by its value."""
    choice = {
        "transform": transform_name(result.transform),
        "rule": result.rule,
        "z": result.z,
        "criterion": result.criterion,
    }
    known = {
        **result.plan.config.to_dict(),
        **result.plan.to_dict(),
        "on_failure": result.plan.on_failure,
        **choice,
        "n_subsamples": result.n_subsamples,
    }
    return {name: known[name] for name in settings_of(SelectionConfig) if name != "ks"}


def settings_line(result: SelectionResult, *, preparation: bool = False) -> str:
    """Return the settings that have an effect in one line, if asked for with what was done to the table before."""
    given = settings(result)
    calibration = f" + {given['n_calibration']} for calibration" if given["n_calibration"] else ""
    bound = f" (z={given['z']:g})" if given["rule"] == "lcb" else ""
    composite = given["criterion"] == "composite"
    parts = [
        f"{given['n_subsamples']} subsamples{calibration} of {given['sample_size']:,} of {result.plan.n_rows:,} rows",
        given["clusterer"],
        "" if given["n_starts"] == 1 else f"{given['n_starts']} starts",
        given["metric"],
        # Only the composite is blended.
        f"transform {given['transform']}" if composite else f"criterion {given['criterion']}",
        f"rule {given['rule']}{bound}",
        str(result.preparation) if preparation and result.preparation is not None else "",
    ]
    return " · ".join(str(part) for part in parts if part)


def explain(result: SelectionResult) -> str:
    """Return the sentences and, where a k was selected, the warnings as notes."""
    notes = [] if result._best_index is None else [f"Note: {text}" for text in warnings(result)]
    return "\n".join([*sentences(result), *notes])


def sentences(result: SelectionResult) -> list[str]:
    """Return how often such an answer was right, the choice and how sure it is, what others choose, and the data."""
    if result._best_index is None:
        return [why_no_choice(result)]
    told = (
        no_clusters(result),
        confidence_sentence(result),
        _choice(result),
        why_no_confidence(result),
        probability_sentence(result),
        why_stopped(result),
        _alone(result),
        result.structure.verdict if result.structure is not None and result.structure.found else "",
        "" if result.preparation is None else f"Data: {result.preparation}.",
    )
    return [part for part in told if part]


def why_stopped(result: SelectionResult) -> str:
    """Say why there were so many subsamples, where there were as many as it takes."""
    if not result.plan.adaptive or result.partial:
        return ""
    n_left_out = int((result._n_run < result.n_subsamples).sum())
    left_out = f" {n_left_out} of {len(result.ks)} candidates were left out on the way." if n_left_out else ""
    if result.n_subsamples >= MAX_AUTO_SUBSAMPLES:
        return f"It stopped at {result.n_subsamples} subsamples, the most that n_subsamples='auto' takes.{left_out}"
    if result.selection_probability[result._best_index] < STOP_PROBABILITY or result.criterion != result.plan.adaptive:
        # It is read under other settings than those under which it was sure enough.
        n_best = int(result._n_run[result._best_index])
        alone = f" k = {result.best_k} ran on {n_best} of them." if n_best < result.n_subsamples else ""
        return (
            f"The number of subsamples was chosen under other settings, with criterion={result.plan.adaptive!r}; under "
            f"these, {result.n_subsamples} need not be enough.{alone}"
        )
    return f"{result.n_subsamples} subsamples were enough: the selection probability is 99 % or more.{left_out}"


def _choice(result: SelectionResult) -> str:
    text = f"k = {result.best_k} has {_best(result)}"
    if (result.n_failed[~result._selectable] > 0).any():
        text = f"Of the candidates that can be selected, {text}"
    second = result._runner_up
    if second is None:
        return f"{text}; {'it is the only candidate' if len(result.ks) == 1 else 'no other candidate can be selected'}."
    if result.criterion == LIKELY:
        return f"{text}; the second is k = {result.ks[second]}, {percent(result.confidence[second])}."
    return f"{text}; the second best is k = {result.ks[second]}, {result._lead:.4f} lower."


def _best(result: SelectionResult) -> str:
    """Name what the chosen k is the best in, with its value."""
    at, name = result._best_index, SCORED[result.criterion]
    assert at is not None
    if result.criterion == LIKELY:
        return f"the highest {name}, {percent(result.best_score)}"
    if result.rule == "lcb":
        return f"the best lower confidence bound, {result.lcb[at]:.4f} ({name} {result.best_score:.4f})"
    text = f"the best {name}, {result.best_score:.4f}"
    if np.isfinite(result.sem[at]):
        text += f" (standard error {result.sem[at]:.4f} over {result.n_subsamples} subsamples)"
    return text


def _alone(result: SelectionResult) -> str:
    """Say what the averages alone would choose, or under another criterion the composite, where it is another k.

    That all agree is not told: it makes an answer hardly more likely to be right.
    """
    micro, macro, composite = (result.choices[name] for name in ("micro", "macro", "composite"))
    if result.criterion != "composite":
        same = composite in (None, result.best_k) or result.second_opinion == ("composite", composite)
        return "" if same else f"The {SCORED['composite']} would choose k = {composite}."
    if None in (micro, macro) or micro == macro == result.best_k:
        return ""
    if micro == macro:
        return f"The micro average alone and the macro average alone both choose k = {micro}."
    return f"The micro average alone would choose k = {micro}, the macro average alone k = {macro}."


def why_no_choice(result: SelectionResult) -> str:
    """Say why no k can be selected, and what to do."""
    if result.criterion == LIKELY and result._selectable.any():
        if not result.confidence_note:
            return "No k can be selected by rule='lcb' with criterion='likely': a confidence has no lower bound."
        return (
            f"No k can be selected by criterion='likely', as the confidence is not known here: "
            f"{result.confidence_note}. Pass another criterion, for instance 'stable'."
        )
    if result.rule == "lcb" and result.n_subsamples < 2:
        return (
            "No k can be selected by rule='lcb' from a single subsample: its standard error is undefined. "
            "Pass n_subsamples of at least 2."
        )
    return (
        f"No k of {format_ks(result.ks)} can be selected: each failed on more than {percent(MAX_FAILED_SHARE)} of the "
        f"{result.n_subsamples} subsamples {failures(result)} Pass smaller ks, larger subsamples (sample_size), or "
        "another clusterer."
    )
