"""Tables that need not fit into memory, read once, in the order of their rows: Parquet, Polars, DuckDB, Dask, Spark.

It may touch the other modules of data; only request and table, which open them, and what labels their rows touch it.
"""
