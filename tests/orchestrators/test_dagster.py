"""The asset, materialized by Dagster's own executors."""

import dagster as dg
import numpy as np
import pytest
from conftest import KEYWORDS, SETTINGS

from compsil_dagster import select_k_asset
from compsil_kit import select_k


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_the_asset_equals_select_k(table, monkeypatch, settings):
    logged = []
    monkeypatch.setattr("compsil_dagster.log_if_active", logged.append)
    keywords = {**KEYWORDS, **settings}
    done = dg.materialize([select_k_asset("segments", lambda: table, n_batches=3, **keywords)])
    expected = select_k(table, **keywords)
    assert done.output_for_node("segments") == expected.best_k
    assert logged[0].to_dict() == expected.to_dict()
    assert logged[0].preparation == table.preparation


def test_metadata_log_and_steps(table, whole, capfd):
    asset = select_k_asset("segments", lambda: table, n_batches=3, **KEYWORDS)
    with dg.DagsterInstance.ephemeral() as instance:
        done = dg.materialize([asset], instance=instance)
        event = instance.get_latest_materialization_event(dg.AssetKey("segments"))
    found = event.asset_materialization.metadata
    metadata = {key: value.value for key, value in found.items() if key != "path"}
    curve = metadata.pop("curve")
    assert metadata == {
        "best_k": 3, "score": whole.best_score, "probability": whole.curve["probability"][3],
        "explanation": whole.explain(),
    }  # fmt: skip
    header, *rows = (line.split() for line in curve.splitlines()[1:-1])
    assert header == ["k", "score", "sem", "probability"]
    np.testing.assert_array_equal(np.array(rows, dtype=float), whole.curve.reset_index()[header].round(4))
    assert whole.explain() in capfd.readouterr().err
    assert sum("batch" in event.step_key for event in done.all_events if event.is_step_success) == 3


def test_a_failed_batch_is_retried_alone(table, fragile):
    asset = select_k_asset("fragile", lambda: table, n_batches=3, clusterer=fragile, **KEYWORDS)
    done = dg.materialize([asset], raise_on_error=False)
    assert done.success
    retried = [event.step_key for event in done.all_events if event.event_type_value == "STEP_UP_FOR_RETRY"]
    assert retried == ["fragile.fragile_batch[1]"]


def test_arguments_of_the_asset_and_its_consumer(table):
    asset = select_k_asset("k", lambda: table.matrix, retries=5, asset={"group_name": "clusters"}, **KEYWORDS)

    @dg.asset
    def doubled(k):
        return 2 * k

    done = dg.materialize([asset, doubled])
    assert done.output_for_node("doubled") == 6
    assert sum("batch" in event.step_key for event in done.all_events if event.is_step_success) == 4
    retries = {node.name: node.definition.retry_policy.max_retries for node in asset.node_def.nodes}
    assert retries == {"k_plan": 5, "k_batch": 5, "k_combine": 5}
    assert asset.group_names_by_key == {dg.AssetKey("k"): "clusters"}
