"""Polars LazyFrames: queries that are run once, in batches, by the engine that streams."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from compsil_kit._data.matrix import polars_numeric, polars_values
from compsil_kit._data.sources.source import CHUNK_ROWS, Chunks, Field, Source, silent_about_content

_BITS = ("8", "16", "32", "64", "128")


class LazySource(Source):
    """A ``polars.LazyFrame``; its order is that of the query."""

    what = "a Polars LazyFrame"
    has_records = True

    def __init__(self, frame: Any) -> None:
        """Resolve the schema and count the rows by a query of its own, which reads as little as it can."""
        import polars as pl

        if not hasattr(frame, "collect_batches"):
            raise ImportError(
                f"X: a LazyFrame is read in batches, which Polars {pl.__version__} cannot do. Install a newer one with "
                "pip install --upgrade polars, or pass X.collect()."
            )
        self._frame = frame
        with silent_about_content(self.what, (pl.exceptions.PolarsError,)):
            self.fields = tuple(_field(name, dtype) for name, dtype in frame.collect_schema().items())
            self.n_rows = int(frame.select(pl.len()).collect(engine="streaming").item())

    def chunks(self, at: Sequence[int]) -> Chunks:
        """Yield the batches of the query in order; names of columns are unique in Polars."""
        return ([polars_values(column) for column in batch.get_columns()] for batch in self._batches(at) if len(batch))

    def records(self, at: Sequence[int]) -> Iterator[Any]:
        """Yield the batches of the query as Arrow has them."""
        for batch in self._batches(at):
            yield from batch.to_arrow().to_batches()

    def _batches(self, at: Sequence[int]) -> Iterator[Any]:
        import polars as pl

        # By position: Polars takes names such as ^b$ for patterns.
        query = self._frame.select(pl.nth(list(at)))
        with silent_about_content(self.what, (pl.exceptions.PolarsError,)):
            yield from query.collect_batches(chunk_size=CHUNK_ROWS, maintain_order=True, engine="streaming")


def _field(name: str, dtype: Any) -> Field:
    kind = str(dtype)
    numeric = polars_numeric(dtype)
    bits = next((bits for bits in reversed(_BITS) if kind.endswith(bits)), "64")
    return Field(name, kind, numeric, kind == "Float32", int(bits) // 8 if numeric and kind != "Boolean" else 1)
