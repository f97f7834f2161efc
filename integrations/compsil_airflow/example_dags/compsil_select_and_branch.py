"""Select k, label the customers, and branch on k."""

from __future__ import annotations

from airflow.providers.common.compat.sdk import dag, task

from compsil_airflow import SelectKOperator
from compsil_airflow.example_dags.customers import FOLDER, write_customers

MANY = 4


@dag(schedule=None, tags=["compsil", "example"], doc_md=__doc__)
def compsil_select_and_branch() -> None:
    """Extract the data, select and count the clusters, then branch."""

    @task
    def extract() -> str:
        return write_customers("customers.parquet")

    select = SelectKOperator(
        task_id="select_k",
        # Only the path is passed through XCom, never the data.
        data=extract(),
        columns=["basket", "visits", "returned"],
        ks="2:8",
        labels_path=f"{FOLDER}/labels.parquet",
        labels_keep=["customer_id"],
        report_path=f"{FOLDER}/report.html",
        retries=2,
    )

    @task
    def count_clusters(k: int) -> list[int]:
        import pandas as pd

        labels = pd.read_parquet(f"{FOLDER}/labels.parquet")
        sizes = labels["cluster"].value_counts().sort_index()
        assert len(sizes) == k
        return [int(size) for size in sizes]

    @task.branch
    def how_many(k: int) -> str:
        return "plan_campaigns" if k >= MANY else "ask_an_analyst"

    @task
    def plan_campaigns(k: int) -> str:
        return f"one campaign for each of {k} segments"

    @task
    def ask_an_analyst(k: int) -> str:
        return f"only {k} segments: see the report"

    k = select.output
    count_clusters(k) >> how_many(k) >> [plan_campaigns(k), ask_an_analyst(k)]


compsil_select_and_branch()
