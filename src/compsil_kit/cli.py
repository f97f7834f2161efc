"""The command line: ``compsil-kit select data.csv``. It parses, calls the engine, and prints what comes back."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from compsil_kit import __version__, api, request, tabular
from compsil_kit.cluster import NAMED
from compsil_kit.datasets import imbalanced_blobs
from compsil_kit.errors import ClusteringError, Interrupted, SelectionError
from compsil_kit.metrics import NAMES
from compsil_kit.plan import check_ks
from compsil_kit.selection import RULES
from compsil_kit.weights import TRANSFORMS

if TYPE_CHECKING:
    import pandas as pd

    from compsil_kit.result import SelectionResult

PROGRAM = "compsil-kit"
OK, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0 done, 1 failed, 2 wrong use or data, 130 interrupted."""
    arguments = _parser().parse_args(argv)
    try:
        return int(arguments.run(arguments))
    except Interrupted as stop:
        _complain(str(stop).partition(";")[0])
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
        _complain(str(error))
        return FAILED
    except (ValueError, TypeError, OSError, ImportError) as error:
        _complain(_one_line(error))
        return USAGE


def _complain(text: str) -> None:
    print(f"{PROGRAM}: error: {text}", file=sys.stderr)


def _one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split())


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(USAGE, f"{PROGRAM}: error: {message}\nTry '{self.prog} --help'.\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog=PROGRAM, description="How many clusters? Composite Silhouette on a table.")
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    select = commands.add_parser(
        "select",
        help="select the number of clusters of a CSV or Parquet file",
        description="Select the number of clusters of a CSV or Parquet file: prints the table and the explanation.",
        epilog="Exit codes: 0 done, 1 the selection failed, 2 wrong use or unusable data, 130 interrupted.",
    )
    select.set_defaults(run=_select)
    _add_data_options(select)
    _add_method_options(select)
    _add_output_options(select)

    demo = commands.add_parser("demo", help="select k on an embedded, imbalanced data set")
    demo.set_defaults(run=_demo)
    _add_output_options(demo)
    return parser


def _add_data_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("data")
    group.add_argument(
        "data",
        metavar="FILE",
        help="a .csv, .tsv or .parquet file (also .csv.gz and the like); - reads CSV from standard input",
    )
    group.add_argument("--columns", type=_words, metavar="A,B,...", help="columns to use (default: all numeric ones)")
    group.add_argument(
        "--scale",
        choices=(*tabular.SCALERS, "none"),
        default="standard",
        help="how to scale columns (default: standard)",
    )
    group.add_argument(
        "--missing",
        choices=tabular.MISSING,
        default="raise",
        help="rows with missing values: refuse them, or drop them (default: raise)",
    )


def _add_method_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("method")
    group.add_argument(
        "--ks",
        type=parse_ks,
        default=range(2, 11),
        metavar="2:10",
        help="candidate counts: 2:10 (both ends included), 2:20:2, or 2,3,5 (default: 2:10)",
    )
    group.add_argument("--clusterer", choices=tuple(NAMED), default="kmeans", help="default: kmeans")
    group.add_argument(
        "-B", "--n-subsamples", type=int, default=30, metavar="N", help="subsamples to score (default: 30)"
    )
    group.add_argument(
        "--sample-size",
        type=_sample_size,
        default="auto",
        metavar="M",
        help="rows in a subsample, a fraction such as 0.5, or auto (default: auto)",
    )
    group.add_argument(
        "--metric",
        choices=tuple(name for name in NAMES if name != "precomputed"),
        default="euclidean",
        metavar="NAME",
        help="distance of the silhouettes (default: euclidean)",
    )
    group.add_argument("--transform", choices=tuple(TRANSFORMS), default="tanh", help="default: tanh")
    group.add_argument("--rule", choices=RULES, default="max", help="default: max")
    group.add_argument(
        "--z", type=float, default=1.0, metavar="Z", help="standard errors below the score with --rule lcb (default: 1)"
    )
    group.add_argument(
        "--n-calibration",
        type=int,
        default=0,
        metavar="N",
        help="further subsamples that only estimate the largest discrepancies (default: 0)",
    )
    group.add_argument(
        "--on-failure",
        choices=request.ON_FAILURE,
        default="raise",
        help="when a clustering fails: stop, or count it and go on (default: raise)",
    )
    group.add_argument("-j", "--n-jobs", type=int, metavar="N", help="workers; -1 for all cores (default: 1)")
    group.add_argument("--seed", type=int, default=42, metavar="N", help="random state (default: 42)")


def _add_output_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("output")
    group.add_argument("--json", action="store_true", help="print the result as JSON instead of text")
    group.add_argument(
        "--plot", type=Path, metavar="OUT.png", help="also draw the curve into a file (.png, .svg, .pdf)"
    )
    group.add_argument("-q", "--quiet", action="store_true", help="no progress bar")


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


def _sample_size(text: str) -> str | int | float:
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            continue
    return text


def _select(arguments: argparse.Namespace) -> int:
    plot = _check_plot(arguments.plot)
    prepared = tabular.prepare(
        _read(arguments.data),
        columns=arguments.columns,
        scale=None if arguments.scale == "none" else arguments.scale,
        missing=arguments.missing,
    )
    if not arguments.json:
        _report_preparation(prepared, arguments)
    result = api.select_k(
        prepared.frame, ks=arguments.ks, clusterer=arguments.clusterer, n_subsamples=arguments.n_subsamples,
        sample_size=arguments.sample_size, metric=arguments.metric, transform=arguments.transform, rule=arguments.rule,
        z=arguments.z, n_calibration=arguments.n_calibration, on_failure=arguments.on_failure, n_jobs=arguments.n_jobs,
        random_state=arguments.seed, progress=False if arguments.quiet else None,
    )  # fmt: skip
    _deliver(result, arguments, plot)
    return OK


def _demo(arguments: argparse.Namespace) -> int:
    plot = _check_plot(arguments.plot)
    X, _ = imbalanced_blobs()
    if not arguments.json:
        print("2,300 generated points: two large, loose clusters and three small, tight ones. How many clusters?\n")
    _deliver(api.select_k(X, progress=False if arguments.quiet else None), arguments, plot)
    return OK


def _deliver(result: SelectionResult, arguments: argparse.Namespace, plot: Path | None) -> None:
    _print(result, arguments)
    if plot is not None:
        _save_plot(result, plot)
        if not arguments.json:
            print(f"\nPlot: {plot}")
    sys.stdout.flush()


def _print(result: SelectionResult, arguments: argparse.Namespace) -> None:
    if arguments.json:
        print(json.dumps(result.to_dict(), allow_nan=False))
    else:
        print(f"{result}\n\n{result.explain()}")


def _report_preparation(prepared: tabular.Prepared, arguments: argparse.Namespace) -> None:
    print(f"Columns: {', '.join(map(str, prepared.frame.columns))}; scale: {arguments.scale}")
    if prepared.left_out:
        print(f"Left out: {', '.join(prepared.left_out)}")
    if prepared.n_dropped:
        rows = "row" if prepared.n_dropped == 1 else "rows"
        print(f"Dropped {prepared.n_dropped} {rows} with missing values")
    print()


def _read(name: str) -> pd.DataFrame:
    import pandas as pd

    if name == "-":
        return _parse_csv(pd, sys.stdin, ",")
    path = Path(name)
    if not path.is_file():
        raise FileNotFoundError(2, "no such file", name)
    kind = path.suffixes[0].lower() if path.suffixes else ""
    kinds = [suffix.lower() for suffix in path.suffixes]
    if {".parquet", ".pq"} & set(kinds):
        return pd.read_parquet(path)
    if {".csv", ".tsv", ".txt"} & set(kinds):
        return _parse_csv(pd, path, "\t" if ".tsv" in kinds else ",")
    raise ValueError(f"{name}: a .csv, .tsv or .parquet file is needed; this one ends in {kind or 'nothing'!r}.")


def _parse_csv(pd: Any, source: Any, separator: str) -> pd.DataFrame:
    try:
        return pd.read_csv(source, sep=separator)  # type: ignore[no-any-return]
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise ValueError(
            f"{source if source is not sys.stdin else 'standard input'}: not a CSV table: {error}"
        ) from error


def _check_plot(path: Path | None) -> Path | None:
    """Refuse an impossible plot before the work, not after it."""
    if path is None:
        return None
    if path.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise ValueError(f"--plot must name a .png, .svg or .pdf file; got {str(path)!r}.")
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _save_plot(result: SelectionResult, path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 4.2), layout="constrained")
    result.plot("curve", ax=figure.subplots())
    figure.savefig(path, dpi=150)
