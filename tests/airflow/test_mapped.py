"""A selection divided among mapped tasks equals the selection of a single task."""

import json

import numpy as np
import pandas as pd
import pytest
from airflow.providers.common.compat.sdk import DAG, chain
from airflow.providers.standard.operators.empty import EmptyOperator
from runs import QUICK, RETRY, double, failing, run, run_select, upstream

from compsil_airflow import select_k_mapped

MAPPED = QUICK | {"n_subsamples": 7}


def run_mapped(**settings):
    return run(lambda: select_k_mapped("select_k", **(MAPPED | settings)))


def half(discrepancy):
    return discrepancy * 0.0 + 0.5


@pytest.mark.parametrize(
    ("n_batches", "settings"),
    [
        (1, {"rule": "lcb", "z": 0.5, "n_calibration": 2}),
        ("20", {"criterion": "stable", "on_failure": "skip"}),
        (3, {"transform": half, "metric": "manhattan", "structure": False, "random_state": 7}),
    ],
)
def test_the_result_equals_the_single_task_bit_for_bit(csv, tmp_path, n_batches, settings):
    settings = {"data": str(csv), "labels_keep": ["key"], **MAPPED, **settings}
    single = run_select(labels_path=str(tmp_path / "one.parquet"), **settings)
    mapped = run_mapped(labels_path=str(tmp_path / "many.parquet"), n_batches=n_batches, **settings)
    assert mapped.xcom(task_id="select_k.combine") == single.xcom() == 3
    one, many = single.summary(), mapped.summary("select_k.combine")
    assert {**many, "files": []} == {**one, "files": []}
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "many.parquet").read_bytes()


def test_a_failed_batch_is_retried_alone(csv):
    done = run_mapped(data=str(csv), clusterer=failing(8, MemoryError()), n_batches=3, **RETRY)
    assert done.state == "success"
    assert sorted(done.task("select_k.batch", at).try_number for at in range(3)) == [1, 1, 2]


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({}, "subsamples 0 to 2"),
        ({"map_index_template": "{{ task.task_id }} of {{ subsamples }}"}, "select_k.batch of subsamples 0 to 2"),
    ],
)
def test_mapped_tasks_are_named_by_their_subsamples(csv, settings, name):
    done = run_mapped(data=str(csv), n_batches=2, **settings)
    assert done.task("select_k.batch", 0).rendered_map_index == name


def test_batches_are_small_and_column_names_are_pushed_once(tmp_path):
    names = [f"a rather long name of column {at}" for at in range(400)]
    data = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 400)), columns=names)
    data.to_csv(tmp_path / "w.csv", index=False)
    done = run_mapped(columns=None, data=str(tmp_path / "w.csv"), n_batches=2)
    assert len(json.dumps(done.xcom(task_id="select_k.plan")[0])) < 2048
    batch = json.dumps(done.xcom(task_id="select_k.batch", map_index=0))
    assert len(batch) < 4096
    assert str(data.iloc[0, 0])[:10] not in batch
    assert done.xcom("preparation", "select_k.plan")["columns"] == names
    assert done.summary("select_k.combine")["n_columns"] == 400


def test_the_last_step_publishes(csv):
    url = "https://reports.example/x.html"
    done = run_mapped(data=str(csv), report_url=url, n_batches=2)
    assert [done.xcom("report_url", f"select_k.{step}") for step in ("plan", "combine")] == [None, url]
    silent = run_mapped(data=str(csv), n_batches=2, do_xcom_push=False)
    assert (silent.state, silent.summary("select_k.combine")) == ("success", None)


def test_the_first_step_checks_where_labels_will_be_written(csv, tmp_path):
    done = run_mapped(data=str(csv), labels_path=str(tmp_path / "l.xlsx"), n_batches=2)
    assert str(done.task("select_k.plan").state) == "failed"


def test_data_that_change_between_the_steps_are_refused(frame, log):
    reads = []

    def load():
        reads.append(1)
        return frame if len(reads) == 1 else frame.iloc[::-1]

    done = run_mapped(python_callable=load, n_batches=1, **RETRY)
    assert done.state == "failed"
    assert done.task("select_k.batch", 0).try_number == 1
    assert "batch was planned for another selection: the content of X differs" in log()


def test_it_has_no_checkpoint():
    with pytest.raises(TypeError, match="select_k_mapped has no checkpoint"):
        select_k_mapped("select_k", data="x.csv", checkpoint="x.json")


class TestOrder:
    def test_between_other_tasks(self, csv):
        def build():
            double(select_k_mapped("select_k", data=upstream(str(csv)), n_batches=2, **MAPPED).output)

        done = run(build)
        assert done.xcom(task_id="double") == 6
        assert done.dag_run.get_dag().get_task("select_k.plan").upstream_task_ids == {"extract"}

    @pytest.mark.parametrize(
        "order",
        [
            lambda before, select, after: before >> select >> after,
            lambda before, select, after: [before] >> select >> [after],
            lambda before, select, after: after << select << before,
            chain,
            lambda before, select, after: before >> select.task_group >> after,
        ],
        ids=["plain", "list", "reversed", "chain", "group"],
    )
    def test_every_way_to_order_the_group(self, order):
        with DAG("ordered", schedule=None) as dag:
            before, after = (EmptyOperator(task_id=name) for name in ("before", "after"))
            order(before, select_k_mapped("select_k", data="x.csv"), after)
        assert dag.get_task("select_k.plan").upstream_task_ids == {"before"}
        assert dag.get_task("after").upstream_task_ids == {"select_k.combine"}

    def test_outside_of_a_with_statement(self):
        dag = DAG("passed", schedule=None)
        before = EmptyOperator(task_id="before", dag=dag)
        before >> select_k_mapped("select_k", data="x.csv", dag=dag)
        assert set(dag.task_ids) == {"before", *(f"select_k.{step}" for step in ("plan", "batch", "combine"))}
        assert "select_k" in dag.task_group.children
        assert dag.get_task("select_k.plan").n_batches == 8
        assert dag.get_task("select_k.plan").upstream_task_ids == {"before"}
