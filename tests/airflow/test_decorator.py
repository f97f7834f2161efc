"""``@task.compsil``, found through the provider."""

import pytest
from airflow.providers.common.compat.sdk import task
from runs import QUICK, double, run, upstream

from compsil_airflow import SelectKOperator
from compsil_airflow.decorator import CompsilDecoratedOperator, compsil_task


def test_the_function_returns_data_and_the_task_returns_k(frame):
    def build():
        # Annotated to return a dict, it still has one output.
        @task.compsil(**QUICK, retries=1)
        def choose(rows: int, ti=None) -> dict:
            assert ti.task_id == "choose"
            return frame.head(rows)

        double(choose(upstream(290)))

    done = run(build)
    assert done.xcom(task_id="choose") == 3
    assert done.summary("choose")["plan"]["n_rows"] == 290
    assert done.xcom(task_id="double") == 6


def test_it_can_be_mapped(frame):
    def build():
        @task.compsil(**QUICK)
        def choose(start):
            return frame.iloc[start:]

        choose.expand(start=[0, 20])

    done = run(build)
    assert [done.summary("choose", at)["plan"]["n_rows"] for at in (0, 1)] == [300, 280]


@pytest.mark.parametrize("arguments", [{}, {"ks": "2:4"}])
def test_with_and_without_arguments(frame, arguments):
    def load():
        return frame

    decorated = compsil_task(**arguments)(load) if arguments else compsil_task(load)
    assert (decorated.function, decorated.operator_class) == (load, CompsilDecoratedOperator)
    assert (decorated.multiple_outputs, decorated.kwargs) == (False, {"task_id": "load", **arguments})


@pytest.mark.parametrize("name", ["template_fields", "template_fields_renderers", "shallow_copy_attrs"])
def test_airflow_treats_it_as_the_operator(name):
    assert getattr(CompsilDecoratedOperator, name) == getattr(SelectKOperator, name)
