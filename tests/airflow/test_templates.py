"""What is rendered as a template, and what never is."""

from types import SimpleNamespace

import pytest
from airflow.providers.common.compat.sdk import task
from runs import QUICK, run, run_select
from sklearn.cluster import KMeans

from compsil_airflow import SelectKOperator, select_k_mapped
from compsil_airflow.parameters import (
    Untemplated,
    _values_of_expand_kwargs,
    passed_by_dag,
    passed_by_expand,
    unwrap,
    wrap,
)

TEMPLATE = "{{ 6 * 7 }}"


def upstream(value):
    """Add a task that returns a value."""

    @task
    def names():
        return value

    return names()


def expand(**settings):
    """Add a mapped selection with one map index."""
    fixed = QUICK | {name: settings.pop(name) for name in ("data", "params") if name in settings}
    operator = SelectKOperator.partial(task_id="select_k", **fixed)
    return operator.expand_kwargs(settings["kwargs"]) if "kwargs" in settings else operator.expand(**settings)


class TestTextFromAnXCom:
    """Whoever can write an XCom must not be able to run a template, which can read connections."""

    def refuse(self, build, name, capfd):
        assert run(build).state == "failed"
        printed = capfd.readouterr()
        assert f"{name} must be one of" in printed.out + printed.err
        assert f"got '{TEMPLATE}'" in printed.out + printed.err
        assert "got '42'" not in printed.out + printed.err

    def test_expand(self, csv, capfd):
        self.refuse(lambda: expand(data=str(csv), clusterer=upstream([TEMPLATE])), "clusterer", capfd)

    @pytest.mark.parametrize("name", ["clusterer", "transform", "rule"])
    def test_expand_kwargs(self, csv, name, capfd):
        self.refuse(lambda: expand(data=str(csv), kwargs=upstream([{name: TEMPLATE}])), name, capfd)

    def test_expand_kwargs_with_a_list_of_references(self, csv, capfd):
        self.refuse(lambda: expand(data=str(csv), kwargs=[upstream({"rule": TEMPLATE})]), "rule", capfd)

    def test_output(self, csv, capfd):
        self.refuse(
            lambda: SelectKOperator(task_id="select_k", data=str(csv), clusterer=upstream(TEMPLATE), **QUICK),
            "clusterer",
            capfd,
        )

    def test_arguments_of_a_decorated_function(self, frame):
        seen = []

        def build():
            @task.compsil(**QUICK)
            def choose(text, other):
                seen.extend([text, other])
                return frame

            choose.partial(other="{{ 2 * 2 }}").expand_kwargs(upstream([{"text": TEMPLATE}]))

        assert run(build).state == "success"
        assert seen == [TEMPLATE, "4"]


class TestTextOfTheAuthor:
    def used(self, done, map_index=-1):
        assert done.state == "success"
        return done.xcom("selection", map_index=map_index)["plan"]["clusterer"]

    def test_a_task(self, csv):
        template = {"clusterer": "{{ params.clusterer }}", "params": {"clusterer": "bisecting-kmeans"}}
        assert self.used(run_select(data=str(csv), **template)) == "bisecting-kmeans"

    def test_a_mapped_task(self, csv):
        settings = {"data": str(csv), "params": {"clusterer": "bisecting-kmeans"}}
        for mapped in (
            {"clusterer": ["{{ params.clusterer }}"]},
            {"kwargs": [{"clusterer": "{{ params.clusterer }}"}]},
        ):
            done = run(lambda mapped=mapped: expand(**settings, **mapped))
            assert self.used(done, 0) == "bisecting-kmeans"

    def test_the_other_parameters_of_a_mapped_task(self, csv):
        def build():
            SelectKOperator.partial(
                task_id="select_k", data="{{ params.data }}", params={"data": str(csv)}, **QUICK
            ).expand_kwargs(upstream([{"clusterer": "bisecting-kmeans"}]))

        assert self.used(run(build), 0) == "bisecting-kmeans"


def test_names_may_come_from_upstream_tasks(csv):
    def build():
        SelectKOperator(
            task_id="select_k", data=str(csv), metric=upstream("chebyshev"), transform=upstream("step"), **QUICK
        )

    done = run(build)
    summary = done.xcom("selection")
    assert (summary["plan"]["metric"], summary["settings"]["transform"]) == ("chebyshev", "step")


def test_names_from_upstream_tasks_reach_every_step_of_a_mapped_selection(csv):
    done = run(lambda: select_k_mapped("select_k", data=str(csv), metric=upstream("chebyshev"), n_batches=2, **QUICK))
    assert done.state == "success"
    assert done.xcom("selection", "select_k.combine")["plan"]["metric"] == "chebyshev"


def test_functions_are_not_called_by_airflow_and_shown_by_name(csv):
    def halves(discrepancy):
        return discrepancy * 0.0 + 0.5

    operator = SelectKOperator(task_id="t", transform=halves)
    assert str(operator.transform) == halves.__qualname__
    done = run_select(data=str(csv), transform=halves)
    assert done.xcom("selection")["settings"]["transform"] == "halves"


def test_estimators_are_shown_by_their_class():
    assert str(wrap(KMeans())) == "KMeans"
    assert isinstance(unwrap(wrap(KMeans())), KMeans)
    assert wrap("kmeans") == unwrap("kmeans") == "kmeans"


def test_what_is_hidden():
    estimator = SimpleNamespace(get_params=None)
    for value in (len, KMeans, estimator):
        hidden = wrap(value)
        assert isinstance(hidden, Untemplated)
        assert unwrap(hidden) is hidden.value is value
    assert [repr(wrap(value)) for value in (len, estimator)] == ["len", "SimpleNamespace"]
    for value in ("kmeans", None, 5):
        assert wrap(value) is value


XCOM = SimpleNamespace(operator=SimpleNamespace(task_id="extract"))


def in_a_dag(**mapped):
    """An operator whose entry in the DAG is a mapped one."""
    entry = SimpleNamespace(**mapped)
    return SimpleNamespace(task_id="t", get_dag=lambda: SimpleNamespace(task_dict={"t": entry}))


def test_what_the_dag_passes():
    names = ("data", "sql")
    assert passed_by_dag(SimpleNamespace(data="a.csv", sql=None), names) == {"data": None}
    assert passed_by_dag(SimpleNamespace(data=None, sql=XCOM), names) == {"sql": "extract"}
    mapped = SimpleNamespace(value={"data": XCOM, "ks": [2]})
    assert passed_by_expand(in_a_dag(expand_input=mapped), names) == {"data": "extract"}
    for value in (XCOM, ["data"], {"ks": [2]}):
        assert passed_by_expand(in_a_dag(expand_input=SimpleNamespace(value=value)), names) == {}
    assert passed_by_expand(in_a_dag(), names) == {}
    assert passed_by_expand(SimpleNamespace(task_id="t", get_dag=lambda: None), names) == {}


def test_which_values_came_from_an_xcom():
    context = {"ti": SimpleNamespace(map_index=1)}
    item = SimpleNamespace(resolve=lambda context: {"rule": "max", "other": 1})
    whole = SimpleNamespace(resolve=lambda context: [{}, {"rule": "max", "other": 1}])
    for given, found in (
        ({"rule": XCOM}, []),
        ([{}, {"rule": "max"}], []),
        ([{}, item], ["lcb"]),
        (whole, ["lcb"]),
    ):
        operator = in_a_dag(expand_input=SimpleNamespace(value=given))
        operator.rule = "lcb"
        assert _values_of_expand_kwargs(operator, context) == found
        decorated = in_a_dag(op_kwargs_expand_input=SimpleNamespace(value=given), expand_input=None)
        decorated.op_kwargs, decorated.rule = {"rule": "lcb"}, "max"
        assert _values_of_expand_kwargs(decorated, context) == found
    assert _values_of_expand_kwargs(in_a_dag(), context) == []
    assert _values_of_expand_kwargs(SimpleNamespace(task_id="t", get_dag=lambda: None), context) == []


def test_values_from_an_xcom_are_told_apart_by_identity(monkeypatch):
    looked = []
    monkeypatch.setattr(
        "compsil_airflow.parameters._values_of_expand_kwargs", lambda *given: looked.append(given) or [TEMPLATE]
    )
    operator = SelectKOperator(task_id="t")
    assert operator.render_template(TEMPLATE, {}) is TEMPLATE
    # The author may have written the same text.
    assert operator.render_template("".join(list(TEMPLATE)), {}) == "42"
    assert looked == [(operator, {})]
