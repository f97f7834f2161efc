"""Fuzz files with tables: valid and damaged CSV, Parquet, Feather, JSON Lines and compressed files."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from compsil_kit import prepare
from compsil_kit._data.files.detect import CsvOptions
from compsil_kit._data.files.readers import read_table
from fuzz.judge import require
from fuzz.mutate import mutated
from fuzz.target import Target

FRAME = pd.DataFrame(
    {"größe": [1.5, -2.25, 1e6, 4.0], "b": [10, 20, 30, 40], "word": list("xyzx"), "gap": [0.5, None, 2.5, 3.5]}
)
TEXTS = (
    FRAME.to_csv(index=False), FRAME.to_csv(index=False, sep=";", decimal=","), FRAME.to_csv(sep="\t"),
    FRAME.to_csv(index=False, header=False), "# made by a program\n# 2026\na;b\n1,5;2\n2,5;3\n", "a,b\n1,2,\n3,4,\n",
    'a,b\n"1,234.5","7"\n"2,345.5","8"\n', 'a;"b;""c"""\r\n1;2\r\n"3";4\r\n', "x\n1\n2\n3\n", "1.234,5;2\n3.456,7;4\n",
)  # fmt: skip
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "windows-1252", "utf-16-le")
TYPED = (".parquet", ".feather", ".jsonl", ".csv.gz", ".csv.zip", ".csv.xz", ".csv.bz2")
OPTIONS: Mapping[str, tuple[Any, ...]] = {
    "sep": (",", ";", "\t", "tab", "|", " ", "ab"), "decimal": (".", ","), "header": (True, False),
    "encoding": (*ENCODINGS, "utf-7", "no", "hex"), "thousands": (",", ".", "'", " "),
    "na_values": (["x"], ["1.5", ""]), "columns": (["b"], ["no"]), "exclude": (["b"], ["no"]),
}  # fmt: skip


def _read(name: str, content: bytes, options: Mapping[str, Any]) -> pd.DataFrame:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        chosen = {name: options[name] for name in ("columns", "exclude") if name in options}
        written = {name: value for name, value in options.items() if name not in chosen}
        return read_table(str(path), CsvOptions(**written), **chosen)


def _check_any(given: Any) -> None:
    """Read an arbitrary file, and prepare the table."""
    frame = _read(given["name"], given["content"], given["options"])
    require(isinstance(frame, pd.DataFrame), "the table is a frame")
    table = prepare(frame, missing="drop")
    require(np.isfinite(table.matrix).all(), "a prepared matrix is finite")


def _check_written(given: Any) -> None:
    """Read a well-formed file, for which there is exactly one correct table."""
    rows, names, sep, decimal = given["rows"], given["names"], given["sep"], given["decimal"]
    lines = [names] * given["header"] + [[_spelled(value, decimal) for value in row] for row in rows]
    content = given["newline"].join(sep.join(_quoted(cell, sep) for cell in line) for line in [*lines, []])
    options = {"sep": sep, "decimal": decimal, "encoding": given["encoding"], "header": given["header"]}
    frame = _read("t.csv", content.encode(given["encoding"]), options if given["explicit"] else {})
    known = given["explicit"] or (given["header"] and len(names) > 1)
    if not known or all(row[-1] is None for row in rows):
        # The separator in a file with one column, and trailing separators, are ambiguous.
        return
    require(frame.shape == (len(rows), len(names)), "the table has the shape that was written")
    expected = np.array([[np.nan if value is None else value for value in row] for row in rows], dtype=np.float64)
    require(
        np.array_equal(frame.to_numpy(np.float64), expected, equal_nan=True),
        "the table has the values that were written",
    )
    if given["header"] and given["explicit"]:
        require(list(frame.columns) == names, "the columns have the names that were written")


def _spelled(value: float | None, decimal: str) -> str:
    return "" if value is None else repr(value).replace(".", decimal)


def _quoted(cell: str, sep: str) -> str:
    return '"' + cell.replace('"', '""') + '"' if any(char in cell for char in (sep, '"', "\n", "\r")) else cell


@st.composite
def _written(draw: st.DrawFn) -> dict[str, Any]:
    width = draw(st.integers(1, 4))
    number = st.integers(-(10**9), 10**9) | st.floats(-1e9, 1e9).map(lambda value: round(value, 3))
    cell = number if width == 1 else number | st.none()
    names = st.text('abzü ;,."\u20ac', min_size=1, max_size=5).map(lambda text: f"n{text}n")
    sep = draw(st.sampled_from([",", ";", "\t", "|"]))
    return {
        "rows": draw(st.lists(st.lists(cell, min_size=width, max_size=width), min_size=1, max_size=6)),
        "names": draw(st.lists(names, min_size=width, max_size=width, unique=True)),
        "sep": sep,
        "decimal": draw(st.sampled_from([".", ","] if sep != "," else ["."])),
        "encoding": draw(st.sampled_from(ENCODINGS[:4])),
        "newline": draw(st.sampled_from(["\n", "\r\n"])),
        "header": draw(st.booleans()),
        "explicit": draw(st.booleans()),
    }


def _options(random: Random) -> dict[str, Any]:
    return {name: random.choice(OPTIONS[name]) for name in random.sample(list(OPTIONS), random.choice((0, 0, 1, 2)))}


def _damaged_text(random: Random) -> dict[str, Any]:
    encoding = random.choice(ENCODINGS) if random.random() < 0.4 else "utf-8"
    seeds = [text.encode(encoding) for text in TEXTS]
    name = random.choice(("t.csv", "t.csv", "t.tsv"))
    return {"name": name, "content": mutated(seeds, random), "options": _options(random)}


@cache
def _typed_files() -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        paths = {ending: Path(folder) / f"t{ending}" for ending in TYPED}
        FRAME.to_parquet(paths[".parquet"])
        FRAME.to_feather(paths[".feather"])
        FRAME.to_json(paths[".jsonl"], orient="records", lines=True)
        for ending in TYPED[3:]:
            FRAME.to_csv(paths[ending], index=False)
        return {ending: path.read_bytes() for ending, path in paths.items()}


def _damaged_file(random: Random) -> dict[str, Any]:
    ending = random.choice(TYPED)
    options = {} if random.random() < 0.8 else _options(random)
    return {"name": f"t{ending}", "content": mutated([_typed_files()[ending]], random), "options": options}


_cells = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.lists(st.integers(), max_size=2)
)
_records = st.lists(st.dictionaries(st.text("ab\u20ac", max_size=2), _cells, max_size=3), max_size=5)


def _json_lines(rows: list[dict[str, Any]]) -> dict[str, Any]:
    import json

    return {"name": "t.jsonl", "content": "\n".join(map(json.dumps, rows)).encode(), "options": {}}


TARGETS = (
    Target(
        "text", lambda given: _check_written(given) if "rows" in given else _check_any(given), _written(), _damaged_text
    ),
    Target("file", _check_any, _records.map(_json_lines), _damaged_file),
)
