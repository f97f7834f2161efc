"""The options of the command line, and how their values are read; the notebook's ``%compsil`` has the same ones."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from compsil_kit import __version__
from compsil_kit.criteria.compare import CRITERIA
from compsil_kit.data.readers import KINDS
from compsil_kit.data.table import MISSING, SCALERS
from compsil_kit.method.clusterers import NAMED
from compsil_kit.method.metrics import NAMES
from compsil_kit.method.plan import check_ks
from compsil_kit.method.selection import RULES
from compsil_kit.method.weights import TRANSFORMS
from compsil_kit.run.request import ON_FAILURE

PROGRAM = "compsil-kit"
USAGE = 2
EXIT_CODES = "Exit codes: 0 done, 1 the selection failed, 2 wrong use or unusable data, 130 interrupted."
# Distances in a file are read as a table, so they are points there.
METRICS = tuple(name for name in NAMES if name != "precomputed")
HELP = {
    "select": "select the number of clusters of a table",
    "compare": "put the composite silhouette beside the other criteria",
    "report": "write the selection into one HTML file",
    "demo": "select k on an embedded, imbalanced data set",
}

# What argparse calls add_argument, of a parser or of a group of options.
Add = Callable[..., Any]


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(USAGE, f"{PROGRAM}: error: {message}\nTry '{self.prog} --help'.\n")


def make_parser(commands: Mapping[str, Callable[[argparse.Namespace], None]]) -> argparse.ArgumentParser:
    """Return the parser; each command's function is what it puts into ``run``."""
    parser = _Parser(prog=PROGRAM, description="How many clusters? Composite Silhouette on a table.")
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    choices = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name, run in commands.items():
        text = HELP[name]
        command = choices.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".", epilog=EXIT_CODES)
        command.set_defaults(run=run)
        if name != "demo":
            data = command.add_argument_group("data").add_argument
            _add_files(data, with_target=name == "report")
            add_preparation(data)
            add_method(command.add_argument_group("method").add_argument)
        if name in ("select", "report"):
            add_choice(command.add_argument_group("choice").add_argument)
        if name == "compare":
            add_criteria(command.add_argument_group("criteria").add_argument)
        output = command.add_argument_group("output").add_argument
        _add_output(output, with_plot=name != "report", with_checkpoint=name in ("select", "report"))
    return parser


def _add_files(add: Add, *, with_target: bool) -> None:
    add("data", metavar="FILE", help=f"a table ({', '.join(KINDS)}, also compressed); - reads CSV from standard input")
    if with_target:
        add("out", metavar="OUT.html", help="where to write the report")
        add_comparison(add)


def add_comparison(add: Add) -> None:
    """Add what a report takes beside the options of a selection."""
    add("--compare", action="store_true", help="include the other criteria")


def add_preparation(add: Add, scales: Sequence[str] = (*SCALERS, "none"), scale: str = "standard") -> None:
    """Add the options that say what is done to the table before."""
    add("--columns", type=_words, metavar="A,B,...", help="columns to use (default: all numeric ones)")
    add("--scale", choices=scales, default=scale, help=f"how to scale columns (default: {scale})")
    add("--missing", choices=MISSING, default="raise",
        help="rows with missing values: refuse, or drop (default: raise)")  # fmt: skip


def add_method(add: Add, metrics: Sequence[str] = METRICS) -> None:
    """Add the options of every computation."""
    add("--ks", type=parse_ks, default=range(2, 11), metavar="2:10",
        help="candidate counts: 2:10 (both ends included), 2:20:2, or 2,3,5 (default: 2:10)")  # fmt: skip
    add("--clusterer", choices=tuple(NAMED), default="kmeans", help="default: kmeans")
    add("-B", "--n-subsamples", type=int, default=30, metavar="N", help="subsamples to score (default: 30)")
    add("--sample-size", type=_sample_size, default="auto", metavar="M",
        help="rows in a subsample, a fraction such as 0.5, or auto (default: auto)")  # fmt: skip
    add("--metric", choices=metrics, default="euclidean", metavar="NAME",
        help=f"distance of the silhouettes: {', '.join(metrics)} (default: euclidean)")  # fmt: skip
    add("--on-failure", choices=ON_FAILURE, default="raise",
        help="when a clustering fails: stop, or count it and go on (default: raise)")  # fmt: skip
    add("-j", "--n-jobs", type=int, metavar="N", help="workers; -1 for all cores (default: 1)")
    add("--seed", type=int, default=42, dest="random_state", metavar="N", help="random state (default: 42)")


def add_choice(add: Add) -> None:
    """Add the options that say how k is chosen from what was computed."""
    add("--transform", choices=tuple(TRANSFORMS), default="tanh", help="from discrepancy to weight (default: tanh)")
    add("--rule", choices=RULES, default="max", help="maximise the score or its lower bound (default: max)")
    add("--z", type=float, default=1.0, metavar="Z",
        help="standard errors below the score with --rule lcb (default: 1)")  # fmt: skip
    add("--n-calibration", type=int, default=0, metavar="N",
        help="further subsamples that only estimate the largest discrepancies (default: 0)")  # fmt: skip


def add_criteria(add: Add) -> None:
    """Add the options of a comparison."""
    add("--criteria", type=_criteria, default="all", metavar="A,B,...", help=f"all, or some of {', '.join(CRITERIA)}")
    add("--n-repeats", type=int, metavar="N", help="runs on all the data (default: as many as subsamples)")
    add("--n-references", type=int, default=20, metavar="N", help="reference sets of the gap statistic (default: 20)")


def _add_output(add: Add, *, with_plot: bool, with_checkpoint: bool) -> None:
    add("--json", action="store_true", help="print the result as JSON instead of text")
    if with_plot:
        add("--plot", type=Path, metavar="OUT.png", help="also draw a picture into a file (.png, .svg, .pdf)")
    if with_checkpoint:
        add_checkpoint(add)
    add_quiet(add)


def add_checkpoint(add: Add) -> None:
    """Add the option that makes a run continue where an earlier one ended."""
    add("--checkpoint", type=Path, metavar="FILE",
        help="keep finished subsamples in a file; the same command continues from it")  # fmt: skip


def add_quiet(add: Add) -> None:
    """Add the option that silences the progress bar."""
    add("-q", "--quiet", action="store_true", help="no progress bar")


def report_path(text: str | Path) -> Path:
    """Return where a report goes; its folder is made if it is missing."""
    target = Path(text)
    if target.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"OUT must name a .html file; got {str(target)!r}.")
    target.parent.mkdir(parents=True, exist_ok=True)
    return target


def parse_ks(text: str) -> tuple[int, ...]:
    """Read ``2:10`` (both ends included), ``2:20:2``, or ``2,3,5``."""
    try:
        if ":" in text:
            start, stop, *step = (int(word) for word in text.split(":"))
            counts = list(range(start, stop + 1, *step))
        else:
            counts = [int(word) for word in text.split(",")]
    except (ValueError, TypeError) as error:
        raise argparse.ArgumentTypeError(f"must look like 2:10, 2:20:2 or 2,3,5; got {text!r}") from error
    try:
        return check_ks(counts)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _criteria(text: str) -> str | list[str]:
    return "all" if text == "all" else _words(text)


def _sample_size(text: str) -> str | int | float:
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            continue
    return text
