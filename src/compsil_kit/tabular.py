"""From a table with all kinds of columns to a numeric matrix: which columns, which rows, on which scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

from compsil_kit._checks import check_choice

if TYPE_CHECKING:
    import pandas as pd

SCALERS: dict[str, Any] = {"standard": StandardScaler, "robust": RobustScaler, "minmax": MinMaxScaler}
MISSING = ("raise", "drop")


@dataclass(frozen=True)
class Prepared:
    """A numeric frame ready for clustering, and what was done to get there."""

    frame: pd.DataFrame
    left_out: tuple[str, ...]
    n_dropped: int


def prepare(frame: pd.DataFrame, *, columns: Sequence[str] | None, scale: str | None, missing: str) -> Prepared:
    """Choose the columns, treat missing values, and scale."""
    check_choice("missing", missing, MISSING)
    if scale is not None:
        check_choice("scale", scale, tuple(SCALERS))
    chosen = _choose(frame, columns)
    left_out = tuple(str(name) for name in frame.columns if name not in chosen.columns)
    kept = chosen.dropna() if missing == "drop" else chosen
    if kept.empty:
        raise ValueError("the data has no rows left after dropping those with missing values.")
    _check_complete(kept)
    if scale is not None:
        kept = kept.astype("float64")
        kept[:] = SCALERS[scale]().fit_transform(kept.to_numpy())
    return Prepared(kept, left_out, len(frame) - len(kept))


def _choose(frame: pd.DataFrame, columns: Sequence[str] | None) -> pd.DataFrame:
    numeric = frame.select_dtypes(include=["number", "bool"])
    if columns is None:
        if numeric.shape[1] == 0:
            raise ValueError("the data has no numeric column. Encode columns as numbers first.")
        return numeric
    unknown = [name for name in columns if name not in frame.columns]
    if unknown:
        known = ", ".join(str(name) for name in frame.columns)
        raise ValueError(f"columns: {', '.join(map(repr, unknown))} not in the data, whose columns are {known}.")
    wrong = [name for name in columns if name not in numeric.columns]
    if wrong:
        raise ValueError(
            f"columns: {', '.join(map(repr, wrong))} not numeric. Leave out, or encode as numbers first "
            "(pandas.get_dummies turns categories into 0/1 columns)."
        )
    return frame[list(columns)]


def _check_complete(frame: pd.DataFrame) -> None:
    counts = frame.isna().sum()
    holes = {str(name): int(n) for name, n in counts.items() if n}
    if holes:
        where = ", ".join(f"{name!r} ({n})" for name, n in holes.items())
        raise ValueError(
            f"missing values in {where}. Leave such rows out (missing='drop'; --missing drop on the command line), "
            "or fill them first."
        )
