"""Strings are parsed into parameter values, and only strings written in the DAG are rendered as templates."""

import pytest
from airflow.providers.common.compat.sdk import task
from runs import QUICK, run, select, upstream
from sklearn.cluster import KMeans

from compsil_airflow import SelectKOperator, select_k_mapped
from compsil_airflow.compat import AirflowFailException
from compsil_airflow.mapped import PlanBatchesOperator
from compsil_airflow.parameters import unwrap, wrap

TEMPLATE = "{{ 6 * 7 }}"


class TestParsing:
    @pytest.mark.parametrize(
        ("name", "text", "value"),
        [
            ("ks", ["2", 3], (2, 3)),
            ("ks", 4, (4,)),
            ("random_state", ["7", 8], (7, 8)),
            ("columns", ["a, b", "3"], ["a, b", "3"]),
        ],
    )
    def test_settings_are_parsed(self, name, text, value):
        given = {"random_state": {"n_subsamples": 2}}.get(name, {})
        operator = SelectKOperator(task_id="t", data="a.csv", **{**given, name: text})
        operator._parse_parameters()
        config = operator._table if name == "columns" else operator._selection
        assert getattr(config, name) == value

    @pytest.mark.parametrize(
        ("name", "text", "value"),
        [
            ("labels_keep", "a, b", ["a", "b"]),
            ("min_probability", "0.8", 0.8),
            ("min_confidence", "0.6", 0.6),
            ("fallback_k", "3", 3),
            ("n_batches", "4", 4),
            *((name, "", None) for name in ("checkpoint", "base_dir", "on_unsure", "report_url", "report_path")),
            *((name, "none", None) for name in ("labels_keep", "min_probability", "min_confidence", "fallback_k")),
        ],
    )
    def test_operator_parameters_are_parsed(self, name, text, value):
        others = {"labels_keep": {"labels_path": "/tmp/l.csv"}, "fallback_k": {"min_probability": 0.5}}.get(name, {})
        operator = PlanBatchesOperator(task_id="t", data="a.csv", **{"n_batches": 8, **others, name: text})
        operator._parse_parameters()
        assert getattr(operator, name) == value

    @pytest.mark.parametrize(
        ("name", "text"),
        [("ks", "two"), ("ks", ["2", "x"]), ("columns", "[a, b"), ("min_probability", "often"), ("labels_keep", "[a")],
    )
    def test_parse_errors_name_the_parameter(self, name, text):
        with pytest.raises(AirflowFailException, match=f"^{name} must "):
            SelectKOperator(task_id="t", data="a.csv", **{name: text})._parse_parameters()


def expand(**settings):
    """Add a mapped selection task with a single map index."""
    fixed = QUICK | {name: settings.pop(name) for name in ("data", "params") if name in settings}
    operator = SelectKOperator.partial(task_id="select_k", **fixed)
    return operator.expand_kwargs(settings["kwargs"]) if "kwargs" in settings else operator.expand(**settings)


class TestStringsFromXCom:
    """A user who can write an XCom must not be able to render a template, because templates can read connections."""

    @pytest.mark.parametrize(
        ("name", "build"),
        [
            ("clusterer", lambda data: select(data=data, clusterer=upstream(TEMPLATE))),
            ("clusterer", lambda data: expand(data=data, clusterer=upstream([TEMPLATE]))),
            ("clusterer", lambda data: expand(data=data, kwargs=upstream([{"clusterer": TEMPLATE}]))),
            ("transform", lambda data: expand(data=data, kwargs=upstream([{"transform": TEMPLATE}]))),
            ("rule", lambda data: expand(data=data, kwargs=[upstream({"rule": TEMPLATE})])),
        ],
        ids=["upstream", "expand", "expand_kwargs", "expand_kwargs of a function", "references"],
    )
    def test_strings_are_not_rendered(self, csv, name, build, log):
        assert run(lambda: build(str(csv))).state == "failed"
        text = log()
        assert f"{name} must be one of" in text
        assert f"got '{TEMPLATE}'" in text
        assert "got '42'" not in text

    def test_arguments_of_a_decorated_function_are_not_rendered(self, frame):
        seen = []

        def build():
            @task.compsil(**QUICK)
            def choose(text, other):
                seen.extend([text, other])
                return frame

            choose.partial(other="{{ 2 * 2 }}").expand_kwargs(upstream([{"text": TEMPLATE}]))

        assert run(build).state == "success"
        assert seen == [TEMPLATE, "4"]

    def test_strings_are_recognised_by_identity(self, monkeypatch):
        monkeypatch.setattr("compsil_airflow.parameters._values_of_expand_kwargs", lambda *given: [TEMPLATE])
        operator = SelectKOperator(task_id="t")
        assert operator.render_template(TEMPLATE, {}) is TEMPLATE
        # The DAG may contain an equal string.
        assert operator.render_template("".join(list(TEMPLATE)), {}) == "42"


class TestStringsFromTheDag:
    @pytest.mark.parametrize(
        "mapped",
        [
            lambda: {"clusterer": ["{{ params.clusterer }}"]},
            lambda: {"kwargs": [{"clusterer": "{{ params.clusterer }}"}]},
            lambda: {"kwargs": upstream([{"clusterer": "bisecting-kmeans"}]), "data": "{{ params.data }}"},
        ],
    )
    def test_templates_in_a_mapped_task_are_rendered(self, csv, mapped):
        params = {"clusterer": "bisecting-kmeans", "data": str(csv)}
        done = run(lambda: expand(**({"data": str(csv), "params": params} | mapped())))
        assert done.summary(map_index=0)["plan"]["clusterer"] == "bisecting-kmeans"

    def test_settings_may_come_from_upstream_tasks_in_every_step(self, csv):
        given = {"metric": "chebyshev", "transform": "step"}

        def build():
            for add in (SelectKOperator, select_k_mapped):
                outputs = {name: upstream(value) for name, value in given.items()}
                add(task_id="select_k" if add is SelectKOperator else "mapped", data=str(csv), **outputs, **QUICK)

        done = run(build)
        for task_id in ("select_k", "mapped.combine"):
            settings = done.summary(task_id)["settings"]
            assert {name: settings[name] for name in given} == given


def test_functions_and_estimators_are_wrapped():
    for value, shown in ((len, "len"), (KMeans, "KMeans"), (KMeans(), "KMeans"), (KMeans.fit, "KMeans.fit")):
        assert repr(wrap(value)) == shown
        assert unwrap(wrap(value)) is value
    for value in ("kmeans", None, 5):
        assert unwrap(value) is wrap(value) is value
