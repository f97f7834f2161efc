"""What a result warns of."""

import dataclasses

import numpy as np
import pytest
from samples import made_up
from sklearn.datasets import load_wine, make_blobs
from sklearn.preprocessing import StandardScaler

from compsil_kit import select_k
from compsil_kit._data.dataset import Preparation
from compsil_kit._result.trials import Failure


@pytest.mark.parametrize(
    ("result", "expected", "unexpected"),
    [
        (made_up([[0.3] * 3, [0.5] * 3, [0.4] * 3], [[0.3] * 3, [0.5] * 3, [0.4] * 3]), None, "Note"),
        (made_up([[0.3] * 3, [0.5] * 3], [[0.3] * 3, [0.5] * 3]), "largest candidate", "smallest"),
        (made_up([[0.5] * 3, [0.3] * 3], [[0.5] * 3, [0.3] * 3]), "two clusters from one", "largest"),
        (made_up([[0.5] * 3, [0.3] * 3], [[0.5] * 3, [0.3] * 3], ks=[4, 5]), "smallest candidate", "largest"),
        (made_up([[0.5, 0.3], [0.4, 0.4]], [[0.5, 0.3], [0.4, 0.4]]), "nearly tied", "partial"),
        (made_up([[0.5] * 3, [0.3] * 3], [[0.5] * 3, [0.3] * 3], sample_size=1000), "whole data set", "partial"),
        (made_up([[0.5], [0.3]], [[0.5], [0.3]]), "probability cannot be estimated", "tied"),
        (made_up([[0.1] * 3, [0.2] * 3, [0.1] * 3], [[0.1] * 3, [0.2] * 3, [0.1] * 3]), "score is low (0.20)", "tied"),
        (made_up([[0.1] * 3, [0.25] * 3, [0.1] * 3], [[0.1] * 3, [0.25] * 3, [0.1] * 3]), None, "is low"),
        (made_up([[0.6] * 3], [[0.6] * 3]), "only candidate", "edge"),
        (
            made_up([[0.4] * 3, [0.7] * 3, [0.5] * 3], [[0.4] * 3, [0.2] * 3, [0.5] * 3]),
            "the composite agrees with micro",
            "neither",
        ),
        (
            made_up([[0.4] * 3, [0.2] * 3, [0.5] * 3], [[0.4] * 3, [0.7] * 3, [0.5] * 3]),
            "macro average alone k = 3",
            "neither",
        ),
    ],
)
def test_warnings_say_what_should_be_known(result, expected, unexpected):
    text = result.explain()
    assert expected is None or expected in text
    assert unexpected not in text


def test_choice_that_neither_average_makes():
    micro = [[0.6, 0.2, 0.6, 0.2], [0.45, 0.45, 0.45, 0.45], [0.3] * 4]
    macro = [[0.1, 0.5, 0.1, 0.5], [0.44, 0.44, 0.44, 0.44], [0.55, 0.3, 0.55, 0.35]]
    result = made_up(micro, macro)
    picks = set(result.choices.values())
    assert ("neither" in result.explain()) == (result.best_k not in (result.choices["micro"], result.choices["macro"]))
    assert len(picks) > 1


def with_small(counts, **changes):
    """Return a result of k = 3 whose smallest cluster has few rows in some of four subsamples."""
    result = made_up([[0.3] * 4, [0.5] * 4], [[0.3] * 4, [0.5] * 4], **changes)
    return dataclasses.replace(result, trials=dataclasses.replace(result.trials, small=np.array([[1.0] * 4, counts])))


@pytest.mark.parametrize(
    ("counts", "told"),
    [([1, 1, 1, 1], "4 of 4"), ([1, 1, 0, 0], "2 of 4"), ([1, 0, 0, 0], ""), ([1, np.nan, np.nan, np.nan], "1 of 1")],
)
def test_small_clusters_are_told(counts, told):
    said = [text for text in with_small(counts).warnings if "smallest cluster" in text]
    expected = (
        f"the smallest cluster at k = 3 has fewer than 30 rows in {told} subsamples of 800 rows: too few to judge it. "
        "Pass a larger sample_size."
    )
    assert said == ([expected] if told else [])


def test_small_clusters_of_the_whole_data_cannot_be_helped():
    assert not any("smallest cluster" in text for text in with_small([1] * 4, sample_size=1000).warnings)


def test_small_clusters_are_noticed_for_real():
    X = make_blobs([4_000, 4_000, 40], centers=[[0, 0], [9, 0], [90, 90]], random_state=0)[0]
    few = select_k(X, ks=(2, 3, 4), n_subsamples=4, sample_size=2_000)
    many = select_k(X, ks=(2, 3, 4), n_subsamples=4, sample_size=8_000)
    assert few.best_k == many.best_k == 2
    assert any("fewer than 30 rows in 4 of 4 subsamples of 2,000 rows" in text for text in few.warnings)
    assert not any("smallest cluster" in text for text in many.warnings)


def test_whole_data_is_noticed_for_real():
    X = StandardScaler().fit_transform(load_wine(return_X_y=True)[0])
    result = select_k(X, ks=range(2, 8), n_subsamples=10)
    assert result.plan.whole_data
    assert any("whole data set" in warning for warning in result.warnings)
    assert "of the time (selection probability)." in result.explain()


def test_known_weakness_is_shown():
    """On these easy, balanced blobs the composite merges too much; micro or macro must be seen to disagree or agree."""
    X, _ = make_blobs(600, centers=4, cluster_std=0.7, random_state=1)
    result = select_k(X, ks=range(2, 8), n_subsamples=20)
    assert result.best_k == 2
    assert "smallest k that has a silhouette" in result.explain()


def test_what_is_missing_is_said():
    """A run may lack scored subsamples, or calibration subsamples, or both."""
    rows = [[0.3] * 3, [0.5] * 3, [0.4] * 3]
    short = made_up(rows, rows, planned=5)
    assert short.partial
    assert short.warnings == ["this is a partial result: 3 of 5 subsamples are finished."]
    whole = made_up(rows, rows, calibration=np.full((3, 4), 0.1))
    calibration = whole.calibration
    lacking = dataclasses.replace(whole, calibration=calibration.first(1))
    assert lacking.partial
    assert lacking.warnings == ["only 1 of 4 calibration subsamples are finished."]
    assert "PARTIAL, 4 of 7 subsamples" in repr(lacking)


def test_notes_of_the_preparation_come_last():
    rows = [[0.1] * 3, [0.2] * 3, [0.1] * 3]
    result = made_up(rows, rows, preparation=Preparation(("a",), notes=("column 'a' is odd.",)))
    assert [text[:11] for text in result.warnings] == ["the score i", "column 'a' "]


def test_the_most_frequent_cause_is_told_as_a_sentence():
    rows = [[0.3] * 10, [0.5] * 10, [*[0.4] * 8, np.nan, np.nan]]
    causes = ("odd", "two points are equal.", "two points are equal.")
    result = made_up(rows, rows, failures=tuple(Failure(4, at, at, cause) for at, cause in enumerate(causes)))
    assert result.warnings[0] == (
        "the clustering failed on some of the 10 subsamples (k = 4: 2). Most frequent cause: two points are equal."
    )


def test_repeated_seeds_are_told():
    rows = [[0.3] * 4, [0.5] * 4, [0.4] * 4]
    result = made_up(rows, rows)
    repeated = dataclasses.replace(result, plan=dataclasses.replace(result.plan, seeds=(7, 8, 7, 7)))
    assert not [text for text in result.warnings if "seeds" in text]
    (warning,) = (text for text in repeated.warnings if "seeds" in text)
    assert warning.startswith("2 of 4 seeds repeat an earlier one: equal subsamples are counted more than once")
    assert warning in repeated.explain()


def test_averages_that_disagree_are_a_warning_of_the_composite_alone():
    micro, macro = [[0.4] * 3, [0.2] * 3, [0.5] * 3], [[0.4] * 3, [0.7] * 3, [0.5] * 3]
    assert any("averages choose different k" in text for text in made_up(micro, macro).warnings)
    for criterion in ("micro", "macro", "stable"):
        result = made_up(micro, macro, criterion=criterion)
        assert not [text for text in result.warnings if "average" in text and "silhouette chooses" not in text]


@pytest.mark.parametrize(
    ("criterion", "words"), [("micro", "the score is low (0.20)"), ("likely", "silhouette is low (0.20)")]
)
def test_a_low_silhouette_is_told_under_every_criterion(believed, criterion, words):
    rows = [[0.1] * 6, [0.2] * 6, [0.1] * 6]
    result = believed(made_up(rows, rows, criterion=criterion), 0.0, 0.9, 0.05, 0.05)
    assert any(words in text for text in result.warnings)
    higher = [[0.3] * 6, [0.6] * 6, [0.3] * 6]
    clear = believed(made_up(higher, higher, criterion=criterion), 0.0, 0.2, 0.1, 0.7)
    assert not [text for text in clear.warnings if "is low" in text]


def test_a_failed_subsample_does_not_make_a_silhouette_low():
    rows = [[0.3] * 10, [*[0.6] * 9, np.nan], [0.3] * 10]
    result = made_up(rows, rows, criterion="stable", agreement=np.full((3, 10), 0.9))
    assert result.best_k == 3
    assert not [text for text in result.warnings if "is low" in text]
