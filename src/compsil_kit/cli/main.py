"""The command line: ``compsil-kit select data.csv``. It calls the engine and prints what comes back."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compsil_kit._criteria.compare import compare
from compsil_kit._data.dataset import Dataset, PreparedTable
from compsil_kit._data.files.detect import CsvOptions
from compsil_kit._data.files.readers import read_file, reject_options
from compsil_kit._data.given import load_data
from compsil_kit._data.sources.parquet import is_parquet, open_parquet
from compsil_kit._data.sources.source import Source
from compsil_kit._data.sources.table import SourceTable
from compsil_kit._data.table import prepare
from compsil_kit._method.warmup import cache_folders, warm_up
from compsil_kit._show.report import write
from compsil_kit._util.format import one_line
from compsil_kit.cli.options import PROGRAM, USAGE, brief, make_parser, report_path
from compsil_kit.config import (
    ComparisonConfig,
    Events,
    SelectionConfig,
    TableConfig,
    interactive_defaults,
    settings_of,
)
from compsil_kit.datasets import imbalanced_blobs
from compsil_kit.errors import ROWS_READ, ClusteringError, Interrupted, SelectionError
from compsil_kit.select import select_k

if TYPE_CHECKING:
    import pandas as pd

    from compsil_kit._criteria.comparison import Comparison
    from compsil_kit.result import SelectionResult

OK, FAILED, INTERRUPTED = 0, 1, 130
# How a text file is written, as the options say it.
READING = ("sep", "decimal", "encoding", "header", "thousands", "na_values")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0 done, 1 failed, 2 wrong use or data, 130 interrupted."""
    arguments = make_parser(COMMANDS).parse_args(argv)
    try:
        arguments.run(arguments)
    except Interrupted as stop:
        # Of rows that were read, nothing is kept.
        kept = getattr(arguments, "checkpoint", None) if stop.unit != ROWS_READ else None
        _complain(stop.summary + (f"; the same command continues from {kept}" if kept else ""))
        if stop.result is not None:
            _print(stop.result, arguments)
        return INTERRUPTED
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader (head, less) has gone; a good tool goes quietly, and keeps Python from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except (ClusteringError, SelectionError, MemoryError) as error:
        _complain(one_line(error))
        return FAILED
    except (ValueError, TypeError, OSError, ImportError) as error:
        _complain(one_line(error))
        return USAGE
    return OK


def _complain(text: str) -> None:
    print(f"{PROGRAM}: error: {brief(text)}", file=sys.stderr)


def _load(arguments: argparse.Namespace) -> PreparedTable | SourceTable:
    options = CsvOptions(**{name: getattr(arguments, name) for name in READING})
    found = _open(arguments, options) if is_parquet(arguments.data) else _read(arguments, options)
    table = prepare(found, **_settings(arguments, TableConfig))
    if not arguments.json:
        print(f"Data: {table.preparation}\n", flush=True)
    return table


def _open(arguments: argparse.Namespace, options: CsvOptions) -> Source:
    """Return Parquet data unread: they may be larger than memory."""
    reject_options(arguments.data, options)
    return open_parquet(arguments.data, exclude=arguments.exclude)


def _read(arguments: argparse.Namespace, options: CsvOptions) -> pd.DataFrame:
    frame, layout = read_file(arguments.data, options, columns=arguments.columns, exclude=arguments.exclude)
    if layout is not None and not (arguments.json and (arguments.quiet or layout.is_plain)):
        shown = "standard input" if arguments.data == "-" else arguments.data
        print(f"Read {shown}: {layout}", file=sys.stderr if arguments.json else sys.stdout, flush=True)
    return frame


def _settings(arguments: argparse.Namespace, *configs: type) -> dict[str, Any]:
    """Return the settings for which the command has options."""
    return {name: getattr(arguments, name) for name in settings_of(*configs) if hasattr(arguments, name)}


def _progress(arguments: argparse.Namespace) -> dict[str, Any]:
    return {"progress": False if arguments.quiet else None}


def _run_selection(arguments: argparse.Namespace, table: PreparedTable | SourceTable) -> SelectionResult:
    return select_k(table, **_settings(arguments, SelectionConfig, Events), **_progress(arguments))


def _run_comparison(arguments: argparse.Namespace, table: Dataset | SourceTable) -> Comparison:
    return compare(table, **_settings(arguments, ComparisonConfig), **_progress(arguments))


def _select(arguments: argparse.Namespace) -> None:
    _check_plot(arguments.plot)
    result = _run_selection(arguments, _load(arguments))
    _print(result, arguments)
    _save_plot(arguments, result.plot)


def _compare(arguments: argparse.Namespace) -> None:
    _check_plot(arguments.plot)
    # Other criteria look at all rows.
    table = load_data(_load(arguments))
    found = _run_comparison(arguments, table)
    _print(found, arguments)
    if not arguments.json and table.preparation is not None:
        print("".join(f"Note: {note}\n" for note in table.preparation.notes), end="", flush=True)
    _save_plot(arguments, found.plot, (8.4, 0.5 * len(found.criteria) + 1.4))


def _report(arguments: argparse.Namespace) -> None:
    target = report_path(arguments.out)
    table = _load(arguments)
    result = _run_selection(arguments, table)
    write(result, target, _run_comparison(arguments, table) if arguments.compare else None)
    _print(result, arguments)
    if not arguments.json:
        print(f"\nReport: {target}")


def _demo(arguments: argparse.Namespace) -> None:
    _check_plot(arguments.plot)
    if not arguments.json:
        print("2,300 generated points: two large, loose clusters and three small, tight ones. How many clusters?\n")
    result = select_k(imbalanced_blobs()[0], **interactive_defaults(SelectionConfig), **_progress(arguments))
    _print(result, arguments)
    _save_plot(arguments, result.plot)


def _warm_up(_: argparse.Namespace) -> None:
    print("Compiling what is not compiled yet, once on this machine; this may take a minute.", flush=True)
    parts = []
    for part in warm_up():
        parts.append(part)
        print(f"  {part.name}: {f'{part.seconds:.1f} s' if part.compiled else 'was there already'}", flush=True)
    seconds = sum(part.seconds for part in parts if part.compiled)
    print(f"Done in {seconds:.1f} s." if seconds else "There was nothing to do.", "The compiled code is in", flush=True)
    print("".join(f"  {folder}\n" for folder in cache_folders()), end="", flush=True)


COMMANDS = {"select": _select, "compare": _compare, "report": _report, "demo": _demo, "warmup": _warm_up}


def _print(found: SelectionResult | Comparison, arguments: argparse.Namespace) -> None:
    if arguments.json:
        print(json.dumps(found.to_dict(), allow_nan=False), flush=True)
    else:
        print(f"{found!r}\n\n{found.explain()}", flush=True)


def _check_plot(path: Path | None) -> None:
    """Refuse an impossible plot before the work, not after it."""
    if path is None:
        return
    if path.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise ValueError(f"--plot must name a .png, .svg or .pdf file; got {str(path)!r}.")
    path.parent.mkdir(parents=True, exist_ok=True)


def _save_plot(arguments: argparse.Namespace, draw: Callable[..., Any], size: tuple[float, float] = (7.2, 4.2)) -> None:
    from matplotlib.figure import Figure

    if arguments.plot is None:
        return
    figure = Figure(figsize=size, layout="constrained")
    draw(ax=figure.subplots())
    figure.savefig(arguments.plot, dpi=150)
    if not arguments.json:
        print(f"\nPlot: {arguments.plot}", flush=True)
