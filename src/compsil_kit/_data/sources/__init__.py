"""Tables that need not fit into memory, read once, in the order of their rows: Parquet, Polars, DuckDB, Dask, Spark."""
