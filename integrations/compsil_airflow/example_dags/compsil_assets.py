"""Two DAGs connected by an asset: one selects k, and the other is triggered by the event and reads k from it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from airflow.providers.common.compat.sdk import Asset, dag, task

from compsil_airflow.example_dags.customers import make_customers

SEGMENTS = Asset("compsil_customer_segments")


@dag(schedule=None, tags=["compsil", "example"], doc_md=__doc__)
def compsil_asset_producer() -> None:
    """Select k for the table that the decorated function returns; the event of the asset carries best_k."""

    @task.compsil(ks="2:7", n_subsamples=15, columns=["basket", "visits", "returned"], outlets=[SEGMENTS])
    def select_k() -> Any:
        return make_customers()

    select_k()


# Airflow 2 wants a start date for every DAG with a schedule.
@dag(schedule=[SEGMENTS], start_date=datetime(2026, 1, 1), tags=["compsil", "example"], doc_md=__doc__)
def compsil_asset_consumer() -> None:
    """Run whenever there is a new k."""

    @task(inlets=[SEGMENTS])
    def use(inlet_events: Any = None) -> int:
        # The latest event of the asset, also if the run was triggered by hand.
        return int(inlet_events[SEGMENTS][-1].extra["best_k"])

    use()


compsil_asset_producer()
compsil_asset_consumer()
