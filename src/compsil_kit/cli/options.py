"""The options of the command line; those of the engine are made from the definitions of its keywords."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

from compsil_kit import __version__
from compsil_kit.data.numerals import DECIMALS, GROUPS
from compsil_kit.data.readers import KINDS
from compsil_kit.settings.keywords import (
    ChoiceKeywords,
    CompareKeywords,
    CriteriaKeywords,
    Keyword,
    SelectKeywords,
    TableKeywords,
    keywords_of,
)
from compsil_kit.settings.reading import read_names
from compsil_kit.util.format import one_line, printable

PROGRAM = "compsil-kit"
USAGE = 2
MOST_MESSAGE = 400
EXIT_CODES = "Exit codes: 0 done, 1 the selection failed, 2 wrong use or unusable data, 130 interrupted."
HELP = {
    "select": "select the number of clusters of a table",
    "compare": "compare the composite silhouette with the other criteria",
    "report": "write the selection into one HTML file",
    "demo": "select k on an embedded, imbalanced data set",
}
# The keywords of each command that computes; the progress bar is ruled by --quiet.
TAKES = {"select": SelectKeywords, "report": SelectKeywords, "compare": CompareKeywords}

# What argparse calls add_argument, of a parser or of a group of options.
Add = Callable[..., Any]


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        # argparse quotes what was given, however long that is.
        short = message if len(message) <= MOST_MESSAGE else f"{message[: MOST_MESSAGE - 3]}..."
        self.exit(USAGE, f"{PROGRAM}: error: {printable(short)}\nTry '{self.prog} --help'.\n")


def make_parser(commands: Mapping[str, Callable[[argparse.Namespace], None]]) -> argparse.ArgumentParser:
    """Return the parser; each command's function is what it puts into ``run``."""
    parser = _Parser(prog=PROGRAM, description="How many clusters? Composite Silhouette on a table.")
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    choices = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name, run in commands.items():
        text = HELP[name]
        command = choices.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".", epilog=EXIT_CODES)
        command.set_defaults(run=run)
        if name in TAKES:
            data = command.add_argument_group("data").add_argument
            _add_files(data, with_target=name == "report")
            add_keywords(data, keywords_of(TableKeywords))
            _add_reading(data)
            for title, group in grouped(TAKES[name]).items():
                add_keywords(command.add_argument_group(title).add_argument, group)
        _add_output(command.add_argument_group("output").add_argument, with_plot=name != "report")
    return parser


def grouped(group: type) -> dict[str, dict[str, Keyword]]:
    """Return the keywords of a command under the titles of its help; the progress bar has an option of its own."""
    found: dict[str, dict[str, Keyword]] = {"method": {}, "choice": {}, "criteria": {}}
    for name, keyword in keywords_of(group).items():
        if name != "progress":
            title = "choice" if name in keywords_of(ChoiceKeywords) else "method"
            found["criteria" if name in keywords_of(CriteriaKeywords) else title][name] = keyword
    return {title: keywords for title, keywords in found.items() if keywords}


def add_keywords(add: Add, keywords: Mapping[str, Keyword]) -> None:
    """Add an option for each keyword."""
    for name, keyword in keywords.items():
        add(*flags_of(name, keyword), dest=name, **specification(name, keyword))


def flags_of(name: str, keyword: Keyword) -> tuple[str, ...]:
    """Return how a keyword is written on a line: its short form, and its name unless it has another long form."""
    long = any(flag.startswith("--") for flag in keyword.flags)
    return keyword.flags if long else (*keyword.flags, f"--{name.replace('_', '-')}")


def specification(name: str, keyword: Keyword) -> dict[str, Any]:
    """Return what argparse is told of a keyword."""
    # Distances in a file are read as a table, so they are points there.
    words = tuple(word for word in keyword.choices if word != "precomputed")
    spelled = keyword.help if name != "metric" else keyword.help.replace(" (", f": {', '.join(words)} (", 1)
    shown = {"choices": words} if words else {"type": _typed(keyword)}
    metavar = {"metavar": keyword.metavar} if keyword.metavar else {}
    return {"default": keyword.default, "help": spelled, **shown, **metavar}


def _typed(keyword: Keyword) -> Callable[[str], Any]:
    """Return a reader that also checks, so that a wrong value is told before the data are read."""

    def convert(text: str) -> Any:
        try:
            return keyword.check(keyword.read(text))
        except (ValueError, OSError) as error:
            raise argparse.ArgumentTypeError(one_line(error)) from error

    return convert


def _add_files(add: Add, *, with_target: bool) -> None:
    add("data", metavar="FILE", help=f"a table ({', '.join(KINDS)}, also compressed); - reads CSV from standard input")
    if with_target:
        add("out", metavar="OUT.html", help="where to write the report")
        add("--compare", action="store_true", help="include the other criteria")


def _add_reading(add: Add) -> None:
    """Add what says how a text file is written; what is not said is found out, and refused where it is not clear."""
    add("--exclude", type=read_names, default=(), metavar="A,B,...", help="Columns to leave out.")
    add("--sep", metavar="CHARACTER", help="Separator of a CSV file, such as ';' or tab. Found out if not given.")
    add("--decimal", choices=tuple(DECIMALS), help="Decimal mark of a CSV file. Found out if not given.")
    add("--thousands", choices=GROUPS, metavar="CHARACTER", help="Mark between thousands, such as ',' in 1,234.")
    add("--encoding", metavar="NAME", help="Encoding of a CSV file, such as windows-1252. Found out if not given.")
    add(
        "--header", action=argparse.BooleanOptionalAction,
        help="Whether the first line of a CSV file names the columns. Found out if not given.",
    )  # fmt: skip
    add("--na-values", type=read_names, default=(), metavar="A,B,...", help="Further texts that mean a missing value.")


def _add_output(add: Add, *, with_plot: bool) -> None:
    add("--json", action="store_true", help="print the result as JSON instead of text")
    if with_plot:
        add("--plot", type=Path, metavar="OUT.png", help="also draw a picture into a file (.png, .svg, .pdf)")
    add("-q", "--quiet", action="store_true", help="no progress bar")


def report_path(text: str | Path) -> Path:
    """Return where a report goes; its folder is made if it is missing."""
    target = Path(text)
    if target.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"OUT must name a .html file; got {str(target)!r}.")
    target.parent.mkdir(parents=True, exist_ok=True)
    return target
