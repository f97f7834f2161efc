"""What scikit-learn reads of an estimator: its parameters, and the column names of its input."""

from __future__ import annotations

from typing import Any

from compsil_kit._data.dataset import Dataset


class Parameter:
    """A parameter that scikit-learn reads by ``get_params``, but that is not an attribute of the estimator.

    scikit-learn treats every object with an attribute ``transform`` as a transformer: pipelines would call it.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        raise AttributeError(f"{self._name!r} is a parameter, not a method: read get_params()[{self._name!r}].")

    def __set__(self, instance: object, value: Any) -> None:
        instance.__dict__[self._name] = value


def with_names(X: Any, table: Dataset) -> Any:
    """Return X in a form in which scikit-learn finds the number and the names of the columns."""
    if hasattr(X, "iloc"):
        return X
    if table.preparation is None:
        return table.matrix
    import pandas as pd

    return pd.DataFrame(table.matrix, columns=list(table.preparation.columns), copy=False)
