"""The warnings of a result."""

from dataclasses import replace

import numpy as np
import pytest
from samples import made_up
from sklearn.datasets import make_blobs

from compsil_kit import select_k
from compsil_kit._data.dataset import Preparation
from compsil_kit._result.trials import Failure

MIDDLE = [[0.3] * 3, [0.5] * 3, [0.4] * 3]


def equal(rows, **changes):
    """A result whose micro and macro silhouettes are equal."""
    return made_up(rows, rows, **changes)


@pytest.mark.parametrize(
    ("result", "warnings"),
    [
        (equal(MIDDLE), []),
        (equal(MIDDLE[:2]), ["k = 3 is the largest candidate; a larger k may score higher. Extend ks."]),
        (equal(MIDDLE[1:]), ["k = 2 is the smallest k with a silhouette; the score cannot distinguish two"]),
        (equal(MIDDLE[1:], ks=[4, 5]), ["k = 4 is the smallest candidate; a smaller k may score higher. Extend ks."]),
        (equal([[0.5, 0.3], [0.4, 0.4]]), ["k = 2 and k = 3 are nearly tied; more subsamples", "smallest k"]),
        (equal(MIDDLE, sample_size=1000), ["every subsample is the whole data set (1,000 rows): only the"]),
        (equal([[0.1] * 3, [0.2] * 3, [0.1] * 3]), ["the score is low (0.20): the clusters overlap, or"]),
        (equal([[0.1] * 3, [0.25] * 3, [0.1] * 3]), []),
        (equal(MIDDLE, planned=5), ["this is a partial result: 3 of 5 subsamples are finished."]),
        (
            made_up([[0.4] * 3, [0.7] * 3, [0.5] * 3], [[0.4] * 3, [0.2] * 3, [0.5] * 3]),
            ["the micro and macro averages select different k; the composite agrees with micro. Inspect both"],
        ),
        (
            made_up([[0.4] * 3, [0.2] * 3, [0.5] * 3], [[0.4] * 3, [0.7] * 3, [0.5] * 3]),
            ["the micro and macro averages select different k; the composite agrees with macro. Inspect both"],
        ),
        (
            made_up([[0.6, 0.2] * 5, [0.45] * 10, [0.3] * 10], [[0.1, 0.5] * 5, [0.44] * 10, [0.3] * 10], ks=[3, 4, 5]),
            ["neither the micro nor the macro average alone selects k = 3. Inspect the", "smallest candidate"],
        ),
    ],
)  # fmt: skip
def test_warnings(result, warnings):
    assert len(result.warnings) == len(warnings), result.warnings
    for found, expected in zip(result.warnings, warnings, strict=True):
        assert expected in found
        assert f"Note: {found}" in result.explain()


def test_unfinished_subsamples():
    whole = equal(MIDDLE, calibration=np.full((3, 4), 0.1))
    lacking = replace(whole, calibration=whole.calibration.first(1))
    assert lacking.partial
    assert lacking.warnings == ["only 1 of 4 calibration subsamples are finished."]
    assert "PARTIAL, 4 of 7 subsamples" in repr(lacking)


def test_second_opinion(with_confidence):
    rows = [[0.3] * 6, [0.5] * 6, [0.4] * 6]
    result = with_confidence(equal(rows), 0.1, 0.4, 0.45, 0.05)
    end = "Compare the two clusterings, for example by their silhouette plots."
    assert result.warnings == [
        f"the composite silhouette selects k = 3, but k = 4 is the most likely to be correct (confidence 45 %). {end}"
    ]
    assert result.reweigh(criterion="likely").warnings[0] == (
        f"k = 4 is the most likely to be correct, but the composite silhouette selects k = 3. {end}"
    )
    by_stability = equal([[0.4] * 10, [0.5] * 10], agreement=np.array([[0.9] * 10, [0.2] * 10]))
    assert by_stability.warnings[0] == (
        f"the composite silhouette selects k = 3, but the stable silhouette selects k = 2. {end}"
    )
    assert with_confidence(equal(rows), 0.1, 0.8, 0.05, 0.05).warnings == []


def with_small_clusters(counts, **changes):
    """Return a result of k = 3 whose smallest cluster has few rows in some of four subsamples."""
    result = equal([[0.3] * 4, [0.5] * 4, [0.4] * 4], **changes)
    return replace(result, trials=replace(result.trials, small=np.array([[1.0] * 4, counts, [1.0] * 4])))


@pytest.mark.parametrize(
    ("counts", "share"),
    [([1, 1, 1, 1], "4 of 4"), ([1, 1, 0, 0], "2 of 4"), ([1, 0, 0, 0], ""), ([1, np.nan, np.nan, np.nan], "1 of 1")],
)
def test_small_clusters(counts, share):
    expected = (
        f"the smallest cluster at k = 3 has fewer than 30 rows in {share} subsamples of 800 rows, too few to assess "
        "it. Pass a larger sample_size."
    )
    assert with_small_clusters(counts).warnings == ([expected] if share else [])
    # The whole data cannot be enlarged.
    assert "smallest cluster" not in with_small_clusters(counts, sample_size=1000).explain()


def test_small_clusters_and_whole_data_for_real():
    X = make_blobs([4_000, 4_000, 40], centers=[[0, 0], [9, 0], [90, 90]], random_state=0)[0]
    few = select_k(X, ks=(2, 3, 4), n_subsamples=4, sample_size=2_000)
    many = select_k(X, ks=(2, 3, 4), n_subsamples=4, sample_size=8_000)
    assert few.best_k == many.best_k == 2
    assert any("fewer than 30 rows in 4 of 4 subsamples of 2,000 rows" in text for text in few.warnings)
    assert not any("smallest cluster" in text for text in many.warnings)
    whole = select_k(X[:200], ks=(2, 3), n_subsamples=10, sample_size=200)
    assert any("whole data set" in text for text in whole.warnings)
    assert "of cases (selection probability)." in whole.explain()


def test_failures():
    rows = [[0.3] * 10, [0.5] * 10, [*[0.4] * 7, np.nan, np.nan, np.nan]]
    causes = ("odd", "two points are equal.", "two points are equal.")
    result = equal(rows, failures=tuple(Failure(4, at, at, cause) for at, cause in enumerate(causes)))
    text = "the clustering failed on some of the 10 subsamples (k = 4: 3). Most frequent cause: two points are equal."
    excluded = " Excluded from the selection because more than 20 % failed: k = 4."
    assert result.warnings[0] == text + excluded
    rows[2][7] = 0.4
    kept = equal(rows, failures=result.failures)
    assert kept.warnings[0] == text.replace("k = 4: 3", "k = 4: 2")


def test_repeated_seeds():
    rows = [[0.3] * 4, [0.5] * 4, [0.4] * 4]
    result = equal(rows)
    repeated = replace(result, plan=replace(result.plan, seeds=(7, 8, 7, 7)))
    assert not result.warnings
    assert repeated.warnings == [
        "2 of 4 seeds repeat an earlier seed: identical subsamples are counted more than once, so the standard errors "
        "are too small."
    ]


def test_only_the_composite_warns_of_averages_that_disagree():
    micro, macro = [[0.4] * 3, [0.2] * 3, [0.5] * 3], [[0.4] * 3, [0.7] * 3, [0.5] * 3]
    for criterion in ("micro", "macro", "stable"):
        result = made_up(micro, macro, criterion=criterion)
        assert not [text for text in result.warnings if "averages" in text or "neither" in text]


@pytest.mark.parametrize(
    ("criterion", "text"), [("micro", "the score is low (0.20)"), ("likely", "the silhouette is low (0.20)")]
)
def test_low_silhouettes_under_other_criteria(with_confidence, criterion, text):
    low = [[0.1] * 6, [*[0.2] * 5, np.nan], [0.1] * 6]
    result = with_confidence(equal(low, criterion=criterion), 0.0, 0.9, 0.05, 0.05)
    assert any(text in warning for warning in result.warnings)
    # A low confidence is not a low silhouette.
    rows = [[0.3] * 6, [0.6] * 6, [0.3] * 6]
    high = with_confidence(equal(rows, criterion="likely"), 0.0, 0.2, 0.1, 0.7)
    assert not [warning for warning in high.warnings if "is low" in warning]


def test_a_criterion_that_needs_several_initialisations():
    text = (
        "criterion='stable' scores the best of several initialisations, but this run has one per clustering: "
        "select_k(X, criterion='stable') computes several and may select another k."
    )
    result = equal(MIDDLE)
    assert result.reweigh(criterion="stable").warnings == [text]
    assert result.reweigh(criterion="micro").warnings == equal(MIDDLE, criterion="stable").warnings == []
    for changes in ({"n_starts": 5}, {"clusterer": "agglomerative"}):
        other = replace(result, plan=replace(result.plan, config=None, **changes))
        assert other.reweigh(criterion="stable").warnings == []


def test_notes_of_the_preparation_come_last():
    result = equal([[0.1] * 3, [0.2] * 3, [0.1] * 3], preparation=Preparation(("a",), notes=("column 'a' is odd.",)))
    assert [text[:11] for text in result.warnings] == ["the score i", "column 'a' "]
