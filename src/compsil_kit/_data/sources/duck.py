"""DuckDB relations: queries that are run once, in record batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from compsil_kit._data.sources.arrow import RecordSource, arrow_field, readable
from compsil_kit._data.sources.source import CHUNK_ROWS

_ORDER = "preserve_insertion_order"


class DuckSource(RecordSource):
    """A ``duckdb.DuckDBPyRelation``; its order is that of the query."""

    what = "a DuckDB relation"

    def __init__(self, relation: Any) -> None:
        """Ask for the types of the columns and for the number of rows, by a query of its own."""
        self._relation = relation
        with _answering(self.what):
            counted = f"count(*), any_value(current_setting('{_ORDER}'))"
            ((n_rows, ordered),) = relation.aggregate(counted).fetchall()
            self.fields = tuple(arrow_field(field) for field in _reader(relation.limit(0)).schema)
        if ordered is False:
            raise ValueError(
                f"X: a DuckDB relation must have its rows in the same order every time, and {_ORDER} is off. "
                f"Run SET {_ORDER} = true on its connection."
            )
        self.n_rows = int(n_rows)

    def records(self, at: Sequence[int]) -> Iterator[Any]:
        """Yield the record batches of the query in order."""
        names = ['"{}"'.format(self.fields[i].name.replace('"', '""')) for i in at]
        with _answering(self.what):
            yield from _reader(self._relation.project(", ".join(names)))


def _reader(relation: Any) -> Any:
    # The second name is that of DuckDB 1.
    read = "to_arrow_reader" if hasattr(type(relation), "to_arrow_reader") else "fetch_record_batch"
    return getattr(relation, read)(CHUNK_ROWS)


@contextmanager
def _answering(what: str) -> Iterator[None]:
    """Say that a query fails, without what the database says of it: that may quote the content."""
    import duckdb

    try:
        with readable(what):
            yield
    except duckdb.Error as error:
        raise ValueError(
            f"X: {what} cannot be read ({type(error).__name__}). It is run twice, to count its rows and to read them; "
            "its connection must be open, and what it reads must be there both times."
        ) from None
