"""Read CSV, TSV, Parquet, Feather and JSON Lines files as pandas DataFrames; pickles are never loaded."""

from __future__ import annotations

import codecs
import errno
import io
import sys
import warnings
import zlib
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from lzma import LZMAError
from pathlib import Path, PurePath
from typing import IO, TYPE_CHECKING, Any, cast
from zipfile import BadZipFile

from compsil_kit._data.files import FileFormatError
from compsil_kit._data.files.detect import CsvOptions, Layout, detect_layout
from compsil_kit._data.files.numeric import convert_columns
from compsil_kit._data.files.rows import Row, check_widths, iterate_rows
from compsil_kit._util.format import quoted, shorten

if TYPE_CHECKING:
    import pandas as pd

KINDS = (".csv", ".tsv", ".parquet", ".pq", ".feather", ".jsonl", ".ndjson")
_DEFAULT_SEPARATORS = {".csv": ",", ".tsv": "\t"}
_COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst", ".zip")
SAMPLE_BYTES = 1 << 20
# Errors that pandas, PyArrow and the decompressors raise for damaged files; pandas errors are ValueErrors.
_DAMAGE = (ValueError, OSError, EOFError, LookupError, TypeError, RuntimeError, zlib.error, LZMAError, BadZipFile)


def read_table(name: str, options: CsvOptions | None = None, **keywords: Any) -> pd.DataFrame:
    """Return the table in a file; see :func:`read_file`."""
    return read_file(name, options, **keywords)[0]


def read_file(
    name: str,
    options: CsvOptions | None = None,
    *,
    columns: Collection[Any] | None = None,
    exclude: Collection[str] = (),
) -> tuple[pd.DataFrame, Layout | None]:
    """Return the table in a file (``-`` reads CSV from standard input) and the layout if it is a text table.

    An ambiguous file raises a ValueError. If ``columns`` is given, only these columns are checked for non-numeric
    cells. The columns in ``exclude`` are left out.
    """
    options = options or CsvOptions()
    columns = [columns] if isinstance(columns, str) else columns
    kind = ".csv" if name == "-" else _kind_of(name)
    if kind not in _DEFAULT_SEPARATORS:
        reject_options(name, options)
    with _named_errors("standard input" if name == "-" else name):
        if kind not in _DEFAULT_SEPARATORS:
            frame = _without(_load_typed(Path(name), kind), exclude)
            if kind in (".jsonl", ".ndjson"):
                frame = convert_columns(frame, ".", None, columns, lambda rows: sorted(row + 1 for row in rows))
            return frame, None
        table = _open_table(_opener(name), kind, options)
        frame = _without(table.load(options.na_values), exclude)
        decimal = table.layout.decimal
        if options.thousands == decimal:
            raise FileFormatError(f"--thousands {decimal!r} is also the detected decimal mark. Pass --decimal too.")
        return convert_columns(frame, decimal, options.thousands, columns, table.lines_of), table.layout


def reject_options(name: str, options: CsvOptions) -> None:
    """Raise if CSV options are given for a file that is not a text table."""
    if options != CsvOptions():
        raise ValueError(f"{name}: --sep, --decimal and similar options apply to CSV and TSV files only.")


def ending_of(path: PurePath) -> str:
    """Return the last file extension before any compression extension, in lower case, or an empty string."""
    endings = [suffix.lower() for suffix in path.suffixes if suffix.lower() not in _COMPRESSIONS]
    return endings[-1] if endings else ""


def _kind_of(name: str) -> str:
    path = Path(name)
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a folder, not a file", name)
    if not path.is_file():
        raise FileNotFoundError(errno.ENOENT, "no such file", name)
    kind = ending_of(path)
    if kind not in KINDS:
        raise ValueError(f"{name}: unknown file format; the name must end in {', '.join(KINDS)}.")
    return kind


@contextmanager
def _named_errors(name: str) -> Iterator[None]:
    """Prefix errors with the file name, and replace errors from libraries, which may quote the content."""
    try:
        yield
    except FileFormatError as error:
        raise ValueError(f"{name}: {error}") from None
    except ImportError as error:
        package, wheel = ("zstandard",) * 2 if name.lower().endswith(".zst") else ("pyarrow", "'compsil-kit[scale]'")
        raise ImportError(
            f"{name}: reading this file requires the package {package}. Install it with: pip install {wheel}"
        ) from error
    except MemoryError as error:
        # Damaged Arrow files can declare lengths of exabytes.
        raise ValueError(
            f"{name}: not a readable table: the file is damaged or too large for the memory of this machine."
        ) from error
    except _DAMAGE as error:
        raise ValueError(f"{name}: not a readable table ({type(error).__name__}).") from error


def _load_typed(path: Path, kind: str) -> pd.DataFrame:
    import pandas as pd

    if kind in (".jsonl", ".ndjson"):
        return pd.read_json(path, lines=True)
    frame = pd.read_feather(path) if kind == ".feather" else pd.read_parquet(path)
    # pandas loads decimals, and boolean columns with missing values, with dtype object.
    dtypes: dict[str, Any] = {"decimal": "float64", "boolean": "boolean"}
    for position, dtype in enumerate(frame.dtypes):
        column = frame.iloc[:, position]
        target = dtypes.get(pd.api.types.infer_dtype(column, skipna=True)) if dtype.kind == "O" else None
        if target is not None:
            frame.isetitem(position, column.astype(target).array)
    return frame


def _without(frame: pd.DataFrame, names: Collection[str]) -> pd.DataFrame:
    known = [str(name) for name in frame.columns]
    for name in names:
        if name not in known:
            raise FileFormatError(
                f"--exclude: {quoted(name)} is not a column of the data. Available columns: {shorten(tuple(known))}."
            )
    return frame.loc[:, [name not in names for name in known]] if names else frame


# --- text tables ------------------------------------------------------------------------------------------------------


def _opener(name: str) -> Callable[[], IO[bytes]]:
    """Return a function that opens standard input or a file, which is decompressed as in pandas."""
    if name == "-":
        raw = getattr(sys.stdin, "buffer", None)
        return partial(io.BytesIO, raw.read() if raw is not None else sys.stdin.read().encode())
    from pandas.io.common import get_handle  # type: ignore[import-not-found]

    return lambda: cast("IO[bytes]", get_handle(Path(name), "rb", compression="infer", is_text=False).handle)


def _open_table(open_bytes: Callable[[], IO[bytes]], kind: str, options: CsvOptions) -> TextTable:
    """Detect the layout of a text table from the beginning of its content."""
    with open_bytes() as raw:
        sample = raw.read(SAMPLE_BYTES)
    encoding = options.encoding or detect_encoding(sample)
    text = _decoded(sample, encoding)
    if text is None:
        raise _undecodable(open_bytes, encoding)
    if "\0" in text:
        raise FileFormatError(
            "not a readable table: it contains NUL characters. If it is UTF-16, pass --encoding utf-16-le."
        )
    complete = len(sample) < SAMPLE_BYTES
    layout = detect_layout(text, options, encoding, complete=complete, default_sep=_DEFAULT_SEPARATORS[kind])
    return TextTable(open_bytes, layout)


def detect_encoding(sample: bytes) -> str:
    """Return utf-8-sig if the sample is valid UTF-8, with or without a BOM, otherwise the encoding found by chardet."""
    if sample.startswith(codecs.BOM_UTF8) or _decoded(sample, "utf-8") is not None:
        return "utf-8-sig"
    import chardet

    # ASCII lines contain no information about the encoding and mislead chardet.
    lines = dict.fromkeys(line for line in sample.splitlines() if not line.isascii())
    found = chardet.detect(b"\n".join(lines)[: 1 << 16])["encoding"]
    if not found or _decoded(sample, found) is None:
        raise FileFormatError(
            "not a readable table: the encoding is unknown. Pass --encoding, for example windows-1252."
        )
    return found.lower()


def _decoded(sample: bytes, encoding: str) -> str | None:
    """Decode a sample, whose last character may be truncated; return None if the encoding does not fit."""
    try:
        return codecs.getincrementaldecoder(encoding)().decode(sample)
    except (LookupError, UnicodeDecodeError):
        return None


def _undecodable(open_bytes: Callable[[], IO[bytes]], encoding: str) -> FileFormatError:
    n_lines = 0
    with open_bytes() as raw, suppress(UnicodeDecodeError):
        decoder = codecs.getincrementaldecoder(encoding)()
        for content in raw:
            n_lines += 1
            decoder.decode(content)
    return FileFormatError(
        f"not a readable table: line {n_lines} is not valid {encoding.removesuffix('-sig')}. Pass --encoding, for "
        "example --encoding windows-1252."
    )


@dataclass(frozen=True)
class TextTable:
    """A text table that can be read more than once."""

    open_bytes: Callable[[], IO[bytes]]
    layout: Layout

    def load(self, na_values: Collection[str]) -> pd.DataFrame:
        """Load the table with pandas; raise for short rows, which pandas would fill with missing values."""
        import pandas as pd

        try:
            frame = self._parse(list(na_values))
        except UnicodeDecodeError:
            raise _undecodable(self.open_bytes, self.layout.encoding) from None
        except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
            self._check_widths()
            raise FileFormatError(f"not a readable table ({type(error).__name__}).") from None
        last = frame.iloc[:, -1]
        if self.layout.trailing:
            if last.notna().any():
                line = self.lines_of({int(last.notna().to_numpy().argmax())})[0]
                raise FileFormatError(
                    f"not a readable table: line {line} has a value after the trailing separator, unlike the lines "
                    "above. Fix this line, or give the last column a name."
                )
            return frame.iloc[:, :-1]
        if frame.shape[1] > 1 and last.isna().any() and not self._has_all_separators(len(frame)):
            self._check_widths()
        return frame

    def lines_of(self, rows: set[int]) -> list[int]:
        """Return the numbers of the lines in which these rows of the frame begin."""
        positions = range(-1 if self.layout.header else 0, max(rows) + 1)
        return [line for position, (line, _) in zip(positions, self._rows(), strict=False) if position in rows]

    @contextmanager
    def _lines(self) -> Iterator[IO[str]]:
        """Open the table and skip its comments; line endings are not converted."""
        with self.open_bytes() as raw, io.TextIOWrapper(raw, self.layout.encoding, newline="") as handle:
            for _ in range(self.layout.skipped):
                handle.readline()
            yield handle

    def _parse(self, na_values: list[str]) -> pd.DataFrame:
        import pandas as pd

        layout = self.layout
        options: dict[str, Any] = {"sep": layout.sep, "decimal": layout.decimal, "na_values": na_values}
        if not layout.header:
            names = [f"column {number}" for number in range(1, layout.width + 1)]
            options |= {"names": names, "header": None, "index_col": False}
        elif layout.trailing:
            with self._lines() as handle:
                header = pd.read_csv(handle, nrows=0, index_col=False, **options).columns
            options |= {"names": [*header, "Unnamed"][: layout.width], "header": 0, "index_col": False}
        with self._lines() as handle, warnings.catch_warnings():
            # Columns of mixed types are examined later. Raise for rows that pandas would truncate.
            warnings.simplefilter("ignore", pd.errors.DtypeWarning)
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame: pd.DataFrame = pd.read_csv(handle, **options)
        return frame

    def _rows(self) -> Iterator[Row]:
        with self._lines() as handle:
            yield from iterate_rows(handle, self.layout.sep, self.layout.skipped + 1)

    def _check_widths(self) -> None:
        check_widths(self._rows(), self.layout.width, self.layout.header)

    def _has_all_separators(self, n_rows: int) -> bool:
        """Check quickly whether the number of unquoted separators is the number expected for complete rows."""
        count, in_quotes = 0, 0
        with self._lines() as handle:
            while chunk := handle.read(1 << 20):
                parts = chunk.split('"')
                count += sum(part.count(self.layout.sep) for part in parts[in_quotes::2])
                in_quotes = (in_quotes + len(parts) - 1) % 2
        in_header = self.layout.width - self.layout.row_names - 1 if self.layout.header else 0
        return count == n_rows * (self.layout.width - 1) + in_header
