"""Tables in files: CSV, TSV, Parquet, Feather and JSON lines, as pandas frames. Never a pickle."""

from __future__ import annotations

import errno
import io
import sys
import zlib
from collections.abc import Callable, Collection
from functools import partial
from lzma import LZMAError
from pathlib import Path, PurePath
from typing import IO, TYPE_CHECKING, Any, cast
from zipfile import BadZipFile

from compsil_kit._data.files.delimited import TextFile, lines_of_rows, read_delimited
from compsil_kit._data.files.mixed import settle_columns
from compsil_kit._data.files.numerals import DECIMALS, GROUPS
from compsil_kit._data.files.refused import RefusedError
from compsil_kit._data.files.sniff import Given, Layout
from compsil_kit._util.checks import check_choice
from compsil_kit._util.format import quoted, shorten

if TYPE_CHECKING:
    import pandas as pd

KINDS = (".csv", ".tsv", ".parquet", ".pq", ".feather", ".jsonl", ".ndjson")
_TEXT = {".csv": ",", ".tsv": "\t"}
_COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".zip")
# What pandas, pyarrow and the decompressors raise on a damaged file; pandas' own errors are ValueErrors.
DAMAGED = (ValueError, OSError, EOFError, LookupError, TypeError, RuntimeError, zlib.error, LZMAError, BadZipFile)
_SPELLED = {"tab": "\t", "\\t": "\t", "space": " "}


def read_table(
    name: str,
    *,
    columns: Collection[Any] | None = None,
    exclude: Collection[str] = (),
    sep: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    thousands: str | None = None,
    na_values: Collection[str] = (),
) -> pd.DataFrame:
    """Read a file by its ending, which may be followed by that of a compression; ``-`` is CSV from standard input.

    Parameters
    ----------
    name : str
        The path of the file, or ``-``.
    columns : collection of names, optional
        The columns that will be used, if not all: only these are looked at for cells that are not numbers.
    exclude : collection of names, default=()
        Columns to leave out.
    sep, decimal, encoding : str, optional
        How a CSV or TSV file is written; found out if None.
    header : bool, optional
        Whether the first line of a CSV or TSV file names the columns; found out if None.
    thousands : str, optional
        The mark between thousands; if None, only one that cannot be mistaken is heeded.
    na_values : collection of str, default=()
        Further texts that mean a missing value.

    Returns
    -------
    DataFrame
        The table. A file that may be read in two ways is refused.
    """
    given = make_given(sep, decimal, encoding, header, thousands, na_values)
    return read_file(name, given, columns=columns, exclude=exclude)[0]


def make_given(
    sep: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    thousands: str | None = None,
    na_values: Collection[str] = (),
) -> Given:
    """Check what is said about a text file."""
    if sep is not None:
        sep = _SPELLED.get(sep, sep)
        if len(sep) != 1 or sep.isalnum() or sep in '"\r\n.+-':
            raise ValueError(f"--sep must be one character such as ';' or '|', or the word tab or space; got {sep!r}.")
    if decimal is not None:
        check_choice("--decimal", decimal, tuple(DECIMALS))
    if thousands is not None:
        check_choice("--thousands", thousands, GROUPS)
        if thousands == decimal:
            raise ValueError(f"--thousands and --decimal must differ; both are {decimal!r}.")
    return Given(sep, decimal, encoding, header, thousands, tuple(na_values))


def read_file(
    name: str, given: Given, *, columns: Collection[Any] | None = None, exclude: Collection[str] = ()
) -> tuple[pd.DataFrame, Layout | None]:
    """Return the table in a file and, if it is a text table, how it is written."""
    if name == "-":
        content = _standard_input()
        file = TextFile(partial(io.BytesIO, content), partial(io.BytesIO, content))
        return _parse("standard input", lambda: _read_text(file, given, columns, exclude))
    path = Path(name)
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a folder, not a file", name)
    if not path.is_file():
        raise FileNotFoundError(errno.ENOENT, "no such file", name)
    kind = kind_of(path)
    if kind in _TEXT:
        file = TextFile(lambda: path, partial(_opened, path), _TEXT[kind])
        return _parse(name, lambda: _read_text(file, given, columns, exclude))
    if given != Given():
        raise ValueError(f"{name}: --sep, --decimal and the like are for CSV and TSV files.")
    return _parse(name, lambda: (_read_typed(path, kind, columns, exclude), None))


def kind_of(path: Path) -> str:
    """Return the ending that says what is in a file, or list those that can be read."""
    ending = ending_of(path)
    if ending not in KINDS:
        raise ValueError(f"{path}: unknown file format; the name must end in {', '.join(KINDS)}.")
    return ending


def ending_of(path: PurePath) -> str:
    """Return the last ending of a name that is not that of a compression, in lower case; "" if there is none."""
    endings = [suffix.lower() for suffix in path.suffixes if suffix.lower() not in _COMPRESSED]
    return endings[-1] if endings else ""


def _standard_input() -> bytes:
    raw = getattr(sys.stdin, "buffer", None)
    return raw.read() if raw is not None else sys.stdin.read().encode()


def _opened(path: Path) -> IO[bytes]:
    """Open a file for its bytes, decompressed as pandas would do it."""
    from pandas.io.common import get_handle  # type: ignore[import-not-found]

    return cast("IO[bytes]", get_handle(path, "rb", compression="infer", is_text=False).handle)


def _read_text(
    file: TextFile, given: Given, columns: Collection[Any] | None, exclude: Collection[str]
) -> tuple[pd.DataFrame, Layout]:
    frame, layout = read_delimited(file, given)
    frame = _excluded(frame, exclude)
    if given.thousands == layout.decimal:
        raise RefusedError(f"--thousands {given.thousands!r} is the decimal mark of the file. Pass --decimal, too.")
    used = _used(columns)
    lines = partial(lines_of_rows, file, layout)
    return settle_columns(frame, layout.decimal, given.thousands, used, lines), layout


def _read_typed(path: Path, kind: str, columns: Collection[Any] | None, exclude: Collection[str]) -> pd.DataFrame:
    import pandas as pd

    if kind not in (".jsonl", ".ndjson"):
        return _excluded(_numbers(pd.read_feather(path) if kind == ".feather" else pd.read_parquet(path)), exclude)
    frame = _excluded(pd.read_json(path, lines=True), exclude)
    return settle_columns(frame, ".", None, _used(columns), lambda rows: sorted(row + 1 for row in rows))


def _numbers(frame: pd.DataFrame) -> pd.DataFrame:
    """Make numbers of what pandas keeps as objects, decimals and booleans with holes, as other readers do."""
    import pandas as pd

    kinds: dict[str, Any] = {"decimal": "float64", "boolean": "boolean"}
    for at, dtype in enumerate(frame.dtypes):
        kind = kinds.get(pd.api.types.infer_dtype(frame.iloc[:, at], skipna=True)) if dtype.kind == "O" else None
        if kind is not None:
            frame.isetitem(at, frame.iloc[:, at].astype(kind).array)
    return frame


def _used(columns: Collection[Any] | None) -> Callable[[Any], bool]:
    """Return what tells whether a column is going to be used."""
    if columns is None:
        return lambda _: True
    wanted = [columns] if isinstance(columns, str) else list(columns)
    return lambda name: name in wanted


def _excluded(frame: pd.DataFrame, names: Collection[str]) -> pd.DataFrame:
    known = [str(name) for name in frame.columns]
    for name in names:
        if name not in known:
            raise RefusedError(
                f"--exclude: {quoted(name)} is not a column of the data, which has {shorten(tuple(known))}."
            )
    return frame.loc[:, [name not in names for name in known]] if names else frame


def _parse(name: str, read: Callable[[], tuple[pd.DataFrame, Any]]) -> tuple[pd.DataFrame, Any]:
    try:
        return read()
    except RefusedError as error:
        raise ValueError(f"{name}: {error}") from None
    except ImportError as error:
        package, what = ("zstandard",) * 2 if name.lower().endswith(".zst") else ("pyarrow", "'compsil-kit[scale]'")
        raise ImportError(
            f"{name}: reading this file needs the package {package}. Install it with: pip install {what}"
        ) from error
    except MemoryError as error:
        # Damaged Arrow files have lengths of exabytes; which of the two it is cannot be told from here.
        raise ValueError(
            f"{name}: not a readable table: it asks for more memory than there is. It is damaged, or too large for "
            "this machine."
        ) from error
    except DAMAGED as error:
        # The texts of pandas and pyarrow can quote the content, so only the kind is told.
        raise ValueError(f"{name}: not a readable table ({type(error).__name__}).") from error
