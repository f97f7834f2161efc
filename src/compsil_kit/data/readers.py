"""Tables in files: CSV, TSV, Parquet, Feather and JSON lines, as pandas frames. Never a pickle."""

from __future__ import annotations

import errno
import sys
import zlib
from collections.abc import Callable
from lzma import LZMAError
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

if TYPE_CHECKING:
    import pandas as pd

KINDS = (".csv", ".tsv", ".parquet", ".pq", ".feather", ".jsonl", ".ndjson")
_COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".zip")
# What pandas, pyarrow and the decompressors raise on a damaged file; pandas' own errors are ValueErrors.
DAMAGED = (ValueError, OSError, EOFError, LookupError, TypeError, RuntimeError, zlib.error, LZMAError, BadZipFile)


def read_table(name: str) -> pd.DataFrame:
    """Read a file by its ending, which may be followed by that of a compression; ``-`` is CSV from standard input."""
    import pandas as pd

    if name == "-":
        return _parse("standard input", lambda: pd.read_csv(sys.stdin))
    path = Path(name)
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a folder, not a file", name)
    if not path.is_file():
        raise FileNotFoundError(errno.ENOENT, "no such file", name)
    readers: dict[str, Callable[[], Any]] = {
        ".csv": lambda: pd.read_csv(path),
        ".tsv": lambda: pd.read_csv(path, sep="\t"),
        ".parquet": lambda: pd.read_parquet(path),
        ".pq": lambda: pd.read_parquet(path),
        ".feather": lambda: pd.read_feather(path),
        ".jsonl": lambda: pd.read_json(path, lines=True),
        ".ndjson": lambda: pd.read_json(path, lines=True),
    }
    return _parse(name, readers[kind_of(path)])


def kind_of(path: Path) -> str:
    """Return the ending that says what is in a file, or list those that can be read."""
    endings = [suffix.lower() for suffix in path.suffixes if suffix.lower() not in _COMPRESSED]
    if not endings or endings[-1] not in KINDS:
        raise ValueError(f"{path}: unknown file format; the name must end in {', '.join(KINDS)}.")
    return endings[-1]


def _parse(name: str, read: Callable[[], Any]) -> pd.DataFrame:
    try:
        frame: pd.DataFrame = read()
    except ImportError as error:
        package, what = ("zstandard",) * 2 if name.lower().endswith(".zst") else ("pyarrow", "'compsil-kit[scale]'")
        raise ImportError(
            f"{name}: reading this file needs the package {package}. Install it with: pip install {what}"
        ) from error
    except DAMAGED as error:
        # The texts of pandas and pyarrow can quote the content, so only the kind is told.
        raise ValueError(f"{name}: not a readable table ({type(error).__name__}).") from error
    return frame
