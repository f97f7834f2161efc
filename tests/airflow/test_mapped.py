"""A selection spread over mapped tasks is the selection of a single task."""

import json
from datetime import timedelta

import numpy as np
import pandas as pd
import pytest
from airflow.providers.common.compat.sdk import DAG, chain, task
from airflow.providers.standard.operators.empty import EmptyOperator
from runs import QUICK, run, run_select

from compsil_airflow import select_k_mapped

SPREAD = QUICK | {"n_subsamples": 7, "n_calibration": 2}


def run_mapped(**settings):
    return run(lambda: select_k_mapped("select_k", **(SPREAD | settings)))


@pytest.mark.parametrize("n_batches", [1, 3, "20"])
def test_equals_the_single_task_bit_for_bit(csv, tmp_path, n_batches):
    single = run_select(**SPREAD, data=str(csv), labels_path=str(tmp_path / "one.parquet"), rule="lcb", z=0.5)
    spread = run_mapped(
        data=str(csv), labels_path=str(tmp_path / "many.parquet"), rule="lcb", z=0.5, n_batches=n_batches
    )
    assert spread.state == "success"
    assert spread.xcom(task_id="select_k.combine") == single.xcom() == 3
    one, many = single.xcom("selection"), spread.xcom("selection", "select_k.combine")
    assert {**many, "files": []} == {**one, "files": []}
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "many.parquet").read_bytes()


def test_a_failed_batch_is_tried_again_alone(csv):
    calls = []

    def fragile(X, k, seed):
        calls.append(k)
        if len(calls) == 8:
            raise MemoryError
        return np.arange(len(X)) % k

    done = run_mapped(data=str(csv), clusterer=fragile, n_batches=3, retries=1, retry_delay=timedelta(0))
    assert done.state == "success"
    attempts = [done.task("select_k.batch", at).try_number for at in range(3)]
    assert sorted(attempts) == [1, 1, 2]


def test_data_by_reference_and_small_json(csv, frame):
    done = run_mapped(data=str(csv), n_batches=2)
    batch = done.xcom(task_id="select_k.batch", map_index=0)
    assert len(batch["trials"]) == len(batch["indices"]) == 4
    assert len(str(batch)) < 6000
    assert str(frame["x"].iloc[0])[:10] not in str(batch)


def test_mapped_tasks_are_named_by_their_subsamples(csv):
    done = run_mapped(data=str(csv), n_batches=3)
    assert done.task("select_k.batch", 0).rendered_map_index == "subsamples 0 to 2"


def test_behind_another_task_and_before_one(csv):
    def build():
        @task
        def extract():
            return str(csv)

        @task
        def double(k):
            return 2 * k

        select = select_k_mapped("select_k", data=extract(), n_batches=2, **SPREAD)

        @task
        def prelude():
            return None

        @task
        def epilogue():
            return None

        prelude() >> select >> epilogue()
        double(select.output)

    done = run(build)
    assert done.xcom(task_id="double") == 6
    dag = done.dag_run.get_dag()
    # Nothing of the group starts before what is upstream of it has ended.
    assert dag.get_task("select_k.plan").upstream_task_ids == {"extract", "prelude"}
    assert dag.get_task("epilogue").upstream_task_ids == {"select_k.combine"}


@pytest.mark.parametrize("order", ["list", "reversed", "chain", "group"])
def test_every_way_to_order_the_group(order):
    with DAG("ordered", schedule=None) as dag:
        before, after = (EmptyOperator(task_id=name) for name in ("before", "after"))
        select = select_k_mapped("select_k", data="x.csv")
        if order == "list":
            [before] >> select >> [after]
        elif order == "reversed":
            after << select << before
        elif order == "chain":
            chain(before, select, after)
        else:
            before >> select.task_group >> after
    assert dag.get_task("select_k.plan").upstream_task_ids == {"before"}
    assert dag.get_task("after").upstream_task_ids == {"select_k.combine"}


def test_a_dag_that_is_passed():
    """Outside of a with statement."""
    dag = DAG("passed", schedule=None)
    before = EmptyOperator(task_id="before", dag=dag)
    before >> select_k_mapped("select_k", data="x.csv", dag=dag)
    assert set(dag.task_ids) == {"before", *(f"select_k.{step}" for step in ("plan", "batch", "combine"))}
    assert "select_k" in dag.task_group.children
    assert dag.get_task("select_k.plan").n_batches == 8
    assert dag.get_task("select_k.plan").upstream_task_ids == {"before"}


def test_names_of_mapped_tasks_are_the_users(csv):
    done = run_mapped(data=str(csv), n_batches=2, map_index_template="{{ task.task_id }} of {{ subsamples }}")
    assert done.task("select_k.batch", 0).rendered_map_index == "select_k.batch of subsamples 0 to 3"


def test_parameters_from_upstream(csv):
    def build():
        @task
        def choose():
            return "manhattan"

        select_k_mapped("select_k", data=str(csv), metric=choose(), n_batches=2, **SPREAD)

    done = run(build)
    assert done.state == "success"
    assert done.xcom("selection", "select_k.combine")["plan"]["metric"] == "manhattan"


def test_names_of_columns_are_pushed_once(tmp_path):
    names = [f"a rather long name of column {at}" for at in range(400)]
    pd.DataFrame(np.random.default_rng(0).normal(size=(60, 400)), columns=names).to_csv(tmp_path / "w.csv", index=False)
    settings = {"columns": None, "data": str(tmp_path / "w.csv")}
    done = run_mapped(**settings, n_batches=2)
    assert done.state == "success"
    assert len(json.dumps(done.xcom(task_id="select_k.plan")[0])) < 2048
    assert len(json.dumps(done.xcom(task_id="select_k.batch", map_index=0))) < 4096
    assert done.xcom("preparation", "select_k.plan")["columns"] == names
    single = run_select(**(SPREAD | settings))
    assert done.xcom("selection", "select_k.combine") == single.xcom("selection")


def test_without_xcom_the_last_step_pushes_nothing(csv):
    done = run_mapped(data=str(csv), n_batches=2, do_xcom_push=False)
    assert done.state == "success"
    assert done.xcom("selection", "select_k.combine") is None


def test_a_place_for_labels_is_checked_by_the_first_step(csv, tmp_path):
    (tmp_path / "file").write_text("")
    done = run_mapped(data=str(csv), labels_path=str(tmp_path / "file" / "l.csv"), n_batches=2)
    assert str(done.task("select_k.plan").state) == "failed"


def test_data_that_change_in_between_are_noticed(csv, frame, capfd):
    reads = []

    def load():
        reads.append(1)
        return frame if len(reads) == 1 else frame.iloc[1:]

    done = run_mapped(python_callable=load, n_batches=1, retries=1, retry_delay=timedelta(0))
    assert done.state == "failed"
    assert done.task("select_k.batch", 0).try_number == 1
    printed = capfd.readouterr()
    assert "batch was planned for another selection: the content of X differs" in printed.out + printed.err


def test_not_sure_and_outlets_belong_to_the_last_step(csv):
    done = run_mapped(data=str(csv), min_probability=0.2, report_url="https://reports.example/x.html", n_batches=2)
    assert done.xcom("report_url", "select_k.combine") == "https://reports.example/x.html"
    assert done.xcom("report_url", "select_k.plan") is None


def test_takes_no_checkpoint():
    with pytest.raises(TypeError, match="select_k_mapped takes no checkpoint"):
        select_k_mapped("select_k", data="x.csv", checkpoint="x.json")


def test_labels_of_the_last_step_are_read_from_the_data(csv, tmp_path):
    run_mapped(data=str(csv), labels_path=str(tmp_path / "l.csv"), labels_keep=["key"], n_batches=2)
    assert list(pd.read_csv(tmp_path / "l.csv").columns) == ["row", "key", "cluster"]
