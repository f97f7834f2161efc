"""Select k for data from a database; ``compsil_example_db`` may be any connection with a DbApiHook."""

from __future__ import annotations

from airflow.providers.common.compat.sdk import Param, dag, task

from compsil_airflow import SelectKOperator
from compsil_airflow.example_dags.customers import make_customers

CONNECTION = "compsil_example_db"


@dag(schedule=None, tags=["compsil", "example"], doc_md=__doc__, params={"region": Param("north", type="string")})
def compsil_sql() -> None:
    """Fill a table, and select k for the rows returned by a query."""

    @task
    def fill() -> int:
        from airflow.providers.common.compat.sdk import BaseHook

        hook = BaseHook.get_connection(CONNECTION).get_hook()
        customers = make_customers()
        hook.run(
            [
                "DROP TABLE IF EXISTS customers",
                "CREATE TABLE customers (customer_id INTEGER, basket NUMERIC(12, 4), visits NUMERIC(12, 4), "
                "returned NUMERIC(12, 4), region VARCHAR(10))",
            ]
        )
        rows = customers.astype({"customer_id": object}).itertuples(index=False, name=None)
        hook.insert_rows("customers", rows, target_fields=list(customers.columns), commit_every=1000)
        return len(customers)

    select = SelectKOperator(
        task_id="select_k",
        # Subsamples are drawn by row position, and without ORDER BY the row order is undefined.
        sql="SELECT basket, visits, returned FROM customers WHERE region = '{{ params.region }}' ORDER BY customer_id",
        conn_id=CONNECTION,
        ks="2:7",
        n_subsamples=20,
        min_probability=0.5,
        fallback_k=3,
    )
    fill() >> select


compsil_sql()
