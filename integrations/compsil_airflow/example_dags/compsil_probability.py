"""Branch on the selection probability: use k if the probability is high enough, or recommend more subsamples."""

from __future__ import annotations

from typing import Any

from airflow.providers.common.compat.sdk import dag, task

from compsil_airflow import SelectKOperator
from compsil_airflow.example_dags.customers import write_customers

ENOUGH = 0.8


@dag(schedule=None, tags=["compsil", "example"], doc_md=__doc__)
def compsil_probability() -> None:
    """Extract the data, select k, then branch on the probability in the summary."""

    @task
    def extract() -> str:
        return write_customers("probability.parquet")

    select = SelectKOperator(
        task_id="select_k", data=extract(), columns=["basket", "visits", "returned"], ks="2:7", n_subsamples=20
    )

    @task.branch
    def sure(summary: dict[str, Any]) -> str:
        # The probability is None if only one subsample was drawn.
        return "use" if (summary["probability"] or 0.0) >= ENOUGH else "repeat"

    @task
    def use(k: int) -> str:
        return f"{k} segments"

    @task
    def repeat() -> str:
        return "draw more subsamples"

    sure(select.output["selection"]) >> [use(select.output), repeat()]


compsil_probability()
