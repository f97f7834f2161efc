"""Profiles of the clusters of a frame: size, mean, standard deviation and silhouette."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from compsil_kit import PreparedTable, silhouettes
from compsil_kit.adapters import describe


def align(labels: Any, frame: pd.DataFrame) -> pd.Series[Any]:
    """Return labels on the frame's index, one per row; NA is allowed."""
    if isinstance(labels, str) or not hasattr(labels, "__len__"):
        raise TypeError(f"labels must contain one label per row, as a Series or an array; got {describe(labels)}.")
    if isinstance(labels, pd.Series) and not labels.index.equals(frame.index):
        raise ValueError("labels must have the index of the frame. Pass a Series with this index, or an array.")
    if len(labels) != len(frame):
        raise ValueError(f"labels must contain one label for each of the {len(frame)} rows; got {len(labels)}.")
    if isinstance(labels, pd.Series):
        return labels
    # pandas arrays keep their dtype: NumPy would convert integers with NA to floats.
    is_pandas = isinstance(labels, pd.api.extensions.ExtensionArray)
    return pd.Series(labels if is_pandas else np.asarray(labels), frame.index)


def profile(table: PreparedTable, labels: pd.Series[Any], metric: Any) -> pd.DataFrame:
    """Describe each cluster in the original units; silhouettes are computed on the scaled columns."""
    known = labels.notna().to_numpy() & table.kept
    codes, names = pd.factorize(labels[known], sort=True)
    if len(names) < 2:
        raise ValueError(f"labels must contain at least 2 clusters; got {len(names)}.")
    scores = silhouettes(table.matrix[known[table.kept]], codes, metric=metric)
    assert not isinstance(scores, list)
    sizes = np.bincount(codes)
    summary = {"size": sizes, "share": sizes / sizes.sum(), "silhouette": scores.per_cluster}
    parts = [pd.DataFrame(summary, index=pd.Index(names, name="cluster"))]
    values = table.raw[known].astype("float64")
    groups = values.set_axis(range(values.shape[1]), axis=1).groupby(codes)
    keys = ["cluster"]
    for at, name in enumerate(table.preparation.columns):
        parts.append(
            pd.DataFrame({"mean": groups[at].mean().to_numpy(), "std": groups[at].std().to_numpy()}, parts[0].index)
        )
        keys.append(name)
    return pd.concat(parts, axis=1, keys=keys)
