"""Run one selection per region: the operator is mapped over the partitions of a table."""

from __future__ import annotations

from airflow.providers.common.compat.sdk import dag, task

from compsil_airflow import SelectKOperator
from compsil_airflow.example_dags.customers import make_customers, write_customers


@dag(schedule=None, tags=["compsil", "example"], doc_md=__doc__)
def compsil_regions() -> None:
    """Partition the table, select k for each partition, and collect the results."""

    @task
    def partition() -> list[str]:
        customers = make_customers(size=2.0)
        return [
            write_customers(f"regions/{region}.csv", part.drop(columns="region"))
            for region, part in customers.groupby("region")
        ]

    select = SelectKOperator.partial(
        task_id="select_k",
        columns=["basket", "visits", "returned"],
        ks=[2, 3, 4, 5, 6],
        n_subsamples=15,
        map_index_template="{{ task.data.rpartition('/')[2] }}",
    ).expand(data=partition())

    @task
    def collect(ks: list[int]) -> list[int]:
        return list(ks)

    collect(select.output)


compsil_regions()
