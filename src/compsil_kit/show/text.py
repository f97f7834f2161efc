"""A result in words: the table, the explanation, the warnings, the settings. It reads a result and computes nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from compsil_kit.method.selection import MAX_LOST
from compsil_kit.method.weights import transform_name
from compsil_kit.settings.keywords import SelectKeywords, keywords_of
from compsil_kit.show.curve import curve_of
from compsil_kit.util.format import format_ks, number, percent, whole_percent

if TYPE_CHECKING:
    from compsil_kit.result.result import SelectionResult

# Selection probabilities in percent, compared as they are printed.
STABLE = 95
MOSTLY_STABLE = 80
WORTH_NAMING = 5
# Below this mean silhouette, Kaufman and Rousseeuw speak of no substantial structure.
WEAK = 0.25

# From fewer subsamples than this, the selection probability says little.
ENOUGH_SUBSAMPLES = 10


def table(result: SelectionResult) -> str:
    """Return the choice, the curve and the settings as text for a terminal."""
    columns = curve_of(result).columns()
    columns["k"] = [f"{'*' if at == result.best_index else ' '} {k:>3}" for at, k in enumerate(columns["k"])]
    widths = [5 if heading == "k" else max(8, len(heading) + 1) for heading in columns]
    rows: list[Iterable[str]] = [columns, *zip(*columns.values(), strict=True)]
    lines = [" ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows]
    return "\n".join([_headline(result), "", *lines, "", settings_line(result)])


def _headline(result: SelectionResult) -> str:
    if result.best_index is None:
        return f"SelectionResult: no k of {format_ks(result.ks)} can be selected"
    at, done = result.best_index, result.n_subsamples + len(result.calibration.subsamples)
    partial = f"   PARTIAL, {done} of {len(result.plan.seeds)} subsamples" if result.partial else ""
    return (
        f"SelectionResult: k* = {result.best_k} of {format_ks(result.ks)}   "
        f"score {result.best_score:.4f} ± {number(result.sem[at])}   "
        f"selection probability {probability_text(result)}{partial}"
    )


def probability_text(result: SelectionResult) -> str:
    """Return the selection probability of the choice, or that there are too few subsamples to tell."""
    assert result.best_index is not None
    few = result.n_subsamples < ENOUGH_SUBSAMPLES and len(result.ks) > 1
    return "unknown (too few subsamples)" if few else percent(result.probability[result.best_index])


def settings(result: SelectionResult) -> dict[str, int | float | str]:
    """Return every setting that the numbers depend on, by the name of its keyword; ks and seeds are in the plan."""
    choice = {
        "transform": transform_name(result.transform),
        "rule": result.rule,
        "z": result.z,
        "criterion": result.criterion,
    }
    known = {**vars(result.plan), **choice, "n_subsamples": result.n_subsamples}
    return {name: known[name] for name in keywords_of(SelectKeywords) if name in known and name != "ks"}


def settings_line(result: SelectionResult, *, preparation: bool = False) -> str:
    """Return the settings that have an effect in one line, if asked for with what was done to the table before."""
    given = settings(result)
    calibration = f" + {given['n_calibration']} for calibration" if given["n_calibration"] else ""
    bound = f" (z={given['z']:g})" if given["rule"] == "lcb" else ""
    line = (
        f"{given['n_subsamples']} subsamples{calibration} of {given['sample_size']:,} of {result.plan.n_rows:,} rows · "
        f"{given['clusterer']} · {given['metric']} · transform {given['transform']} · rule {given['rule']}{bound}"
    )
    return f"{line} · {result.preparation}" if preparation and result.preparation is not None else line


def explain(result: SelectionResult) -> str:
    """Return the sentences and, where a k was selected, the warnings as notes."""
    notes = [] if result.best_index is None else [f"Note: {text}" for text in warnings(result)]
    return "\n".join([*sentences(result), *notes])


def sentences(result: SelectionResult) -> list[str]:
    """Return the choice and the second best, the selection probability, what micro and macro alone choose, the data."""
    if result.best_index is None:
        return [why_no_choice(result)]
    data = "" if result.preparation is None else f"Data: {result.preparation}."
    return [part for part in (_choice(result), _probability(result), _alone(result), data) if part]


def _choice(result: SelectionResult) -> str:
    at = result.best_index
    assert at is not None
    text = f"k = {result.best_k} has the best composite silhouette, {result.best_score:.4f}"
    if np.isfinite(result.sem[at]):
        text += f" (standard error {result.sem[at]:.4f} over {result.n_subsamples} subsamples)"
    if result.rule == "lcb":
        text = (
            f"k = {result.best_k} has the best lower confidence bound, {result.lcb[at]:.4f} "
            f"(composite silhouette {result.best_score:.4f})"
        )
    if not result.selectable.all():
        text = f"Of the candidates that can be selected, {text}"
    second = result.runner_up
    if second is not None:
        return f"{text}; the second best is k = {result.ks[second]}, {result.lead:.4f} lower."
    return f"{text}; {'it is the only candidate' if len(result.ks) == 1 else 'no other candidate can be selected'}."


def _probability(result: SelectionResult) -> str:
    assert result.best_index is not None
    if len(result.ks) == 1:
        return ""
    probability = result.probability[result.best_index]
    if not np.isfinite(probability):
        return "The selection probability cannot be estimated from these subsamples."
    if result.n_subsamples < ENOUGH_SUBSAMPLES:
        return (
            f"{result.n_subsamples} subsamples are too few to tell how often a new run would choose it (selection "
            f"probability); take {ENOUGH_SUBSAMPLES} or more."
        )
    # Where all subsamples are the whole data set, there is no sampling noise to speak of.
    noise = "" if result.plan.whole_data else f": sampling noise {_how_often(probability)} changes the choice"
    text = f"A new run on these data would choose it {percent(probability)} of the time (selection probability){noise}."
    others = [
        (p, k)
        for p, k in zip(result.probability, result.ks, strict=True)
        if whole_percent(p) >= WORTH_NAMING and k != result.best_k
    ]
    if others and whole_percent(probability) < STABLE:
        text += " Also possible: " + ", ".join(f"k = {k} ({percent(p)})" for p, k in sorted(others, reverse=True)) + "."
    return text


def _how_often(probability: float) -> str:
    """Say what the estimate shows and no more: it knows the noise of sampling, not whether the criterion is right."""
    if whole_percent(probability) >= STABLE:
        return "rarely"
    return "sometimes" if whole_percent(probability) >= MOSTLY_STABLE else "often"


def _alone(result: SelectionResult) -> str:
    micro, macro = result.choices["micro"], result.choices["macro"]
    if len(result.ks) == 1 or micro is None or macro is None:
        return ""
    if micro == macro == result.best_k:
        return "The micro average alone and the macro average alone choose the same k."
    if micro == macro:
        return f"The micro average alone and the macro average alone both choose k = {micro}."
    return f"The micro average alone would choose k = {micro}, the macro average alone k = {macro}."


def warnings(result: SelectionResult) -> list[str]:
    """Return what should be known before the choice is trusted."""
    found = [_partial(result), _failed(result), _calibration(result), _repeated_seeds(result)]
    if result.best_index is not None:
        found += [_disagreement(result), _near_tie(result), _edge(result), _weak(result)]
    found.append(_whole_data(result))
    found += [] if result.preparation is None else result.preparation.notes
    return [text for text in found if text]


def _partial(result: SelectionResult) -> str:
    done, planned = result.n_subsamples, result.plan.n_subsamples
    return f"this is a partial result: {done} of {planned} subsamples are finished." if done < planned else ""


def _calibration(result: SelectionResult) -> str:
    done, planned = len(result.calibration.subsamples), result.plan.n_calibration
    return f"only {done} of {planned} calibration subsamples are finished." if done < planned else ""


def _repeated_seeds(result: SelectionResult) -> str:
    repeated = len(result.plan.seeds) - len(set(result.plan.seeds))
    if not repeated:
        return ""
    return (
        f"{repeated} of {len(result.plan.seeds)} seeds repeat an earlier one: equal subsamples are counted more than "
        "once, and the standard errors are too small."
    )


def _failed(result: SelectionResult) -> str:
    if not result.n_failed.any():
        return ""
    excluded = ", ".join(str(k) for k, ok in zip(result.ks, result.selectable, strict=True) if not ok)
    limit = percent(MAX_LOST)
    return f"the clustering failed on some of the {result.n_subsamples} subsamples {_failures(result)}" + (
        f" Excluded from the selection because more than {limit} failed: k = {excluded}." if excluded else ""
    )


def _failures(result: SelectionResult) -> str:
    """Return the failures per k and their most frequent cause, as the end of a sentence about subsamples."""
    counts = ", ".join(f"k = {k}: {n}" for k, n in zip(result.ks, result.n_failed, strict=True) if n)
    cause = Counter(failure.cause for failure in result.failures).most_common(1)
    return f"({counts})." + (f" Most frequent cause: {cause[0][0].rstrip('.')}." if cause else "")


def _disagreement(result: SelectionResult) -> str:
    micro, macro = result.choices["micro"], result.choices["macro"]
    if len({micro, macro, result.best_k} - {None}) == 1:
        return ""
    if result.best_k in (micro, macro):
        same = "micro" if result.best_k == micro else "macro"
        return (
            f"the micro and macro averages choose different k; the composite agrees with {same}. "
            "Inspect both clusterings."
        )
    return (
        f"neither the micro nor the macro average alone chooses k = {result.best_k}. "
        "Inspect the clusterings before relying on it."
    )


def _near_tie(result: SelectionResult) -> str:
    assert result.best_index is not None
    probability, second = result.probability[result.best_index], result.runner_up
    if second is None or not np.isfinite(probability) or whole_percent(probability) >= MOSTLY_STABLE:
        return ""
    return f"k = {result.best_k} and k = {result.ks[second]} are nearly tied; more subsamples may separate them."


def _edge(result: SelectionResult) -> str:
    best, ks = result.best_k, result.ks
    if len(ks) == 1:
        return ""
    if best == ks[-1]:
        return f"k = {best} is the largest candidate; a larger k may score higher. Extend ks."
    if best == 2:
        return "k = 2 is the smallest k that has a silhouette; the score cannot tell two clusters from one."
    if best == ks[0]:
        return f"k = {best} is the smallest candidate; a smaller k may score higher. Extend ks."
    return ""


def _weak(result: SelectionResult) -> str:
    if result.best_score >= WEAK:
        return ""
    return f"the score is low ({result.best_score:.2f}): the clusters overlap, or the data have no clusters."


def _whole_data(result: SelectionResult) -> str:
    if not result.plan.whole_data:
        return ""
    return (
        f"every subsample is the whole data set ({result.plan.n_rows:,} rows): they differ at most in the clusterer's "
        "seed, so the standard errors and the selection probability do not show sampling noise. Pass a smaller "
        "sample_size."
    )


def why_no_choice(result: SelectionResult) -> str:
    """Say why no k can be selected, and what to do."""
    if result.rule == "lcb" and result.n_subsamples < 2:
        return (
            "No k can be selected by rule='lcb' from a single subsample: its standard error is undefined. "
            "Pass n_subsamples of at least 2."
        )
    return (
        f"No k of {format_ks(result.ks)} can be selected: each failed on more than {percent(MAX_LOST)} of the "
        f"{result.n_subsamples} subsamples {_failures(result)} Pass smaller ks, larger subsamples (sample_size), or "
        "another clusterer."
    )
