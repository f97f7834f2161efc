"""Two DAGs tied by an asset: one selects k, the other starts by itself and reads k from the event."""

from __future__ import annotations

from typing import Any

from airflow.sdk import Asset, dag, task

from compsil_airflow.example_dags.customers import make_customers

SEGMENTS = Asset("compsil_customer_segments")


@dag(schedule=None, tags=["compsil", "example"], doc_md=__doc__)
def compsil_asset_producer() -> None:
    """Select k of what the decorated function returns; the asset's event carries best_k."""

    @task.compsil(ks="2:7", n_subsamples=15, columns=["basket", "visits", "returned"], outlets=[SEGMENTS])
    def select_k() -> Any:
        return make_customers()

    select_k()


@dag(schedule=[SEGMENTS], tags=["compsil", "example"], doc_md=__doc__)
def compsil_asset_consumer() -> None:
    """Run whenever there is a new k."""

    @task(inlets=[SEGMENTS])
    def use(inlet_events: Any = None) -> int:
        # The last event of the asset, whatever started this run.
        return int(inlet_events[SEGMENTS][-1].extra["best_k"])

    use()


compsil_asset_producer()
compsil_asset_consumer()
