"""``@task.compsil``, found through the provider."""

from airflow.providers.common.compat.sdk import task
from runs import QUICK, run

from compsil_airflow import SelectKOperator
from compsil_airflow.decorator import CompsilDecoratedOperator, compsil_task


def test_the_function_gives_data_and_the_task_gives_k(frame):
    def build():
        @task.compsil(**QUICK, retries=1)
        def choose(rows: int, ti=None):
            assert ti.task_id == "choose"
            return frame.head(rows)

        @task
        def double(k):
            return 2 * k

        double(choose(300))

    done = run(build)
    assert done.state == "success"
    assert done.xcom(task_id="choose") == 3
    assert done.xcom("selection", "choose")["plan"]["n_rows"] == 300
    assert done.xcom(task_id="double") == 6


def test_arguments_come_from_other_tasks(frame):
    def build():
        @task
        def how_many():
            return 290

        @task.compsil(**QUICK)
        def choose(rows):
            return frame.head(rows)

        choose(how_many())

    assert run(build).xcom("selection", "choose")["plan"]["n_rows"] == 290


def test_mapped_over_parts(frame):
    def build():
        @task.compsil(**QUICK)
        def choose(start):
            return frame.iloc[start:]

        choose.expand(start=[0, 20])

    done = run(build)
    assert [done.xcom("selection", "choose", at)["plan"]["n_rows"] for at in (0, 1)] == [300, 280]


def test_a_function_that_says_it_returns_a_dict_has_one_output_all_the_same(frame):
    def build():
        @task.compsil(**QUICK)
        def choose() -> dict:
            return frame

        choose()

    assert run(build).xcom(task_id="choose") == 3


def test_with_and_without_arguments(frame):
    def load():
        return frame

    for decorated, kwargs in ((compsil_task(load), {}), (compsil_task(ks="2:4")(load), {"ks": "2:4"})):
        assert (decorated.function, decorated.operator_class) == (load, CompsilDecoratedOperator)
        assert (decorated.multiple_outputs, decorated.kwargs) == (False, {"task_id": "load", **kwargs})


def test_its_name_in_the_pages():
    assert CompsilDecoratedOperator.custom_operator_name == "@task.compsil"
    for name in ("template_fields", "template_fields_renderers", "shallow_copy_attrs", "ui_color"):
        assert getattr(CompsilDecoratedOperator, name) == getattr(SelectKOperator, name)
