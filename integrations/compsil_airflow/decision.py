"""Whether a choice is sure enough to be handed on, and what to do if not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compsil_airflow.compat import AirflowFailException
from compsil_airflow.xcom import number

if TYPE_CHECKING:
    from compsil_kit import SelectionResult


def check_threshold(min_probability: float | None, fallback_k: int | None) -> None:
    """Refuse, before the work, a threshold or a fallback that cannot be used."""
    from compsil_kit.util.checks import check_integer, check_real

    if min_probability is not None:
        check_real("min_probability", min_probability, low=0.0, high=1.0)
    if fallback_k is not None:
        check_integer("fallback_k", fallback_k, minimum=2)
        if min_probability is None:
            raise ValueError("fallback_k needs min_probability, below which it is used.")


def decide(result: SelectionResult, min_probability: float | None, fallback_k: int | None) -> tuple[int, list[str]]:
    """Return k*, or the fallback with a note that says so; without a fallback a choice that is not sure fails."""
    k, sure = int(result.best_k), number(result.probability[result.best_index])
    if min_probability is None or (sure is not None and sure >= min_probability):
        return k, []
    wins = "an unknown share" if sure is None else f"{sure:.0%}"
    reason = f"a new run would choose k = {k} {wins} of the time, less than min_probability={min_probability:g}"
    if fallback_k is None:
        raise AirflowFailException(f"{reason}. Take more subsamples, or name a fallback_k.")
    return fallback_k, [f"{reason}: fallback_k={fallback_k} is handed on instead."]
