"""The ``compsil-kit`` commands, such as ``compsil-kit select data.csv``: load data, run the engine, print results."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from compsil_kit._criteria.compare import compare
from compsil_kit._data.dataset import PreparedTable
from compsil_kit._data.files.detect import CsvOptions
from compsil_kit._data.files.readers import read_file, reject_options
from compsil_kit._data.sources.parquet import is_parquet, open_parquet
from compsil_kit._data.sources.table import SourceTable
from compsil_kit._data.table import load_data, prepare
from compsil_kit._method.warmup import cache_folders, warm_up
from compsil_kit._show.html import write
from compsil_kit._util.format import one_line
from compsil_kit.cli.options import PROGRAM, USAGE, make_parser, output_path, report_path, shorten_middle
from compsil_kit.config import ComparisonConfig, SelectionConfig, TableConfig, interactive_defaults, settings_of
from compsil_kit.datasets import imbalanced_blobs
from compsil_kit.errors import ROWS_READ, ClusteringError, Interrupted, SelectionError
from compsil_kit.events import Events
from compsil_kit.select import select_k

if TYPE_CHECKING:
    from compsil_kit._criteria.comparison import Comparison
    from compsil_kit.result import SelectionResult

OK, FAILED, INTERRUPTED = 0, 1, 130
_FAILURES = (ClusteringError, SelectionError, MemoryError)
# The options that describe the format of a CSV file.
CSV_OPTIONS = tuple(field.name for field in fields(CsvOptions))


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; return 0 on success, 1 on failure, 2 for usage errors or unusable data, and 130 if interrupted."""
    arguments = make_parser(COMMANDS).parse_args(argv)
    # None shows a progress bar in a terminal.
    arguments.progress = False if getattr(arguments, "quiet", False) else None
    try:
        if getattr(arguments, "plot", None):
            output_path("--plot", arguments.plot, ".png, .svg or .pdf", (".png", ".svg", ".pdf"))
        arguments.run(arguments)
    except Interrupted as stop:
        # A checkpoint stores subsamples only, so an interrupted pass over the rows cannot be resumed.
        checkpoint = getattr(arguments, "checkpoint", None) if stop.unit != ROWS_READ else None
        _print_error(stop.summary + (f"; run the same command again to resume from {checkpoint}" if checkpoint else ""))
        if stop.result is not None:
            _print(stop.result, arguments)
        return INTERRUPTED
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # A reader such as head has closed the pipe. Redirect output, so that Python does not print an error at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except (*_FAILURES, ValueError, TypeError, OSError, ImportError) as error:
        _print_error(one_line(error))
        return FAILED if isinstance(error, _FAILURES) else USAGE
    return OK


def _print_error(text: str) -> None:
    print(f"{PROGRAM}: error: {shorten_middle(text)}", file=sys.stderr)


def _select(arguments: argparse.Namespace, X: Any = None) -> None:
    result = _run_selection(arguments, _load(arguments) if X is None else X)
    _print(result, arguments)
    _save_plot(result, arguments)


def _compare(arguments: argparse.Namespace) -> None:
    # Some criteria need all rows in memory.
    table = load_data(_load(arguments))
    comparison = _run_comparison(arguments, table)
    _print(comparison, arguments)
    if not arguments.json and table.preparation is not None:
        print("".join(f"Note: {note}\n" for note in table.preparation.notes), end="", flush=True)
    _save_plot(comparison, arguments, (8.4, 0.5 * len(comparison.criteria) + 1.4))


def _report(arguments: argparse.Namespace) -> None:
    target = report_path(arguments.out)
    table = _load(arguments)
    result = _run_selection(arguments, table)
    write(result, target, _run_comparison(arguments, table) if arguments.compare else None)
    _print(result, arguments)
    if not arguments.json:
        print(f"\nReport: {target}")


def _demo(arguments: argparse.Namespace) -> None:
    if not arguments.json:
        print("2,300 generated points: two large, loose clusters and three small, tight ones. How many clusters?\n")
    _select(arguments, imbalanced_blobs()[0])


def _warm_up(_: argparse.Namespace) -> None:
    print("Compiling the inner loops. This is needed once per machine and may take a minute.", flush=True)
    seconds = 0.0
    for name, compiled, duration in warm_up():
        seconds += compiled * duration
        print(f"  {name}: {f'{duration:.1f} s' if compiled else 'already compiled'}", flush=True)
    done = f"Done in {seconds:.1f} s." if seconds else "Nothing to compile."
    print(done, "The compiled code is stored in", flush=True)
    print("".join(f"  {folder}\n" for folder in cache_folders()), end="", flush=True)


COMMANDS = {"select": _select, "compare": _compare, "report": _report, "demo": _demo, "warmup": _warm_up}


def _load(arguments: argparse.Namespace) -> PreparedTable | SourceTable:
    options = CsvOptions(**{name: getattr(arguments, name) for name in CSV_OPTIONS})
    data: Any
    if is_parquet(arguments.data):
        # Parquet data can be larger than memory, so do not load them yet.
        reject_options(arguments.data, options)
        data = open_parquet(arguments.data, exclude=arguments.exclude)
    else:
        data, layout = read_file(arguments.data, options, columns=arguments.columns, exclude=arguments.exclude)
        if layout is not None and not (arguments.json and (arguments.quiet or layout.is_plain)):
            name = "standard input" if arguments.data == "-" else arguments.data
            print(f"Read {name}: {layout}", file=sys.stderr if arguments.json else sys.stdout, flush=True)
    table: PreparedTable | SourceTable = prepare(data, **_settings(arguments, TableConfig))
    if not arguments.json:
        print(f"Data: {table.preparation}\n", flush=True)
    return table


def _settings(arguments: argparse.Namespace, *configs: type) -> dict[str, Any]:
    return {name: getattr(arguments, name) for name in settings_of(*configs) if hasattr(arguments, name)}


def _run_selection(arguments: argparse.Namespace, table: Any) -> SelectionResult:
    # The demo command has no method options, so start with the defaults.
    settings = interactive_defaults(SelectionConfig) | _settings(arguments, SelectionConfig, Events)
    return select_k(table, **settings)


def _run_comparison(arguments: argparse.Namespace, table: Any) -> Comparison:
    return compare(table, **_settings(arguments, ComparisonConfig), progress=arguments.progress)


def _print(found: SelectionResult | Comparison, arguments: argparse.Namespace) -> None:
    if arguments.json:
        print(json.dumps(found.to_dict(), allow_nan=False), flush=True)
    else:
        print(f"{found!r}\n\n{found.explain()}", flush=True)


def _save_plot(
    found: SelectionResult | Comparison, arguments: argparse.Namespace, size: tuple[float, float] = (7.2, 4.2)
) -> None:
    if arguments.plot is None:
        return
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    found.plot(ax=figure.subplots())
    figure.savefig(arguments.plot, dpi=150)
    if not arguments.json:
        print(f"\nPlot: {arguments.plot}", flush=True)
