"""Decide whether k* is accepted, and summarise a selection for XCom as strict JSON of at most 16 KB."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

if TYPE_CHECKING:
    from compsil_kit import SelectionResult

OnUnsure = Literal["fail", "skip", "fallback"]
# Maps the name of a threshold parameter to the lowest accepted value.
Thresholds = Mapping[str, float | None]
THRESHOLDS = {"min_probability": "selection probability", "min_confidence": "confidence"}
MAX_BYTES = 16 * 1024
# All column names of a wide table, such as embeddings, would make the summary too long.
MAX_COLUMNS = 100
MAX_FAILURES = 10
MAX_BYTES_PER_SETTING = 400


@dataclass(frozen=True)
class Decision:
    """The k to return, or None and the exception to raise after the results are stored."""

    outcome: str
    k: int | None
    notes: tuple[str, ...] = ()
    error: Exception | None = None


def check_thresholds(thresholds: Thresholds, fallback_k: int | None, on_unsure: str | None) -> None:
    """Raise for invalid values or combinations of the thresholds, ``fallback_k`` and ``on_unsure``."""
    from compsil_kit.adapters import check_choice, check_integer, check_real

    given = [name for name, value in thresholds.items() if value is not None]
    for name in given:
        check_real(name, thresholds[name], low=0.0, high=1.0)
    if fallback_k is not None:
        check_integer("fallback_k", fallback_k, minimum=2)
    if on_unsure is not None:
        check_choice("on_unsure", on_unsure, get_args(OnUnsure))
    for name, value in (("fallback_k", fallback_k), ("on_unsure", on_unsure)):
        if value is not None and not given:
            raise ValueError(f"{name} requires {' or '.join(THRESHOLDS)}, below which it applies.")
    if on_unsure is not None and (on_unsure == "fallback") != (fallback_k is not None):
        raise ValueError("on_unsure='fallback' and fallback_k must be used together. Pass both or neither.")


def decide(result: SelectionResult, thresholds: Thresholds, fallback_k: int | None, on_unsure: str | None) -> Decision:
    """Accept k*, or decide to fail, skip or fall back because its probability or confidence is too low."""
    # Imported here so that the fuzz tests can check summaries without Airflow.
    from compsil_airflow.compat import AirflowFailException, AirflowSkipException

    k = int(result.best_k)
    reasons = [reason for name, threshold in thresholds.items() if (reason := _below(result, name, threshold))]
    if not reasons:
        return Decision("accepted", k)
    reason = ", and ".join(reasons)
    if fallback_k is not None:
        return Decision("fallback", fallback_k, (f"{reason}; fallback_k={fallback_k} is returned instead.",))
    if on_unsure == "skip":
        text = f"{reason}; the task is skipped."
        return Decision("skipped", None, (text,), AirflowSkipException(text))
    # More subsamples can raise the selection probability, but not the confidence.
    advice = "Increase n_subsamples" if thresholds["min_confidence"] is None else "See the alternatives in the summary"
    text = f"{reason}. {advice}, or pass fallback_k or on_unsure='skip'."
    return Decision("failed", None, (text,), AirflowFailException(text))


def _below(result: SelectionResult, name: str, threshold: float | None) -> str:
    """Return the reason why k* does not meet a threshold, or an empty string if it does."""
    from compsil_kit.adapters import percent

    found = plain_number(result.curve.loc[result.best_k, name.removeprefix("min_")])
    if threshold is None or (found is not None and found >= threshold):
        return ""
    shown = "unknown and does not meet" if found is None else f"{percent(found)}, below"
    why = f" ({result.confidence_note})" if name == "min_confidence" and found is None else ""
    return f"the {THRESHOLDS[name]} of k = {result.best_k} is {shown} {name}={threshold:g}{why}"


def summarise(result: SelectionResult, decision: Decision, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the selected k, the curve, the settings and the data preparation as plain values, without the trials.

    ``best_k`` is the return value of the task, or None.
    """
    from compsil_kit.adapters import format_ks

    plan, preparation, structure = result.plan, result.preparation, result.structure
    curve = _curve(result)
    best = next(row for row in curve if row["k"] == result.best_k)
    summary = {
        "best_k": decision.k,
        "selected_k": int(result.best_k),
        "fell_back": decision.k is not None and decision.k != result.best_k,
        "outcome": decision.outcome,
        "score": float(result.best_score),
        "criterion": result.criterion,
        "probability": best["probability"],
        "confidence": best["confidence"],
        "confidence_none": plain_number(result.confidence_none),
        "stability": best["stability"],
        "structure": None if structure is None else {"found": structure.found, **asdict(structure)},
        "choices": {name: None if choice is None else int(choice) for name, choice in result.choices.items()},
        "curve": curve,
        "explanation": result.explain(),
        "warnings": [*decision.notes, *result.warnings],
        "settings": {name: short_setting(value) for name, value in settings.items()},
        "plan": {
            **plan.to_dict(),
            "ks": format_ks(plan.ks),
            "seeds": [plan.seeds[0], plan.seeds[-1]],
            "rule": result.rule,
            "z": result.z,
        },
        "columns": [] if preparation is None else list(preparation.columns[:MAX_COLUMNS]),
        "n_columns": plan.n_features,
        "scale": None if preparation is None else preparation.scale,
        "n_dropped": 0 if preparation is None else preparation.n_dropped,
        "n_failed": int(result.n_failed.sum()),
        "failures": [f"k={f.k}, subsample {f.subsample}: {f.cause[:200]}" for f in result.failures[:MAX_FAILURES]],
        "versions": dict(result.versions),
    }
    return shorten_summary(summary)


def _curve(result: SelectionResult) -> list[dict[str, Any]]:
    """Return one entry per k; values that strict JSON does not allow become None."""
    rows = result.curve.reset_index().to_dict("records")
    return [{str(name): plain_number(value) for name, value in row.items()} for row in rows]


def short_setting(value: Any) -> Any:
    """Return a setting; long strings and lists are cut and end with "..."."""
    if isinstance(value, str):
        return value if len(value) <= MAX_BYTES_PER_SETTING else value[: MAX_BYTES_PER_SETTING - 3] + "..."
    if not isinstance(value, list):
        return value
    items = [short_setting(item) for item in value[:MAX_BYTES_PER_SETTING]]
    if _size(items) <= MAX_BYTES_PER_SETTING:
        return items
    while _size(items) > MAX_BYTES_PER_SETTING:
        items = items[: len(items) * 3 // 4]
    return [*items, "..."]


def plain_number(value: Any) -> int | float | None:
    """Return a plain Python number, or None if the value is not finite."""
    plain = value.item() if hasattr(value, "item") else value
    return plain if math.isfinite(plain) else None


def shorten_summary(summary: dict[str, Any]) -> dict[str, Any]:
    """Drop details until the summary is small enough; ``left_out`` lists the names of the shortened entries.

    Column names and causes of failures are dropped first. If the curve is still too long, only the values of k with the
    best scores are kept.
    """
    left_out: list[str] = []
    while _size({**summary, "left_out": left_out}) > MAX_BYTES:
        name = next((name for name in ("columns", "failures") if summary[name]), "curve")
        rows = summary[name]
        best = sorted(rows, key=_score_or_lowest, reverse=True)[: len(rows) // 2] if name == "curve" else []
        summary = {**summary, name: sorted(best, key=lambda row: row["k"])}
        left_out = [*left_out, name] if name not in left_out else left_out
        if name == "curve" and not best:
            break
    return {**summary, "left_out": left_out}


def _score_or_lowest(row: Mapping[str, Any]) -> float:
    return -math.inf if row["score"] is None else float(row["score"])


def _size(value: Any) -> int:
    return len(json.dumps(value, allow_nan=False))
