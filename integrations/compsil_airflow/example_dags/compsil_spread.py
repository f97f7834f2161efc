"""Divide one selection among workers: each mapped task runs a batch of subsamples."""

from __future__ import annotations

from airflow.providers.common.compat.sdk import dag, task

from compsil_airflow import select_k_mapped
from compsil_airflow.example_dags.customers import write_customers


@dag(schedule=None, tags=["compsil", "example"], doc_md=__doc__)
def compsil_spread() -> None:
    """Extract the data, divide the selection among mapped tasks, and use the result."""

    @task
    def extract() -> str:
        return write_customers("spread.parquet")

    select = select_k_mapped(
        "select_k",
        data=extract(),
        columns=["basket", "visits", "returned"],
        ks="2:8",
        n_subsamples=24,
        n_batches=4,
        retries=2,
    )

    @task
    def use(k: int) -> str:
        return f"{k} clusters"

    use(select.output)


compsil_spread()
