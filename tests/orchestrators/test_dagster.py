"""The asset, materialized by Dagster's own executors."""

import dagster as dg
import numpy as np
from conftest import KEYWORDS

from compsil_dagster import select_k_asset
from compsil_kit import select_k


def last_metadata(instance, name):
    event = instance.get_latest_materialization_event(dg.AssetKey(name))
    return {key: value.value for key, value in event.asset_materialization.metadata.items()}


def test_the_asset_is_the_selection_of_one_process(table, whole):
    asset = select_k_asset("segments", lambda: table, n_batches=3, rule="lcb", **KEYWORDS)
    with dg.DagsterInstance.ephemeral() as instance:
        done = dg.materialize([asset], instance=instance)
        metadata = last_metadata(instance, "segments")
    assert done.success
    expected = select_k(table, rule="lcb", **KEYWORDS)
    assert done.output_for_node("segments") == expected.best_k == 3
    assert metadata["best_k"] == 3
    assert metadata["score"] == expected.best_score
    assert metadata["probability"] == expected.selection_probability[expected._best_index]
    assert metadata["explanation"] == expected.explain()
    header, *rows = (line.split() for line in metadata["curve"].splitlines()[1:-1])
    shown = np.array(rows, dtype=float)
    assert header == ["k", "score", "sem", "probability"]
    np.testing.assert_array_equal(shown, expected.curve.reset_index()[header].round(4))
    steps = [event.step_key for event in done.all_events if event.event_type_value == "STEP_SUCCESS"]
    assert sum("batch" in step for step in steps) == 3


def test_a_failed_batch_is_retried_alone(table, fragile):
    asset = select_k_asset("fragile", lambda: table, n_batches=3, clusterer=fragile, **KEYWORDS)
    done = dg.materialize([asset], raise_on_error=False)
    assert done.success
    again = [event.step_key for event in done.all_events if event.event_type_value == "STEP_UP_FOR_RETRY"]
    assert again == ["fragile.fragile_batch[1]"]


def test_arguments_of_the_asset_and_its_consumer(table):
    asset = select_k_asset("k", lambda: table, asset={"group_name": "clusters"}, **KEYWORDS)

    @dg.asset
    def doubled(k):
        return 2 * k

    done = dg.materialize([asset, doubled])
    assert done.output_for_node("doubled") == 6
    assert sum("batch" in event.step_key for event in done.all_events if event.is_step_success) == 4
    assert {node.definition.retry_policy.max_retries for node in asset.node_def.nodes} == {2}
    assert asset.group_names_by_key == {dg.AssetKey("k"): "clusters"}


def test_names_of_the_steps_and_their_retries(table):
    asset = select_k_asset("k", lambda: table, retries=5, n_batches=2, asset={"tags": {"team": "a"}}, **KEYWORDS)
    nodes = {node.name: node.definition.retry_policy.max_retries for node in asset.node_def.nodes}
    assert nodes == {"k_plan": 5, "k_batch": 5, "k_combine": 5}
    assert asset.tags_by_key[dg.AssetKey("k")]["team"] == "a"


def test_an_array_is_explained_in_the_log(table, capfd, monkeypatch):
    logged = []
    monkeypatch.setattr("compsil_dagster.log_if_active", logged.append)
    done = dg.materialize([select_k_asset("plain", lambda: table.matrix, n_batches=2, z=2.0, **KEYWORDS)])
    assert done.output_for_node("plain") == 3
    (result,) = logged
    assert (result.preparation, result.z) == (None, 2.0)
    assert result.explain() in capfd.readouterr().err


def test_what_batches_do_not_hold_is_passed_to_each(wide, manhattan, monkeypatch):
    """Names of many columns, and a metric that is a function."""
    logged = []
    monkeypatch.setattr("compsil_dagster.log_if_active", logged.append)
    keywords = {"ks": [2, 3], "n_subsamples": 2, "metric": manhattan}
    assert dg.materialize([select_k_asset("wide", lambda: wide, n_batches=2, **keywords)]).success
    assert logged[0].preparation == wide.preparation
    np.testing.assert_array_equal(logged[0].micro, select_k(wide, **keywords).micro)


def test_an_active_run_of_mlflow_gets_it(table, mlflow_run):
    dg.materialize([select_k_asset("logged", lambda: table, **KEYWORDS)])
    _, run = mlflow_run()
    assert run.data.metrics["best_k"] == 3
