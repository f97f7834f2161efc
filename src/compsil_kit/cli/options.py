"""The command-line options; engine options are derived from the settings in the config classes."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from compsil_kit import __version__
from compsil_kit._config.values import parse_names
from compsil_kit._data.files.numeric import DECIMAL_MARKS, THOUSANDS_MARKS
from compsil_kit._data.files.readers import KINDS
from compsil_kit._util.checks import describe
from compsil_kit._util.format import did_you_mean, one_line, printable
from compsil_kit.config import CHOICE, ComparisonConfig, SelectionConfig, Setting, TableConfig, settings_of
from compsil_kit.events import Events

PROGRAM = "compsil-kit"
USAGE = 2
MAX_MESSAGE_LENGTH = 500
EXIT_STATUS = "Exit status: 0 success, 1 failure, 2 usage error or unusable data, 130 interrupted."
HELP = {
    "select": "select the number of clusters for a table",
    "compare": "compare the composite silhouette with other criteria",
    "report": "select the number of clusters and write an HTML report",
    "demo": "run a selection on a generated, imbalanced data set",
    "warmup": "compile the inner loops ahead of time, to avoid the delay on the first run",
}
# The config classes of each command, on the command line or in a notebook.
CONFIGS: dict[str, tuple[type, ...]] = {
    "select": (SelectionConfig, Events),
    "compare": (ComparisonConfig, Events),
    "explore": (SelectionConfig,),
    "report": (SelectionConfig, Events),
}
_DATA_HELP = (
    f"table to read ({', '.join(KINDS)}; may be compressed), - for CSV on standard input, or a directory, quoted glob "
    "pattern or URL of Parquet files"
)
_COMPARE = Setting("bool", None, bool, "Add a comparison with other criteria")
_QUIET = Setting("bool", None, bool, "Hide the progress bar", flags=("-q", "--quiet"))
# The help group of each option.
_TITLES = {
    **dict.fromkeys(settings_of(TableConfig), "data"),
    **dict.fromkeys(settings_of(ComparisonConfig), "criteria"),
    **dict.fromkeys(settings_of(SelectionConfig, Events), "method"),
    **dict.fromkeys(CHOICE, "choice"),
    **dict.fromkeys(("compare", "quiet"), "output"),
}
# The add_argument method of a parser or an argument group.
Add = Callable[..., Any]


def shorten_middle(message: str) -> str:
    """Shorten a long message in the middle, because the end of a message explains how to fix the error."""
    return message if len(message) <= MAX_MESSAGE_LENGTH else f"{message[:250]} ... {message[-200:]}"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(USAGE, f"{PROGRAM}: error: {printable(shorten_middle(message))}\nTry '{self.prog} --help'.\n")


def make_parser(commands: Mapping[str, Callable[[argparse.Namespace], None]]) -> argparse.ArgumentParser:
    """Return the parser for all commands; ``run`` is set to the function of the chosen command."""
    parser = _Parser(prog=PROGRAM, description="Select the number of clusters for a table using Composite Silhouette.")
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    choices = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name, run in commands.items():
        text = HELP[name]
        command = choices.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".", epilog=EXIT_STATUS)
        command.set_defaults(run=run)
        options = options_of(name)
        for title in ("data", "method", "choice", "criteria", "output"):
            settings = {option: setting for option, setting in options.items() if _TITLES[option] == title}
            if not settings:
                continue
            add = command.add_argument_group(title).add_argument
            if title == "data":
                add("data", metavar="FILE", help=_DATA_HELP)
                if name == "report":
                    add("out", metavar="OUT.html", help="file to write the report to")
            add_options(add, settings)
            if title == "data":
                _add_csv_options(add)
            if title == "output":
                add("--json", action="store_true", help="print the result as JSON instead of text")
                if name != "report":
                    add("--plot", type=Path, metavar="OUT.png", help="also save the plot to a file (.png, .svg, .pdf)")
    return parser


def options_of(command: str) -> dict[str, Setting]:
    """Return the options of a command by name; the ``quiet`` switch replaces the ``progress`` setting."""
    if command == "warmup":
        return {}
    if command not in CONFIGS:
        return {"quiet": _QUIET}
    options = {**settings_of(TableConfig), **settings_of(*CONFIGS[command], interactive=True)}
    if command == "compare":
        del options["checkpoint"]
    if command == "report":
        options["compare"] = _COMPARE
    if options.pop("progress", None):
        options["quiet"] = _QUIET
    return options


def add_options(add: Add, options: Mapping[str, Setting], parse: Callable[[str, str], Any] | None = None) -> None:
    """Add an option for each setting; ``parse(name, text)``, if given, parses the values and disables the defaults."""
    for name, setting in options.items():
        add(*flags_of(name, setting), dest=name, **_argument(name, setting, parse))


def flags_of(name: str, setting: Setting) -> tuple[str, ...]:
    """Return the flags of a setting, and add a flag derived from its name if there is no long flag."""
    has_long = any(flag.startswith("--") for flag in setting.flags)
    return setting.flags if has_long else (*setting.flags, f"--{name.replace('_', '-')}")


def _argument(name: str, setting: Setting, parse: Callable[[str, str], Any] | None) -> dict[str, Any]:
    if setting.is_switch:
        return {"action": "store_true", "help": setting.help}
    # Omit precomputed, because a distance matrix in a file would be read as a table of points.
    words = tuple(word for word in setting.choices if word != "precomputed")
    text = setting.help if name != "metric" else setting.help.replace(" (", f": {', '.join(words)} (", 1)
    argument = {"help": text, "metavar": setting.metavar or f"{{{','.join(words)}}}"}
    if parse is not None:
        return {**argument, "type": partial(parse, name)}
    allowed = {"choices": words} if words != setting.choices else {}
    return {**argument, **allowed, "type": partial(_parse, setting), "default": setting.default}


def _parse(setting: Setting, text: str) -> Any:
    with usage_errors(setting, text):
        return setting.validate(setting.parse(text))


@contextmanager
def usage_errors(setting: Setting, text: str, names: Iterable[str] = ()) -> Iterator[None]:
    """Convert errors to argparse errors, and suggest the closest match among the setting's choices and ``names``."""
    try:
        yield
    except (ValueError, TypeError, OSError) as error:
        known = [*setting.choices, *names]
        parts = [part.strip() for part in re.split("[:,]", text)]
        hint = did_you_mean([part for part in parts if part not in known], known)
        message = f"unknown value {describe(text)}." if hint and setting.choices else one_line(error)
        raise argparse.ArgumentTypeError(message + hint) from error


def _add_csv_options(add: Add) -> None:
    add("--exclude", type=parse_names, default=(), metavar="A,B,...", help="columns to leave out")
    add("--sep", metavar="CHARACTER", help="separator of a CSV file, such as ';' or tab (default: detected)")
    decimal = "decimal mark of a CSV file, '.' or ',' (default: detected)"
    add("--decimal", choices=tuple(DECIMAL_MARKS), metavar="CHARACTER", help=decimal)
    thousands = "thousands separator of a CSV file, such as ',' in 1,234 (default: detected if unambiguous)"
    add("--thousands", choices=THOUSANDS_MARKS, metavar="CHARACTER", help=thousands)
    add("--encoding", metavar="NAME", help="encoding of a CSV file, such as windows-1252 (default: detected)")
    header = "whether the first line of a CSV file is a header (default: detected)"
    add("--header", action=argparse.BooleanOptionalAction, help=header)
    add(
        "--na-values",
        type=parse_names,
        default=(),
        metavar="A,B,...",
        help="additional strings to treat as missing values",
    )


def report_path(text: str | Path) -> Path:
    """Validate and return the path of a report, and create its folder."""
    return output_path("OUT", text, ".html", (".html", ".htm"))


def output_path(name: str, text: str | Path, kinds: str, endings: tuple[str, ...]) -> Path:
    """Check the extension of an output path before the computation, and create its folder."""
    path = Path(text)
    if path.suffix.lower() not in endings:
        raise ValueError(f"{name} must end in {kinds}; got {str(path)!r}.")
    path.parent.mkdir(parents=True, exist_ok=True)
    return path
