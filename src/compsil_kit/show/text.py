"""A result in words: the table, the paragraph, the warnings. It reads a result and computes nothing of its own."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from compsil_kit.method.selection import MAX_LOST
from compsil_kit.method.weights import transform_name
from compsil_kit.util.format import format_ks, number, percent

if TYPE_CHECKING:
    from compsil_kit.result.result import SelectionResult

SURE = 0.95
NEARLY_SURE = 0.8
# Below this mean silhouette, Kaufman and Rousseeuw speak of no substantial structure.
WEAK = 0.25


def table(result: SelectionResult) -> str:
    """Return the choice and the curve as text for a terminal."""
    header = f"{'k':>5} {'score':>8} {'± se':>8} {'micro':>8} {'macro':>8} {'weight':>7} {'wins':>6}"
    failed = bool(result.n_failed.any())
    lines = [_headline(result), "", header + (f" {'failed':>7}" if failed else "")]
    lines += [_row(result, position, failed) for position in range(len(result.ks))]
    return "\n".join([*lines, "", _settings(result)])


def _headline(result: SelectionResult) -> str:
    if result.best_index is None:
        return f"SelectionResult: no k of {format_ks(result.ks)} can be selected"
    at = result.best_index
    stopped = f"  PARTIAL, {result.n_subsamples} of {result.plan.n_subsamples} subsamples" if result.partial else ""
    return (
        f"SelectionResult: k* = {result.best_k} of {format_ks(result.ks)}   "
        f"score {result.best_score:.4f} ± {number(result.sem[at])}   wins {percent(result.probability[at])}{stopped}"
    )


def _row(result: SelectionResult, position: int, failed: bool) -> str:
    mark = "*" if position == result.best_index else " "
    means = [_mean(values[position]) for values in (result.micro, result.macro, result.weights)]
    score, sem, wins = result.scores[position], result.sem[position], result.probability[position]
    text = (
        f"{mark} {result.ks[position]:>3} {number(score):>8} {number(sem):>8} "
        f"{number(means[0]):>8} {number(means[1]):>8} {number(means[2], 3):>7} {percent(wins):>6}"
    )
    return text + (f" {result.n_failed[position]:>7}" if failed else "")


def _mean(values: NDArray[np.float64]) -> float:
    valid = values[np.isfinite(values)]
    return float(valid.mean()) if valid.size else float("nan")


def _settings(result: SelectionResult) -> str:
    plan = result.plan
    rule = f"lcb (z={result.z:g})" if result.rule == "lcb" else result.rule
    calibration = f" + {plan.n_calibration} for calibration" if plan.n_calibration else ""
    return (
        f"{result.n_subsamples} subsamples{calibration} of {plan.sample_size:,} of {plan.n_rows:,} rows · "
        f"{plan.clusterer} · {plan.metric} · {transform_name(result.transform)} · {rule}"
    )


def explain(result: SelectionResult) -> str:
    """Return the choice, the runner-up, how sure, what micro and macro alone say, and the warnings."""
    if result.best_index is None:
        return why_no_choice(result)
    parts = [_choice(result), _certainty(result), _alone(result), _preparation(result)]
    parts += [f"Note: {warning}" for warning in warnings_of(result)]
    return "\n".join(part for part in parts if part)


def _choice(result: SelectionResult) -> str:
    at = result.best_index
    assert at is not None
    text = f"k = {result.best_k} has the best composite silhouette, {result.best_score:.4f}"
    if np.isfinite(result.sem[at]):
        text += f" (standard error {result.sem[at]:.4f} over {result.n_subsamples} subsamples)"
    if result.rule == "lcb":
        text = (
            f"k = {result.best_k} has the best lower bound, {result.lcb[at]:.4f}, at a score of {result.best_score:.4f}"
        )
    second = result.runner_up
    if second is None:
        return text + "; it was the only candidate."
    return f"{text}; next comes k = {result.ks[second]}, behind by {result.lead:.4f}."


def _certainty(result: SelectionResult) -> str:
    assert result.best_index is not None
    if len(result.ks) == 1:
        return ""
    share = result.probability[result.best_index]
    if not np.isfinite(share):
        return "How sure this is cannot be said from these subsamples."
    text = f"A new run on these data would choose it {percent(share)} of the time: {_verdict(share)}."
    rivals = [(p, k) for p, k in zip(result.probability, result.ks, strict=True) if p >= 0.05 and k != result.best_k]
    if rivals and share < SURE:
        text += " Also possible: " + ", ".join(f"k = {k} ({percent(p)})" for p, k in sorted(rivals, reverse=True)) + "."
    return text


def _preparation(result: SelectionResult) -> str:
    return "" if result.preparation is None else f"Data: {result.preparation}."


def _verdict(share: float) -> str:
    """Say what the estimate shows and no more: it knows the noise of sampling, not whether the criterion is right."""
    if share >= SURE:
        return "sampling noise hardly ever changes the choice"
    return "sampling noise seldom changes the choice" if share >= NEARLY_SURE else "the choice is not settled"


def _alone(result: SelectionResult) -> str:
    micro, macro = result.choices["micro"], result.choices["macro"]
    if len(result.ks) == 1 or micro is None or macro is None:
        return ""
    if micro == macro == result.best_k:
        return "Micro and macro averages alone choose the same, which is a good sign."
    if micro == macro:
        return f"Micro and macro averages alone both choose k = {micro}."
    return f"The micro average alone would choose k = {micro}, the macro average alone k = {macro}."


def warnings_of(result: SelectionResult) -> list[str]:
    """Return what should be known before the choice is trusted."""
    found = [_partial(result), _lost(result), _calibration(result), _repeated_seeds(result)]
    if result.best_index is not None:
        found += [_disagreement(result), _near_tie(result), _edge(result), _weak(result)]
    found.append(_whole_data(result))
    found += [] if result.preparation is None else result.preparation.notes
    return [text for text in found if text]


def _partial(result: SelectionResult) -> str:
    if not result.partial:
        return ""
    return f"the run was stopped after {result.n_subsamples} of {result.plan.n_subsamples} subsamples."


def _calibration(result: SelectionResult) -> str:
    wanted, done = result.plan.n_calibration, len(result.calibration.subsamples)
    if done >= wanted:
        return ""
    return f"only {done} of {wanted} calibration subsamples are finished."


def _repeated_seeds(result: SelectionResult) -> str:
    twice = len(result.plan.seeds) - len(set(result.plan.seeds))
    return f"{twice} seeds occur again: those subsamples count twice, the errors are too small." if twice else ""


def _lost(result: SelectionResult) -> str:
    if not result.n_failed.any():
        return ""
    counts = ", ".join(f"k = {k}: {n}" for k, n in zip(result.ks, result.n_failed, strict=True) if n)
    cause = Counter(failure.cause for failure in result.failures).most_common(1)
    why = f" Most frequent cause: {cause[0][0]}." if cause else ""
    barred = [str(k) for k, ok in zip(result.ks, result.selectable, strict=True) if not ok]
    out = f" Cannot be selected, as more than a fifth failed: k = {', '.join(barred)}." if barred else ""
    return f"subsamples failed ({counts} of {result.n_subsamples}).{why}{out}"


def _disagreement(result: SelectionResult) -> str:
    micro, macro = result.choices["micro"], result.choices["macro"]
    if len({micro, macro, result.best_k} - {None}) == 1:
        return ""
    if result.best_k in (micro, macro):
        side = "micro" if result.best_k == micro else "macro"
        return f"micro and macro disagree; the composite sides with {side}. Look at both clusterings."
    return "neither micro nor macro alone would choose this k. Look at the clusterings before relying on it."


def _near_tie(result: SelectionResult) -> str:
    assert result.best_index is not None
    share, second = result.probability[result.best_index], result.runner_up
    if second is None or not share < NEARLY_SURE:
        return ""
    return f"k = {result.best_k} and k = {result.ks[second]} are nearly tied; more subsamples may separate them."


def _edge(result: SelectionResult) -> str:
    best, ks = result.best_k, result.ks
    if len(ks) == 1:
        return ""
    if best == ks[-1]:
        return f"k = {best} is the largest candidate; a larger one may be better. Widen ks."
    if best == 2:
        return "k = 2 is the smallest count a silhouette can judge; it cannot tell two clusters from none."
    if best == ks[0]:
        return f"k = {best} is the smallest candidate; a smaller one may be better. Widen ks."
    return ""


def _weak(result: SelectionResult) -> str:
    if result.best_score >= WEAK:
        return ""
    return f"a score of {result.best_score:.2f} is low: the clusters overlap, or there are none."


def _whole_data(result: SelectionResult) -> str:
    if not result.plan.whole_data:
        return ""
    return (
        f"every subsample is the whole data set ({result.plan.n_rows:,} rows): the repetitions differ in the "
        "clusterer's seed at most, so the uncertainty shown is too small."
    )


def why_no_choice(result: SelectionResult) -> str:
    """Say why no k can be selected, and what to do."""
    if result.rule == "lcb" and result.n_subsamples < 2:
        return (
            "No k can be selected by rule='lcb' from a single subsample: its standard error is undefined. "
            "Pass n_subsamples of at least 2."
        )
    return (
        f"No k of {format_ks(result.ks)} can be selected: each lost more than {MAX_LOST:.0%} of its subsamples. "
        f"In all, {_lost(result)} Pass smaller ks, larger subsamples (sample_size), or another clusterer."
    )
