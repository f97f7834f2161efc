"""Text tables: found out how they are written, read by pandas, and checked, so that none is read wrongly."""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from compsil_kit._data.files.refused import RefusedError
from compsil_kit._data.files.sniff import SAMPLE, Given, Layout, is_blank, ragged, sniff, unclosed

if TYPE_CHECKING:
    import pandas as pd

_CHUNK = 1 << 20
# Encodings in which a separator is one byte that means nothing else.
_BYTEWISE = ("utf-8", "ascii", "windows-125", "cp125", "iso-8859", "iso8859", "latin")


@dataclass(frozen=True)
class TextFile:
    """A text table that can be read more than once: ``place`` for pandas, ``open`` for its bytes, decompressed."""

    place: Callable[[], Any]
    open: Callable[[], IO[bytes]]
    usual: str = ","

    @contextmanager
    def text(self, encoding: str) -> Iterator[IO[str]]:
        """Open the file as text, its line ends as they are."""
        with self.open() as raw, io.TextIOWrapper(raw, encoding, newline="") as handle:
            yield handle


def read_delimited(file: TextFile, given: Given) -> tuple[pd.DataFrame, Layout]:
    """Return the table in a text file and how it is written."""
    import pandas as pd

    with file.open() as raw:
        sample = raw.read(SAMPLE)
        whole = len(sample) < SAMPLE
    layout = sniff(sample, given, whole=whole, usual=file.usual)
    try:
        frame = _read(file, layout, given)
    except UnicodeDecodeError:
        raise RefusedError(_undecodable(file, layout.encoding)) from None
    except pd.errors.ParserError:
        found = first_ragged(file, layout)
        if found is None:
            raise
        raise RefusedError(found) from None
    if layout.trailing:
        return _without_end(frame, file, layout), layout
    # pandas fills lines that are too short with missing values.
    if frame.shape[1] > 1 and frame.iloc[:, -1].isna().any() and not _is_full(file, layout, len(frame)):
        found = first_ragged(file, layout)
        if found is not None:
            raise RefusedError(found)
    return frame, layout


def _read(file: TextFile, layout: Layout, given: Given) -> pd.DataFrame:
    import pandas as pd

    options: dict[str, Any] = {"sep": layout.sep, "decimal": layout.decimal}
    if layout.encoding not in ("utf-8", "utf-8-sig"):
        options["encoding"] = layout.encoding
    if given.na_values:
        options["na_values"] = list(given.na_values)
    names = None if layout.header else [f"column {at}" for at in range(1, layout.width + 1)]
    if layout.trailing and layout.header:
        with _placed(file, layout) as place:
            header = list(pd.read_csv(place, nrows=0, index_col=False, **options).columns)
        names = [*header, "Unnamed"][: layout.width]
    if names is not None:
        options |= {"names": names, "header": 0 if layout.header else None, "index_col": False}
    with _placed(file, layout) as place, warnings.catch_warnings():
        # Mixed columns are looked at afterwards; fields beyond the last column are refused by their line.
        warnings.simplefilter("ignore", pd.errors.DtypeWarning)
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            frame: pd.DataFrame = pd.read_csv(place, **options)
        except pd.errors.ParserWarning as error:
            raise pd.errors.ParserError(str(error)) from None
    return frame


@contextmanager
def _placed(file: TextFile, layout: Layout) -> Iterator[Any]:
    """Give pandas the file, or what follows the comments at its top; its own skipping would heed quotes in them."""
    if not layout.skipped:
        yield file.place()
        return
    with file.text(layout.encoding) as handle:
        for _ in range(layout.skipped):
            handle.readline()
        yield handle


def _without_end(frame: pd.DataFrame, file: TextFile, layout: Layout) -> pd.DataFrame:
    """Leave out the column that separators at the ends of lines make; nothing may follow them."""
    filled = frame.iloc[:, -1].notna().to_numpy().nonzero()[0]
    if len(filled):
        line = lines_of_rows(file, layout, {int(filled[0])})[0]
        raise RefusedError(
            f"not a readable table: line {line} has a value after its last separator, lines before it have none. Mend "
            "this line, or give the last column a name."
        )
    return frame.iloc[:, :-1]


def _is_full(file: TextFile, layout: Layout, n_rows: int) -> bool:
    """Tell quickly whether there are so many separators outside of quotes that no line can be too short."""
    if not layout.encoding.startswith(_BYTEWISE) or not layout.sep.isascii():
        return False
    count, quoted = 0, 0
    with file.open() as raw:
        for _ in range(layout.skipped):
            raw.readline()
        while chunk := raw.read(_CHUNK):
            parts = chunk.split(b'"')
            outside = np.frombuffer(b"".join(parts[quoted::2]), np.uint8)
            count += int(np.count_nonzero(outside == ord(layout.sep)))
            quoted = (quoted + len(parts) - 1) % 2
    names = layout.width - layout.row_names
    return count == n_rows * (layout.width - 1) + (names - 1 if layout.header else 0)


def records(file: TextFile, layout: Layout) -> Iterator[tuple[int, list[str] | None, int]]:
    """Yield the line, the cells (None where they need no parsing) and the number of fields of each row."""
    line = layout.skipped + 1
    with file.text(layout.encoding) as handle:
        for _ in range(layout.skipped):
            handle.readline()
        for text in handle:
            if '"' not in text:
                if text.strip(" \r\n\t" if layout.sep != "\t" else " \r\n"):
                    yield line, None, text.count(layout.sep) + 1
                line += 1
                continue
            reader = csv.reader(chain([text], handle), delimiter=layout.sep)
            cells = next(reader)
            if not is_blank(cells):
                yield line, cells, len(cells)
            line += reader.line_num


def first_ragged(file: TextFile, layout: Layout) -> str | None:
    """Say which line has too many or too few fields, or opens a quote that does not end; None if all is well."""
    line, first = layout.skipped, None
    try:
        for line, cells, fields in records(file, layout):
            if first is None:
                first = (line, fields)
                if layout.header:
                    continue
            if fields != layout.width:
                return ragged(line, cells, fields, *first)
    except csv.Error:
        return unclosed(line + 1)
    return None


def lines_of_rows(file: TextFile, layout: Layout, rows: set[int]) -> list[int]:
    """Return the lines in which rows of the frame begin."""
    found = []
    last = max(rows)
    for at, (line, _, _) in enumerate(records(file, layout), -1 if layout.header else 0):
        if at in rows:
            found.append(line)
        if at >= last:
            break
    return found


def _undecodable(file: TextFile, encoding: str) -> str:
    """Name the first line that is not written in the encoding of the lines before it."""
    with file.open() as raw:
        for line, content in enumerate(raw, 1):
            try:
                content.decode(encoding)
            except UnicodeDecodeError:
                return (
                    f"not a readable table: line {line} is not {encoding}, as the lines before it are. Pass "
                    "--encoding, for example --encoding windows-1252."
                )
    return f"not a readable table: it is not {encoding}. Pass another --encoding."
