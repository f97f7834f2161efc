"""The options of the command line; those of the engine are made from the definitions of its keywords."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from compsil_kit import __version__
from compsil_kit._config.parsing import parse_names
from compsil_kit._data.files.numeric import DECIMAL_MARKS, THOUSANDS_MARKS
from compsil_kit._data.files.readers import KINDS
from compsil_kit._util.checks import describe
from compsil_kit._util.format import did_you_mean, one_line, printable
from compsil_kit.config import CHOICE, ComparisonConfig, Events, SelectionConfig, Setting, TableConfig, settings_of

PROGRAM = "compsil-kit"
USAGE = 2
MOST_MESSAGE = 500
EXIT_CODES = "Exit codes: 0 done, 1 the selection failed, 2 wrong use or unusable data, 130 interrupted."
HELP = {
    "select": "select the number of clusters of a table",
    "compare": "compare the composite silhouette with the other criteria",
    "report": "write the selection into one HTML file",
    "demo": "select k on an embedded, imbalanced data set",
    "warmup": "compile the inner loops now, so that no run has to wait for it",
}
# The keywords of each command that computes, here or in a notebook.
TAKES: dict[str, tuple[type, ...]] = {
    "select": (SelectionConfig, Events),
    "compare": (ComparisonConfig, Events),
    "explore": (SelectionConfig,),
    "report": (SelectionConfig, Events),
}
SWITCH = "bool"
_COMPARE = Setting(SWITCH, None, bool, "Include the other criteria")
_QUIET = Setting(SWITCH, None, bool, "Show no progress bar", flags=("-q", "--quiet"))

# What argparse calls add_argument, of a parser or of a group of options.
Add = Callable[..., Any]
# From the name of an option and its text to its value.
Read = Callable[[str, str], Any]


def brief(message: str) -> str:
    """Return a message without the middle of long words that it quotes: its end is what to do."""
    return message if len(message) <= MOST_MESSAGE else f"{message[:250]} ... {message[-200:]}"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(USAGE, f"{PROGRAM}: error: {printable(brief(message))}\nTry '{self.prog} --help'.\n")


def make_parser(commands: Mapping[str, Callable[[argparse.Namespace], None]]) -> argparse.ArgumentParser:
    """Return the parser; each command's function is what it puts into ``run``."""
    parser = _Parser(prog=PROGRAM, description="How many clusters? Composite Silhouette on a table.")
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    choices = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name, run in commands.items():
        text = HELP[name]
        command = choices.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".", epilog=EXIT_CODES)
        command.set_defaults(run=run)
        for title, options in _grouped(options_of(name)).items():
            add = command.add_argument_group(title).add_argument
            if title == "data":
                _add_files(add, with_target=name == "report")
            add_options(add, options)
            if title == "data":
                _add_reading(add)
            if title == "output":
                _add_output(add, with_plot=name != "report")
    return parser


def options_of(command: str) -> dict[str, Setting]:
    """Return the options of a command by name; in place of the keyword of the progress bar there is a switch."""
    if command == "warmup":
        return {}
    if command not in TAKES:
        return {"quiet": _QUIET}
    found = {**settings_of(TableConfig), **settings_of(*TAKES[command], interactive=True)}
    if command == "compare":
        del found["checkpoint"]
    if command == "report":
        found["compare"] = _COMPARE
    if found.pop("progress", None):
        found["quiet"] = _QUIET
    return found


def _grouped(options: Mapping[str, Setting]) -> dict[str, dict[str, Setting]]:
    """Return options under the titles of a command's help."""
    own = [name for name in settings_of(ComparisonConfig) if name not in settings_of(SelectionConfig)]
    named = {"data": tuple(settings_of(TableConfig)), "choice": CHOICE, "criteria": tuple(own)}
    found: dict[str, dict[str, Setting]] = {title: {} for title in ("data", "method", "choice", "criteria", "output")}
    for name, keyword in options.items():
        other = "output" if keyword in (_COMPARE, _QUIET) else "method"
        title = next((title for title, names in named.items() if name in names), other)
        found[title][name] = keyword
    return {title: keywords for title, keywords in found.items() if keywords}


def add_options(add: Add, options: Mapping[str, Setting], read: Read | None = None) -> None:
    """Add options as their definitions say or, with their text read by ``read(name, text)``, without defaults."""
    for name, keyword in options.items():
        add(*flags_of(name, keyword), dest=name, **_specification(name, keyword, read))


def flags_of(name: str, keyword: Setting) -> tuple[str, ...]:
    """Return how a keyword is written on a line: its short form, and its name unless it has another long form."""
    long = any(flag.startswith("--") for flag in keyword.flags)
    return keyword.flags if long else (*keyword.flags, f"--{name.replace('_', '-')}")


def _specification(name: str, keyword: Setting, read: Read | None) -> dict[str, Any]:
    """Return what argparse is told of a keyword."""
    if keyword.is_switch:
        return {"action": "store_true", "help": keyword.help}
    # Distances in a file are read as a table, so they are points there.
    words = tuple(word for word in keyword.choices if word != "precomputed")
    spelled = keyword.help if name != "metric" else keyword.help.replace(" (", f": {', '.join(words)} (", 1)
    about = {"help": spelled, "metavar": keyword.metavar or f"{{{','.join(words)}}}"}
    if read is not None:
        return {**about, "type": partial(read, name)}
    # A right value that has no meaning here is for argparse to refuse.
    refused = {"choices": words} if words != keyword.choices else {}
    return {**about, **refused, "type": partial(_read, keyword), "default": keyword.default}


def _read(keyword: Setting, text: str) -> Any:
    """Read and check a value, so that a wrong one is told before the data are read."""
    with told(keyword, text):
        return keyword.validate(keyword.parse(text))


@contextmanager
def told(keyword: Setting, text: str, others: Iterable[str] = ()) -> Iterator[None]:
    """Let argparse tell that a text is refused, and the nearest of the keyword's words and of others that it may be."""
    try:
        yield
    except (ValueError, TypeError, OSError) as error:
        known = [*keyword.choices, *others]
        parts = [part.strip() for part in re.split("[:,]", text)]
        hint = did_you_mean([part for part in parts if part not in known], known)
        message = f"unknown value {describe(text)}." if hint and keyword.choices else one_line(error)
        raise argparse.ArgumentTypeError(message + hint) from error


def _add_files(add: Add, *, with_target: bool) -> None:
    kinds = f"a table ({', '.join(KINDS)}, also compressed); - reads CSV from standard input"
    add("data", metavar="FILE", help=f"{kinds}; or a folder, a glob in quotes or an address of Parquet files")
    if with_target:
        add("out", metavar="OUT.html", help="where to write the report")


def _add_reading(add: Add) -> None:
    """Add what says how a text file is written; what is not said is found out, and refused where it is not clear."""
    add("--exclude", type=parse_names, default=(), metavar="A,B,...", help="columns to leave out")
    add("--sep", metavar="CHARACTER", help="separator of a CSV file, such as ';' or tab (default: detected)")
    add("--decimal", choices=tuple(DECIMAL_MARKS), help="decimal mark of a CSV file (default: detected)")
    add(
        "--thousands", choices=THOUSANDS_MARKS, metavar="CHARACTER", help="mark between thousands, such as ',' in 1,234"
    )
    add("--encoding", metavar="NAME", help="encoding of a CSV file, such as windows-1252 (default: detected)")
    add(
        "--header", action=argparse.BooleanOptionalAction,
        help="whether the first line of a CSV file names the columns (default: detected)",
    )  # fmt: skip
    add("--na-values", type=parse_names, default=(), metavar="A,B,...", help="further texts that mean a missing value")


def _add_output(add: Add, *, with_plot: bool) -> None:
    add("--json", action="store_true", help="print the result as JSON instead of text")
    if with_plot:
        add("--plot", type=Path, metavar="OUT.png", help="also draw a picture into a file (.png, .svg, .pdf)")


def report_path(text: str | Path) -> Path:
    """Return where a report goes; its folder is made if it is missing."""
    target = Path(text)
    if target.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"OUT must name a .html file; got {str(target)!r}.")
    target.parent.mkdir(parents=True, exist_ok=True)
    return target
