"""Fuzz user input: keyword values as strings and as Python objects, command lines, and lines for the magic."""

from __future__ import annotations

import io
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterable
from contextlib import chdir, redirect_stderr, redirect_stdout
from functools import partial
from random import Random
from typing import Any
from unittest.mock import patch

import pandas as pd
from hypothesis import strategies as st

from compsil_jupyter.magic_line import complete, parse_line, read_columns
from compsil_kit import compare, select_k
from compsil_kit._config.setting import parse_setting
from compsil_kit.cli import main as cli
from compsil_kit.config import ComparisonConfig, SelectionConfig, TableConfig, settings_of
from compsil_kit.events import Events
from fuzz.judge import require
from fuzz.mutate import mutated
from fuzz.target import Target

SELECTION = settings_of(SelectionConfig)
KEYWORDS = settings_of(TableConfig, SelectionConfig, ComparisonConfig, Events)
SPELLED = (
    "2:10", "2:20:2", "2,3,5", "[2, 3]", "range(2, 9)", "auto", "0.5", "12", "-1", "none", "all", "gap,micro", "a,b",
    '["a, b"]', "kmeans", "manhattan", "tanh", "lcb", "skip", "standard", "drop",
)  # fmt: skip
FILE = "t.csv"
TABLE = "a,b\n" + "".join(f"{at % 3}.5,{at * at % 7}\n" for at in range(12))
LINES = (
    "select t.csv -k 2:3 --n-subsamples 3 --json -q", "select t.csv --ks 2,3 --rule lcb --z 2 --transform step -q",
    "select - --sep ; --decimal , --encoding utf-8 --header --na-values x -q", "compare t.csv --criteria micro,gap -q",
    "report t.csv out.html --compare --n-subsamples 3 -q", "select t.csv --columns a --exclude b --scale none",
    "select t.csv --checkpoint c.json --seed 1,2,3 --n-subsamples 3 -j 2 -q", "select --help", "--version",
    "select t.csv --plot p.svg --n-calibration 2 --missing drop --clusterer gmm --metric cosine --on-failure skip",
)  # fmt: skip
MAGIC = (
    "df", "df[['a', 'b']] --ks 2:kmax -o best", "compare df --criteria micro,gap", "report df 'out.html' --compare",
    "explore X --scale none", 'df --columns "b c",a --seed none # why', "select (-X) --sample-size 0.5 -j 2", "df --ru",
)  # fmt: skip
NAMES: dict[str, Any] = {
    "df": pd.DataFrame({"a": [1.0], "b c": [2.0], 3: [0.5], '"': [1.0]}), "kmax": 5, "X": pd.Series([1.0]), "report": 1,
}  # fmt: skip
WORK = ("n_subsamples", "n_calibration", "n_repeats", "n_references")
MAX_WORK = 3

texts = st.text(st.characters(), max_size=30) | st.text("0123456789:,.-+e_[]() rangenoutl\"'\u0663", max_size=20)
numbers = st.integers() | st.sampled_from([10**400, -(2**63), 2**32, 2]) | st.floats() | st.floats(0, 1)
scalars = st.none() | st.booleans() | numbers | texts | st.sampled_from(SPELLED)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=3), max_leaves=8
)


def damaged_text(lines: tuple[str, ...], random: Random) -> str:
    """Return a damaged line; invalid UTF-8 is decoded as in command-line arguments."""
    return mutated([line.encode() for line in lines], random).decode("utf-8", "surrogateescape")


def _check_spelled(given: Any) -> None:
    name, text = given
    keyword = KEYWORDS[name]
    if name != "checkpoint":
        found = keyword.validate(parse_setting(name, keyword, text))
        _check_kept(name, found)


def _check_given(given: Any) -> None:
    config = SelectionConfig.from_dict(given)
    for name in SELECTION:
        _check_kept(name, getattr(config, name))


def _check_kept(name: str, value: Any) -> None:
    if name == "ks":
        ks = list(value)
        require(ks == sorted(set(ks)) and ks[0] >= 2, "ks are ascending and at least 2")
    if name in WORK and value is not None:
        require(isinstance(value, int) and value >= 0, f"{name} is a count")
    if name == "z":
        require(0 <= value <= 1e6, "z is within its bounds")


def _bounded(function: Callable[..., Any], table: Any, **given: Any) -> Any:
    """Call with limited work, that is, with few candidates, subsamples, repetitions and seeds."""
    small = {name: min(given[name], MAX_WORK) for name in WORK if isinstance(given.get(name), int)}
    lists = {
        name: list(given[name])[:MAX_WORK] for name in ("ks", "random_state") if isinstance(given.get(name), Iterable)
    }
    return function(table, **{**given, **small, **lists})


def _check_command(words: Any) -> None:
    """Run a command line, which must end with a documented exit code and a short error message."""
    # Write only to the case's folder.
    if any("/" in word for word in words) or "demo" in words:
        return
    # Raise encoding errors, as a pipe does.
    out, errors = (io.TextIOWrapper(io.BytesIO(), "utf-8", policy) for policy in ("strict", "backslashreplace"))
    stdin = io.TextIOWrapper(io.BytesIO(TABLE.replace(",", ";").encode()))
    with tempfile.TemporaryDirectory() as folder, chdir(folder), redirect_stdout(out), redirect_stderr(errors):
        with open(FILE, "w") as file:
            file.write(TABLE)
        with (
            patch.object(sys, "stdin", stdin),
            patch.object(cli, "select_k", partial(_bounded, select_k)),
            patch.object(cli, "compare", partial(_bounded, compare)),
            patch.dict(os.environ, {"COLUMNS": "100"}),
        ):
            code = _exit_code(words)
    printed, message = (_written(stream) for stream in (out, errors))
    require(code in (0, 1, 2), "the exit code is 0, 1 or 2")
    if code:
        require("compsil-kit: error: " in message, "a failure has a message")
        require(max(map(len, message.splitlines())) < 600 and "Traceback" not in message, "an error message is short")
    elif "--json" in words and "--help" not in words:
        json.loads(printed, parse_constant=lambda name: require(False, f"{name} in the JSON"))


def _exit_code(words: list[str]) -> Any:
    try:
        return cli.main(words)
    except SystemExit as stop:
        return stop.code
    except Exception as error:  # noqa: BLE001  (main must not raise)
        require(False, f"main raised {type(error).__name__}: {error}")


def _written(stream: io.TextIOWrapper) -> str:
    stream.flush()
    return stream.detach().getvalue().decode()  # type: ignore[attr-defined, no-any-return]


def _check_line(given: Any) -> None:
    line, in_cell = given["content"], given["in_cell"]
    fragment, words = complete(line, NAMES)
    require(line.endswith(fragment), "the completed fragment is at the end of the line")
    require(all(isinstance(word, str) and word for word in words), "completions are words")
    with redirect_stdout(io.StringIO()):
        command, parts, options = parse_line(line, NAMES, in_cell=in_cell)
    require(all(isinstance(part, str) for part in parts), "data and file are text")
    require(command in ("select", "compare", "explore", "report"), "the command is known")
    if "columns" in options:
        read_columns(options["columns"], NAMES["df"], NAMES)


_word = st.sampled_from([*(word for line in LINES for word in line.split()), *SPELLED]) | texts
_lines = st.lists(st.sampled_from(" ".join(MAGIC).split()) | texts, max_size=8).map(" ".join)

_commands = st.tuples(st.sampled_from(["select", "compare", "report"]), st.just(FILE), st.lists(_word, max_size=9))
_given = st.dictionaries(st.sampled_from([*SELECTION, "kss"]), values, max_size=3)

TARGETS = (
    Target(
        "keywords", _check_spelled, st.tuples(st.sampled_from(list(KEYWORDS)), texts | st.sampled_from(SPELLED)),
        lambda random: (random.choice(list(KEYWORDS)), damaged_text(SPELLED, random)),
    ),
    Target(
        "values", _check_given, _given,
        lambda random: {random.choice(list(KEYWORDS)): damaged_text(SPELLED, random)},
    ),
    Target(
        "command", _check_command, _commands.map(lambda drawn: [*drawn[:2], *drawn[2]]),
        lambda random: damaged_text(tuple("\n".join(line.split()) for line in LINES), random).split("\n"),
    ),
    Target(
        "magic", _check_line, st.fixed_dictionaries({"content": _lines, "in_cell": st.booleans()}),
        lambda random: {"content": damaged_text(MAGIC, random), "in_cell": random.random() < 0.3},
    ),
)  # fmt: skip
