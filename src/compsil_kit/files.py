"""Tables in files: CSV, TSV, Parquet, Feather and JSON lines, as pandas frames. Never a pickle."""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

KINDS = (".csv", ".tsv", ".parquet", ".pq", ".feather", ".jsonl", ".ndjson")
_COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".zip")


def read_table(name: str) -> pd.DataFrame:
    """Read a file by its ending, which may be followed by that of a compression; ``-`` is CSV from standard input."""
    import pandas as pd

    if name == "-":
        return _parse("standard input", lambda: pd.read_csv(sys.stdin))
    path = Path(name)
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
        raise ValueError(f"{path}: cannot tell what this file holds; its name must end in {', '.join(KINDS)}.")
    return endings[-1]


def _parse(name: str, read: Callable[[], Any]) -> pd.DataFrame:
    import pandas as pd

    try:
        frame: pd.DataFrame = read()
    except ImportError as error:
        raise ImportError(
            f"{name}: reading this file needs the package pyarrow. Install it with: pip install 'compsil-kit[scale]'"
        ) from error
    except (ValueError, pd.errors.ParserError, OSError) as error:
        # What pandas and pyarrow raise on a damaged file; their texts can quote its content, so only the kind is told.
        raise ValueError(f"{name}: not a readable table ({type(error).__name__}).") from error
    return frame
