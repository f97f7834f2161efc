"""The summary of a selection for XCom: plain values for strict JSON, without trials, at most 16 KB."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from compsil_kit import SelectionResult

MOST_BYTES = 16 * 1024
# With more columns than this (embeddings), their names would fill the entry.
MOST_COLUMNS = 100
MOST_FAILURES = 10
MOST_BYTES_PER_SETTING = 400


def summarise(
    result: SelectionResult, k: int | None, notes: Sequence[str], settings: Mapping[str, Any], outcome: str = "accepted"
) -> dict[str, Any]:
    """Return the choice, the curve, and the settings and data they come from.

    ``best_k`` is what the task returns, None if it ends without a k.
    """
    from compsil_kit._util.format import format_ks

    plan, done = result.plan, result.preparation
    assert result._best_index is not None
    summary = {
        "best_k": k,
        "selected_k": int(result.best_k),
        "fell_back": k is not None and k != result.best_k,
        "outcome": outcome,
        "score": float(result.best_score),
        "criterion": result.criterion,
        "probability": number(result.selection_probability[result._best_index]),
        "confidence": number(result.confidence[result._best_index]),
        "confidence_none": number(result.confidence_none),
        "stability": number(result.stability[result._best_index]),
        "structure": _structure(result),
        "choices": {name: None if choice is None else int(choice) for name, choice in result.choices.items()},
        "curve": _curve(result),
        "explanation": result.explain(),
        "warnings": [*notes, *result.warnings],
        "settings": {name: plain_setting(value) for name, value in settings.items()},
        "plan": {
            **vars(plan),
            "ks": format_ks(plan.ks),
            "seeds": [plan.seeds[0], plan.seeds[-1]],
            "rule": result.rule,
            "z": result.z,
        },
        "columns": [] if done is None else list(done.columns[:MOST_COLUMNS]),
        "n_columns": plan.n_features,
        "scale": None if done is None else done.scale,
        "n_dropped": 0 if done is None else done.n_dropped,
        "n_failed": int(result.n_failed.sum()),
        "failures": [f"k={f.k}, subsample {f.subsample}: {f.cause[:200]}" for f in result.failures[:MOST_FAILURES]],
        "versions": dict(result.versions),
    }
    return _fitting(summary)


def _structure(result: SelectionResult) -> dict[str, Any] | None:
    """Return the outcome of the test for clusters; None if there was none."""
    from compsil_kit._result.records import dump

    plain = dump(result.structure)
    return plain and {"found": result.structure is not None and result.structure.found, **plain}


def plain_setting(value: Any) -> Any:
    """Return a setting as JSON has it: functions and estimators by name, long lists cut with "..." at the end."""
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, float):
        return number(value)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return value if len(value) <= MOST_BYTES_PER_SETTING else value[: MOST_BYTES_PER_SETTING - 3] + "..."
    if isinstance(value, Sequence):
        return _cut([plain_setting(item) for item in value[:MOST_BYTES_PER_SETTING]])
    return str(getattr(value, "__name__", type(value).__name__))


def _cut(items: list[Any]) -> list[Any]:
    if _size(items) <= MOST_BYTES_PER_SETTING:
        return items
    while _size(items) > MOST_BYTES_PER_SETTING:
        items = items[: len(items) * 3 // 4]
    return [*items, "..."]


def _curve(result: SelectionResult) -> list[dict[str, Any]]:
    """Return the curve as one entry per k, with numbers that JSON allows."""
    rows = result.curve.reset_index().to_dict("records")
    return [{str(name): number(value) for name, value in row.items()} for row in rows]


def number(value: Any) -> int | float | None:
    """Return a plain number, None where it is not finite."""
    plain = value.item() if hasattr(value, "item") else value
    return plain if math.isfinite(plain) else None


def _fitting(summary: dict[str, Any]) -> dict[str, Any]:
    """Drop details until the summary is small enough, and list in ``left_out`` what was dropped.

    Names of columns and causes of failures go first; of a very long curve the ks with the best scores are kept.
    """
    left_out: list[str] = []
    while _size({**summary, "left_out": left_out}) > MOST_BYTES:
        name = next((name for name in ("columns", "failures") if summary[name]), "curve")
        rows = summary[name]
        best = sorted(rows, key=_known_score, reverse=True)[: len(rows) // 2] if name == "curve" else []
        summary = {**summary, name: sorted(best, key=lambda row: row["k"])}
        left_out = [*left_out, name] if name not in left_out else left_out
        if name == "curve" and not best:
            break
    return {**summary, "left_out": left_out}


def _known_score(row: Mapping[str, Any]) -> float:
    """Return the score of a row of the curve, below all others where it is not known."""
    return -math.inf if row["score"] is None else float(row["score"])


def _size(value: Any) -> int:
    return len(json.dumps(value, allow_nan=False))
