"""Selections on DuckDB relations."""

from dataclasses import replace

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from tables import LARGE, columns_of, write_parquet

from compsil_kit import label_rows, prepare, select_k
from compsil_kit._data.matrix import to_matrix
from compsil_kit._data.sources.arrow import DuckDBSource, SidecarColumns

FAST = {"ks": [2, 3], "n_subsamples": 2, "sample_size": 200}


@pytest.fixture
def connection():
    with duckdb.connect() as found:
        yield found


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32"])
def test_selections_equal_those_on_the_table_in_memory(dtype, connection, tmp_path):
    columns = {name: (10 * values).astype(dtype) for name, values in columns_of().items()}
    place = write_parquet(tmp_path / "a.parquet", columns)
    for relation in (connection.read_parquet(str(place)), connection.from_arrow(pa.table(columns))):
        assert select_k(relation, **FAST).to_dict() == select_k(pa.table(columns), **FAST).to_dict()
        assert select_k(prepare(relation), **FAST).to_dict() == select_k(prepare(place), **FAST).to_dict()


@pytest.mark.parametrize("kind", ["double", "float", "bigint", "hugeint", "utinyint", "decimal(9, 2)", "boolean"])
def test_values_equal_the_table_in_memory(kind, connection):
    relation = connection.sql(f"select cast(range % 2 as {kind}) as a, range as b from range(9)")
    source = DuckDBSource(relation)
    assert (source.n_rows, source.fields[0].numeric, source.fields[0].dtype == np.float32) == (9, True, kind == "float")
    ((found, _),) = source.chunks([0, 1])
    np.testing.assert_array_equal(found.astype(float), to_matrix(relation.to_arrow_table())[1][:, 0])


def test_column_names_and_missing_values_are_reported(connection):
    query = 'select range % 7 as "a ""b""", case when range = 45678 then null else range end as n, \'x\' as word'
    relation = connection.sql(f"{query} from range({LARGE})")
    table = prepare(relation)
    assert (table.names, table.left_out) == (('a "b"', "n"), ("word",))
    with pytest.raises(ValueError, match="X must be finite; it has NaN at row 45678, column 'n'"):
        select_k(table, **FAST)
    with pytest.raises(ValueError, match=r"X has columns that are not numeric: 'word' \(string\)"):
        select_k(relation, **FAST)


def test_rows_without_an_order_raise(connection):
    relation = connection.sql("select range as a from range(9)")
    connection.execute("SET preserve_insertion_order = false")
    with pytest.raises(
        ValueError, match=r"rows in the same order every time, but preserve_insertion_order is off\. Run SET"
    ):
        select_k(relation, **FAST)


def test_a_query_without_rows_raises(connection):
    with pytest.raises(ValueError, match="X must have at least 2 rows; got 0"):
        select_k(connection.sql("select 1 as a where false"))


def test_rows_that_can_be_read_only_once_raise(connection):
    table = pa.table(columns_of())
    relation = connection.from_arrow(pa.RecordBatchReader.from_batches(table.schema, table.to_batches()))
    with pytest.raises(ValueError, match=r"X: a DuckDB relation cannot be read \(\w+\)\. The query runs twice"):
        select_k(relation, **FAST)


def test_errors_do_not_quote_cells(connection):
    value = "cast(case when range = 50000 then 's3cret' else '1' end as double)"
    relation = connection.sql(f"select {value} as a, range as b from range({LARGE})")
    with pytest.raises(ValueError, match=r"X: a DuckDB relation cannot be read \(\w+\)") as caught:
        select_k(relation, **FAST)
    assert "s3cret" not in str(caught.value)


def test_sidecar_columns_come_from_one_query(connection):
    """A connection does not allow a second large result while the first is being read."""
    n_rows = 300_000
    relation = connection.sql(f"select range % 7 as a, range % 1000 as b, 'n' || range as word from range({n_rows})")
    table = prepare(relation, columns=["a", "b"])
    sidecar = SidecarColumns(table.source, ["word", "a"])
    n_seen = 0
    for labels in label_rows(replace(table, source=sidecar), 2, sample_size=200):
        kept = sidecar.take()
        assert len(kept) == len(labels)
        assert kept["word"][0].as_py() == f"n{n_seen}"
        n_seen += len(labels)
    assert n_seen == n_rows
