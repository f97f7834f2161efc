"""Whether the choice is sure enough, and what the task does if it is not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from compsil_airflow.compat import AirflowFailException, AirflowSkipException
from compsil_airflow.xcom import number

if TYPE_CHECKING:
    from compsil_kit import SelectionResult

FAIL, SKIP, FALLBACK = ON_UNSURE = ("fail", "skip", "fallback")
# The lowest value of each number that is accepted, by the name of its parameter.
Thresholds = Mapping[str, float | None]
THRESHOLDS = {"min_probability": "selection probability", "min_confidence": "confidence"}


@dataclass(frozen=True)
class Decision:
    """The k to return, or None and the exception that ends the task once its results are stored."""

    outcome: str
    k: int | None
    notes: tuple[str, ...] = ()
    stop: Exception | None = None


def check_thresholds(thresholds: Thresholds, fallback_k: int | None, on_unsure: str | None) -> None:
    """Refuse a threshold, a fallback or an action that cannot be used."""
    from compsil_kit._util.checks import check_choice, check_integer, check_real

    given = [name for name, value in thresholds.items() if value is not None]
    for name in given:
        check_real(name, thresholds[name], low=0.0, high=1.0)
    if fallback_k is not None:
        check_integer("fallback_k", fallback_k, minimum=2)
        if not given:
            raise ValueError(f"fallback_k requires {' or '.join(THRESHOLDS)}, below which it is used.")
    if on_unsure is None:
        return
    check_choice("on_unsure", on_unsure, ON_UNSURE)
    if not given:
        raise ValueError(f"on_unsure requires {' or '.join(THRESHOLDS)}, below which it applies.")
    if (on_unsure == FALLBACK) != (fallback_k is not None):
        raise ValueError("on_unsure='fallback' and fallback_k belong together: pass both, or neither.")


def decide(result: SelectionResult, thresholds: Thresholds, fallback_k: int | None, on_unsure: str | None) -> Decision:
    """Accept k*, or say what happens instead because it is not sure enough."""
    k = int(result.best_k)
    reasons = [reason for name, least in thresholds.items() if (reason := _too_low(result, name, least))]
    if not reasons:
        return Decision("accepted", k)
    reason = ", and ".join(reasons)
    if fallback_k is not None:
        return Decision("fallback", fallback_k, (f"{reason}; fallback_k={fallback_k} is returned instead.",))
    if on_unsure == SKIP:
        text = f"{reason}; the task is skipped."
        return Decision("skipped", None, (text,), AirflowSkipException(text))
    text = f"{reason}. {_advice(thresholds)} pass fallback_k or on_unsure='skip'."
    return Decision("failed", None, (text,), AirflowFailException(text))


def _too_low(result: SelectionResult, name: str, least: float | None) -> str:
    """Say by how much the choice misses a threshold, or return an empty text."""
    from compsil_kit._util.format import percent

    values = result.selection_probability if name == "min_probability" else result.confidence
    found = number(values[result._best_index])
    if least is None or (found is not None and found >= least):
        return ""
    shown = "unknown, and" if found is None else f"{percent(found)}, below"
    why = f" ({result.confidence_note})" if name == "min_confidence" and found is None else ""
    return f"the {THRESHOLDS[name]} of k = {result.best_k} is {shown} {name}={least:g}{why}"


def _advice(thresholds: Thresholds) -> str:
    """Say what would raise the numbers: more subsamples make another run agree, but no answer right."""
    more = (
        "Increase n_subsamples" if thresholds["min_confidence"] is None else "Look at the alternatives in the summary"
    )
    return f"{more}, or"
