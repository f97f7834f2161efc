"""``@task.compsil``, found through the provider."""

import pytest
from airflow.providers.common.compat.sdk import task
from runs import QUICK, run

from compsil_airflow import SelectKOperator
from compsil_airflow.decorator import CompsilDecoratedOperator, compsil_task


def test_the_function_returns_data_and_the_task_returns_k(frame):
    def build():
        @task
        def how_many():
            return 290

        # Annotated to return a dict, it still has one output.
        @task.compsil(**QUICK, retries=1)
        def choose(rows: int, ti=None) -> dict:
            assert ti.task_id == "choose"
            return frame.head(rows)

        @task
        def double(k):
            return 2 * k

        double(choose(how_many()))

    done = run(build)
    assert done.state == "success"
    assert done.xcom(task_id="choose") == 3
    assert done.xcom("selection", "choose")["plan"]["n_rows"] == 290
    assert done.xcom(task_id="double") == 6


def test_it_can_be_mapped(frame):
    def build():
        @task.compsil(**QUICK)
        def choose(start):
            return frame.iloc[start:]

        choose.expand(start=[0, 20])

    done = run(build)
    assert [done.xcom("selection", "choose", at)["plan"]["n_rows"] for at in (0, 1)] == [300, 280]


@pytest.mark.parametrize("arguments", [{}, {"ks": "2:4"}])
def test_with_and_without_arguments(frame, arguments):
    def load():
        return frame

    decorated = compsil_task(**arguments)(load) if arguments else compsil_task(load)
    assert (decorated.function, decorated.operator_class) == (load, CompsilDecoratedOperator)
    assert (decorated.multiple_outputs, decorated.kwargs) == (False, {"task_id": "load", **arguments})


def test_airflow_shows_it_as_the_operator():
    assert CompsilDecoratedOperator.custom_operator_name == "@task.compsil"
    for name in ("template_fields", "template_fields_renderers", "shallow_copy_attrs", "ui_color"):
        assert getattr(CompsilDecoratedOperator, name) == getattr(SelectKOperator, name)
