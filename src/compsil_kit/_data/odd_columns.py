"""Columns that look as if they should not be clustered: constant ones, copies, identifiers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compsil_kit._util.format import listed

Array = NDArray[Any]

_ID_NAME = re.compile(r"(?i:(?:^|[_\W])(?:id|uuid|guid|key|index|rownum|row_number)$|^unnamed: 0$)|(?<=[a-z])I[Dd]$")


def odd_columns(names: Sequence[str], matrix: Array, numbers: Array | None = None) -> list[str]:
    """Say which columns are constant, repeat another one, or look like row numbers.

    ``numbers`` are those of the rows, if the matrix has but some of a table.
    """
    numbers = np.arange(len(matrix)) if numbers is None else numbers
    columns = list(matrix.T)
    constant = [at for at, column in enumerate(columns) if (column == column[0]).all()]
    first: dict[bytes, int] = {}
    repeated = []
    for at, column in enumerate(columns):
        # A digest, as the columns themselves would fill the memory anew; + 0.0 because -0.0 has other bytes than 0.0.
        twin = first.setdefault(blake2b((column + 0.0).tobytes()).digest(), at)
        if twin != at and at not in constant:
            repeated.append(f"{names[at]!r} repeats {names[twin]!r}, whose values then count twice")
    constants = [names[at] for at in constant]
    ids = [names[at] for at, column in enumerate(columns) if _is_id(names[at], column, numbers)]
    found = [
        *([f"{listed(constants, 'is', 'are')} constant, without influence on the clusters"] if constants else []),
        *repeated,
        *([f"{listed(ids, 'looks', 'look')} like an identifier, which would distort the clusters"] if ids else []),
    ]
    return [f"column {text}. To exclude columns, pass columns=[...]." for text in found]


def _is_id(name: str, column: Array, numbers: Array) -> bool:
    """Tell whether a column looks like an identifier: distinct whole numbers, those of the rows or named so."""
    if len(column) < 20 or not np.all(column == np.floor(column)):
        return False
    if np.array_equal(np.diff(column), np.diff(numbers)):
        return True
    return bool(_ID_NAME.search(name)) and bool(np.all(np.diff(np.sort(column)) > 0))
