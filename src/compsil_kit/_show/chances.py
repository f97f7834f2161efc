"""How sure a result is, in words: the confidence, the selection probability, and what another criterion says.

These are different things. The confidence is about being right, the selection probability about another run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from compsil_kit._method.selection import LIKELY
from compsil_kit._show.curve import SCORED
from compsil_kit._util.format import percent, whole_percent

if TYPE_CHECKING:
    from compsil_kit.result import SelectionResult

# Selection probabilities in percent, compared as they are printed.
STABLE = 95
MOSTLY_STABLE = 80
WORTH_NAMING = 5
# From fewer subsamples than this, the selection probability says little.
ENOUGH_SUBSAMPLES = 10
# Times in ten from which it is said that none of the candidates may be right.
FAIRLY_LIKELY = 2


def probability_text(result: SelectionResult) -> str:
    """Return the selection probability of the choice, or that there are too few subsamples to tell."""
    assert result._best_index is not None
    few = result.n_subsamples < ENOUGH_SUBSAMPLES and len(result.ks) > 1
    return "unknown (too few subsamples)" if few else percent(result.selection_probability[result._best_index])


def confidence_text(result: SelectionResult) -> str:
    """Return the confidence in the choice, or that it is not known."""
    assert result._best_index is not None
    return "unknown" if result.confidence_note else percent(result.confidence[result._best_index])


def _tenths(chance: float) -> int:
    """Return a chance as times in ten; more digits would promise too much."""
    return 0 if chance < 0.1 else round(10 * float(chance))


def _times(chance: float) -> str:
    tenths = _tenths(chance)
    if not tenths:
        return "less than 1 time in 10"
    return "more than 9 times in 10" if tenths == 10 else f"about {tenths} time{'s' if tenths > 1 else ''} in 10"


def confidence_sentence(result: SelectionResult) -> str:
    """Say how often such an answer was right, and what else may be; nothing where this is not known."""
    if result._best_index is None or result.confidence_note:
        return ""
    own = float(result.confidence[result._best_index])
    text = (
        f"k = {result.best_k}: on data like these, such an answer was right {_times(own)} (confidence {percent(own)})"
    )
    text = f"{text}{_alternative(result)}."
    if _tenths(result.confidence_none) < FAIRLY_LIKELY:
        return text
    none = _times(result.confidence_none)
    return f"{text} {none[0].upper()}{none[1:]}, none of these candidates was."


def _alternative(result: SelectionResult) -> str:
    """Name the most likely other k, unless it is unlikely."""
    assert result._best_index is not None
    others = np.where(result._selectable, result.confidence, -np.inf)
    others[result._best_index] = -np.inf
    at = int(others.argmax())
    own, chance, k = _tenths(result.confidence[result._best_index]), _tenths(others[at]), result.ks[at]
    if not chance:
        return ""
    if chance == own:
        return f"; k = {k} was right about as often"
    return (
        f"; k = {k} " + ("was right more often" if chance > own else "is the main alternative") + f" ({chance} in 10)"
    )


def why_no_confidence(result: SelectionResult) -> str:
    """Say why the confidence is not known, or nothing where it is."""
    if len(result.ks) == 1 or not result.confidence_note:
        return ""
    return f"How often such an answer is right (confidence) is not known here: {result.confidence_note}."


def probability_sentence(result: SelectionResult) -> str:
    """Say how often a new run would make the same choice, and which others it may make."""
    assert result._best_index is not None
    if len(result.ks) == 1:
        return ""
    probability = result.selection_probability[result._best_index]
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
        for p, k in zip(result.selection_probability, result.ks, strict=True)
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


def second_opinion(result: SelectionResult) -> str:
    """Say what the best other criterion chooses, where that is another k, and what to look at."""
    if result.second_opinion is None:
        return ""
    other, k = result.second_opinion
    chance = percent(result.confidence[result.ks.index(k)])
    own = f"the {SCORED[result.criterion]} chooses k = {result.best_k}"
    if other == LIKELY:
        theirs = f"k = {k} is the most likely to be right (confidence {chance})"
    else:
        theirs = f"the {SCORED[other]} chooses k = {k}"
    if result.criterion == LIKELY:
        own = f"k = {result.best_k} is the most likely to be right"
    return f"{own}, but {theirs}: compare the two clusterings, for instance with the silhouette plot of each."
