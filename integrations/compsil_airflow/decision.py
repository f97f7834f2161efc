"""Whether the selection probability is high enough, and what to return if it is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compsil_airflow.compat import AirflowFailException
from compsil_airflow.xcom import number

if TYPE_CHECKING:
    from compsil_kit import SelectionResult


def check_threshold(min_probability: float | None, fallback_k: int | None) -> None:
    """Refuse a threshold or a fallback that cannot be used."""
    from compsil_kit.util.checks import check_integer, check_real

    if min_probability is not None:
        check_real("min_probability", min_probability, low=0.0, high=1.0)
    if fallback_k is not None:
        check_integer("fallback_k", fallback_k, minimum=2)
        if min_probability is None:
            raise ValueError("fallback_k requires min_probability, below which it is used.")


def decide(result: SelectionResult, min_probability: float | None, fallback_k: int | None) -> tuple[int, list[str]]:
    """Return k*, or the fallback with a warning; fail if the selection probability is too low and there is none."""
    from compsil_kit.util.format import percent

    k, probability = int(result.best_k), number(result.probability[result.best_index])
    if min_probability is None or (probability is not None and probability >= min_probability):
        return k, []
    if probability is None:
        reason = f"the selection probability of k = {k} is unknown, and min_probability={min_probability:g}"
    else:
        reason = (
            f"the selection probability of k = {k} is {percent(probability)}, below min_probability={min_probability:g}"
        )
    if fallback_k is None:
        raise AirflowFailException(f"{reason}. Increase n_subsamples, or pass fallback_k.")
    return fallback_k, [f"{reason}; fallback_k={fallback_k} is returned instead."]
