"""Whether the selection probability is high enough, and what the task does if it is not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from compsil_airflow.compat import AirflowFailException, AirflowSkipException
from compsil_airflow.xcom import number

if TYPE_CHECKING:
    from compsil_kit import SelectionResult

FAIL, SKIP, FALLBACK = ON_UNSURE = ("fail", "skip", "fallback")


@dataclass(frozen=True)
class Decision:
    """The k to return, or None and the exception that ends the task once its results are stored."""

    outcome: str
    k: int | None
    notes: tuple[str, ...] = ()
    stop: Exception | None = None


def check_threshold(min_probability: float | None, fallback_k: int | None, on_unsure: str | None) -> None:
    """Refuse a threshold, a fallback or an action that cannot be used."""
    from compsil_kit.util.checks import check_choice, check_integer, check_real

    if min_probability is not None:
        check_real("min_probability", min_probability, low=0.0, high=1.0)
    if fallback_k is not None:
        check_integer("fallback_k", fallback_k, minimum=2)
        if min_probability is None:
            raise ValueError("fallback_k requires min_probability, below which it is used.")
    if on_unsure is None:
        return
    check_choice("on_unsure", on_unsure, ON_UNSURE)
    if min_probability is None:
        raise ValueError("on_unsure requires min_probability, below which it applies.")
    if (on_unsure == FALLBACK) != (fallback_k is not None):
        raise ValueError("on_unsure='fallback' and fallback_k belong together: pass both, or neither.")


def decide(
    result: SelectionResult, min_probability: float | None, fallback_k: int | None, on_unsure: str | None
) -> Decision:
    """Accept k*, or say what happens instead because the selection probability is too low."""
    from compsil_kit.util.format import percent

    k, probability = int(result.best_k), number(result.probability[result.best_index])
    if min_probability is None or (probability is not None and probability >= min_probability):
        return Decision("accepted", k)
    found = "unknown, and" if probability is None else f"{percent(probability)}, below"
    reason = f"the selection probability of k = {k} is {found} min_probability={min_probability:g}"
    if fallback_k is not None:
        return Decision("fallback", fallback_k, (f"{reason}; fallback_k={fallback_k} is returned instead.",))
    if on_unsure == SKIP:
        text = f"{reason}; the task is skipped."
        return Decision("skipped", None, (text,), AirflowSkipException(text))
    text = f"{reason}. Increase n_subsamples, or pass fallback_k or on_unsure='skip'."
    return Decision("failed", None, (text,), AirflowFailException(text))
