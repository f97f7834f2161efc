"""Fuzz data in memory: DataFrames with unusual dtypes and duplicate names, arrays, lists, and other tables."""

from __future__ import annotations

from contextlib import suppress
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import polars
import pyarrow
from hypothesis import strategies as st
from scipy import sparse

from compsil_kit import prepare, select_k
from fuzz.judge import require
from fuzz.records import check_result
from fuzz.target import Target

KINDS = (
    "float64", "float32", "float16", "int64", "uint64", "uint8", "bool", "object", "category", "datetime64[ns]",
    "complex128", "timedelta64[s]", "Int64", "Float32", "boolean", "string", "Sparse[float64]", "int64[pyarrow]",
    "decimal128(38, 2)[pyarrow]",
)  # fmt: skip
FORMS = ("frame", "frame", "frame", "array", "list", "masked", "sparse", "polars", "arrow", "series")
CELLS = (
    0, 1, 2, -1, 3.5, -0.0, 1e308, -1e308, 1e-320, 2**53 + 1, 2**63, 10**40, 10**400, True, None, "x", "1.5", "",
    "\u0663", float("nan"), float("inf"), [1], {"a": 1}, "2026-01-01", 255, 256, 1e39,
)  # fmt: skip
NAMES = ("a", "a", "id", "", "b c", 0, 1.5, None, "x" * 300, "<b>\n", ["t", "u"])


def _frame(columns: list[Any]) -> pd.DataFrame:
    made = []
    for kind, cells in columns:
        column = pd.Series(cells, dtype=object)
        # Keep columns that cannot be converted, because they are also hostile input.
        with suppress(Exception):
            column = column.astype(kind)
        made.append(column)
    return pd.concat(made, axis=1) if made else pd.DataFrame()


def _in_form(frame: pd.DataFrame, form: str) -> Any:
    """Convert the table to another form; return the DataFrame if the conversion fails."""
    array, plain = frame.to_numpy(), frame.set_axis([str(at) for at in range(frame.shape[1])], axis=1)
    forms = {
        "array": lambda: array,
        "list": array.tolist,
        "masked": lambda: np.ma.masked_equal(array, 1),
        "sparse": lambda: sparse.csr_array(array.astype(np.float64)),
        "polars": lambda: polars.from_pandas(plain),
        "arrow": lambda: pyarrow.Table.from_pandas(plain),
        "series": lambda: frame.iloc[:, 0],
    }
    with suppress(Exception):
        return forms[form]()
    return frame


def _check(given: Any) -> None:
    frame = _frame(given["columns"])
    names = [tuple(name) if isinstance(name, list) else name for name in given["names"]]
    frame.columns = pd.Index(names[: frame.shape[1]], dtype=object, tupleize_cols=False)
    ks: dict[str, Any] = {"ks": (2, 3), "n_subsamples": 3}
    if given["form"] != "frame":
        check_result(select_k(_in_form(frame, given["form"]), **ks))
        return
    table = prepare(frame, **given["keywords"])
    require(np.isfinite(table.matrix).all(), "a prepared matrix is finite")
    require(
        table.matrix.shape == (table.kept.sum(), len(table.preparation.columns)),
        "the matrix has the kept rows and columns",
    )
    require(len(table.kept) == len(frame) == len(table.raw), "every row is kept or dropped")
    check_result(select_k(table, **ks))


_names = st.lists(st.sampled_from(NAMES), min_size=4, max_size=4)
_keywords: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "scale": st.sampled_from(["standard", "robust", "minmax", None, "none", 3]),
        "missing": st.sampled_from(["raise", "drop", "drop", None]),
        "columns": st.sampled_from([None, "a", ["a"], [["t", "u"]], [0], 1.5, [], ["no"], [[]], {"a": 1}]),
    },
)


@st.composite
def _frames(draw: st.DrawFn) -> dict[str, Any]:
    n_rows = draw(st.integers(0, 12))
    tame = st.integers(-5, 5) | st.floats(-5, 5)
    cell = draw(st.sampled_from([tame, tame | st.sampled_from(CELLS), st.sampled_from(CELLS), st.floats() | tame]))
    column = st.tuples(st.sampled_from(KINDS), st.lists(cell, min_size=n_rows, max_size=n_rows))
    return {
        "columns": draw(st.lists(column, max_size=4)),
        "names": draw(_names),
        "form": draw(st.sampled_from(FORMS)),
        "keywords": draw(_keywords),
    }


def _damaged(random: Random) -> dict[str, Any]:
    """Return a table with three plain columns and a few hostile cells."""
    columns: list[Any] = [("float64", [random.gauss(9.0 * (at % 3), 1) for at in range(12)]) for _ in range(3)]
    for _ in range(random.choice((1, 1, 2, 5))):
        at = random.randrange(3)
        columns[at][1][random.randrange(12)] = random.choice(CELLS)
        columns[at] = (random.choice(KINDS), columns[at][1])
    names = random.choices(NAMES, k=3)
    return {"columns": columns, "names": names, "form": random.choice(FORMS), "keywords": {"missing": "drop"}}


TARGETS = (Target("frame", _check, _frames(), _damaged),)
