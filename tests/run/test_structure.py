import json

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from compsil_kit import (
    CompositeSilhouette,
    Interrupted,
    SelectionResult,
    select_k,
    stream,
)
from compsil_kit._method.structure import MAX_COMPARED_ROWS, REFERENCE_KINDS
from compsil_kit._run import structure
from compsil_kit.plan import Plan

BLOBS = make_blobs(120, 2, centers=3, cluster_std=0.5, random_state=0)[0]
CLOUD = np.random.default_rng(0).normal(size=(120, 3))
FEW = {"ks": range(2, 5), "n_subsamples": 3}


@pytest.fixture(autouse=True)
def _few_references(monkeypatch):
    monkeypatch.setattr(structure, "N_NULL", 19)


@pytest.fixture
def found():
    return select_k(BLOBS, structure=True, **FEW)


@pytest.fixture
def none():
    return select_k(CLOUD, structure=True, **FEW)


def test_the_structure_test_distinguishes_data_with_and_without_clusters(found, none):
    assert found.structure.found
    assert found.structure.p_value == 0.05
    assert found.structure.n_null == 19
    assert found.structure.n_rows == 120
    cloud = none.structure
    assert not cloud.found
    assert cloud.p_value == pytest.approx(np.mean(list(cloud.p_values.values())))
    assert list(cloud.p_values) == list(REFERENCE_KINDS)


def test_the_selection_does_not_depend_on_the_test(found, monkeypatch):
    monkeypatch.setattr(structure, "judge", None)
    plain = select_k(BLOBS, **FEW)
    assert plain.structure is None
    assert plain.to_dict()["trials"] == found.to_dict()["trials"]
    assert plain.best_k == found.best_k


def test_the_outcome_depends_on_the_seed_but_not_on_the_number_of_subsamples(found):
    assert select_k(BLOBS, structure=True, **{**FEW, "n_subsamples": 5}).structure == found.structure
    assert select_k(BLOBS, structure=True, random_state=7, **FEW).structure != found.structure


def test_the_compared_rows_are_stable():
    """Results of earlier releases depend on them."""
    plan = Plan(9000, 2, (2, 3), 1, 0, 9000, (1,), "kmeans", "euclidean", "float64")
    rows = structure.compared_rows(plan)
    assert len(set(rows)) == MAX_COMPARED_ROWS
    assert rows[:4].tolist() == [8168, 1042, 3633, 8807]


def test_a_stream_and_the_estimator_give_the_same_outcome(found):
    results = list(stream(BLOBS, structure=True, **FEW))
    assert [result.structure for result in results] == [None, None, None, found.structure]
    assert CompositeSilhouette(structure=True, **FEW).fit(BLOBS).result_.structure == found.structure


def test_the_outcome_of_the_structure_test_is_saved(found):
    saved = json.loads(json.dumps(found.to_dict()))
    assert SelectionResult.from_dict(saved).structure == found.structure
    assert SelectionResult.from_dict(saved).to_dict() == found.to_dict()
    assert found.reweigh(rule="lcb").structure == found.structure
    # Files written by earlier releases have no structure test.
    del saved["structure"], saved["plan"]["structure"], saved["digest"]
    assert SelectionResult.from_dict(saved).structure is None


@pytest.mark.parametrize("change", [{"p_value": 2.0}, {"p_values": {}}, {"n_null": 0}, {"statistic": "large"}])
def test_invalid_outcomes_in_files_raise(found, change):
    saved = found.to_dict()
    saved["structure"].update(change)
    del saved["digest"]
    with pytest.raises(ValueError, match=r"data\.structure"):
        SelectionResult.from_dict(saved)


def test_progress_includes_the_structure_test():
    steps = []
    select_k(BLOBS, structure=True, progress=lambda *counts: steps.append(counts), **FEW)
    assert steps == [(done, 23) for done in range(1, 24)]


def test_an_interrupt_keeps_the_selection(found):
    def interrupt(done, total):
        if done == 8:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted) as stopped:
        select_k(BLOBS, structure=True, progress=interrupt, **FEW)
    kept = stopped.value.result
    assert kept.structure is None
    assert not kept.partial
    assert kept.best_k == found.best_k


def test_a_k_with_too_few_distinct_points_is_skipped(monkeypatch):
    """The compared rows may have fewer distinct points than all rows."""
    monkeypatch.setattr("compsil_kit._run.structure.n_compared", lambda plan: 20)
    X = np.zeros((400, 2))
    X[:8] = np.arange(16).reshape(8, 2)
    X[200:, 0] = 1
    outcome = select_k(X, structure=True, ks=[2, 6], n_subsamples=2, sample_size=1.0).structure
    assert outcome.n_rows == 20


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"clusterer": "gmm"}, "clusterer='kmeans'.*got clusterer='gmm'"),
        ({"clusterer": KMeans()}, "clusterer='kmeans'"),
        ({"metric": "manhattan"}, "clusterer='kmeans'.*metric='manhattan'"),
        ({"X": sparse.csr_array(BLOBS)}, "dense data"),
    ],
    ids=["clusterer", "estimator", "metric", "sparse"],
)
def test_unsupported_settings_of_the_structure_test_raise(changes, reason):
    with pytest.raises(ValueError, match=f"structure=True needs {reason}"):
        select_k(**{"X": BLOBS, "structure": True, **FEW, **changes})


def test_a_missing_structure_is_reported_first(none, tmp_path):
    verdict = none.structure.verdict
    assert verdict.startswith("The data show no clusters: ")
    assert none.explain().startswith(verdict)
    assert repr(none).startswith(verdict)
    card, page = none._repr_html_(), none.report(tmp_path / "report.html").read_text()
    assert card.index(verdict) < card.index("number of clusters")
    assert "<title>No clusters found" in page
    assert page.index("no clusters found") < page.index(verdict) < page.index("has the best")


def test_clusters_are_mentioned_after_the_choice(found):
    text = found.explain()
    assert text.index("has the best") < text.index(found.structure.verdict)
    assert "no clusters" not in repr(found) + found._repr_html_()


def test_partial_results_report_that_the_test_is_missing(found):
    missing = "the structure test has not finished."
    first = next(stream(BLOBS, structure=True, **FEW))
    assert missing in first.warnings
    assert missing not in found.warnings
    assert missing not in select_k(BLOBS, **FEW).warnings
