"""Two DAGs connected by an asset: the first selects k, and the asset event triggers the second, which reads k."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from airflow.providers.common.compat.sdk import Asset, dag, task

from compsil_airflow.example_dags.customers import make_customers

SEGMENTS = Asset("compsil_customer_segments")


@dag(schedule=None, tags=["compsil", "example"], doc_md=__doc__)
def compsil_asset_producer() -> None:
    """Select k for the table returned by the decorated function; the asset event contains best_k."""

    @task.compsil(ks="2:7", n_subsamples=15, columns=["basket", "visits", "returned"], outlets=[SEGMENTS])
    def select_k() -> Any:
        return make_customers()

    select_k()


# Airflow 2 requires a start date for every DAG with a schedule.
@dag(schedule=[SEGMENTS], start_date=datetime(2026, 1, 1), tags=["compsil", "example"], doc_md=__doc__)
def compsil_asset_consumer() -> None:
    """Run whenever a new k has been selected."""

    @task(inlets=[SEGMENTS])
    def use(inlet_events: Any = None) -> int:
        # This is the latest asset event, even if the run was triggered manually.
        return int(inlet_events[SEGMENTS][-1].extra["best_k"])

    use()


compsil_asset_producer()
compsil_asset_consumer()
