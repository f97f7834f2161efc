"""Labels of points: any integers or strings, and what cannot be scored."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from compsil_kit import silhouettes
from compsil_kit._method.labels import encode_labels, number_by_size

GOOD = np.random.default_rng(0).normal(size=(40, 3)) + np.repeat([[0.0], [8.0]], 20, axis=0)
LABELS = [
    (np.zeros(40), ValueError, "labels must name at least 2 clusters.*got 1 clusters for 40 points"),
    (np.arange(40), ValueError, "fewer clusters than points; got 40 clusters for 40 points"),
    (np.zeros(39), ValueError, r"labels must hold one label for each of the 40 points; got shape \(39,\)"),
    ([], ValueError, r"labels must hold one label for each of the 40 points; got shape \(0,\)"),
    (np.zeros((2, 2, 2)), ValueError, r"labels must be one label per point.*got an array of shape \(2, 2, 2\)"),
    (np.where(np.arange(40) == 3, np.nan, np.arange(40) % 2), ValueError, "labels must not hold NaN"),
    (np.arange(40) % 2 * 1j, ValueError, "labels must not hold NaN, infinity or complex"),
    (np.array([None, *"ab" * 19, "a"], object), ValueError, "labels must not hold missing values"),
    (pd.Series([pd.NA, *[1, 2] * 19, 1], dtype="object"), ValueError, "labels must not hold missing values"),
    (pd.Series([(0, 1), (1, 2)] * 20), TypeError, "labels must be integers or strings; got values of type tuple"),
    ([np.arange(40) % 2, np.arange(39) % 2], ValueError, r"one label for each of the 40 points; got shape \(39,\)"),
]


@pytest.mark.parametrize(("labels", "error", "message"), [pytest.param(*case) for case in LABELS])
def test_labels_that_cannot_be_scored_are_refused(labels, error, message):
    with pytest.raises(error, match=message):
        silhouettes(GOOD, labels)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 0, 0, 0], "at least 2 clusters"),
        ([0, 1, 2, 3], "fewer clusters than points"),
        ([0, 1, 0], "one label for each of the 4 points"),
        ([0, 1, np.nan, 1], "NaN"),
        ([0, 1, None, 1], "missing"),
        (3, "one label per point"),
        ([], "one label for each"),
        ([[0, 1, 0, 1], [0, 1]], "one label for each"),
    ],
)
def test_wrong_labels(labels, message):
    with pytest.raises(ValueError, match=message):
        silhouettes(np.array([[0.0], [1], [10], [11]]), labels)


@pytest.mark.parametrize(
    "labels",
    [
        [3, 9, 3, 7, 9],
        np.array([3, 9, 3, 7, 9]),
        np.array([0.5, 2.5, 0.5, 1.5, 2.5]),
        ["a", "c", "a", "b", "c"],
        pd.Series(["a", "c", "a", "b", "c"]),
        np.array(["a", "c", "a", "b", "c"], object),
    ],
)
def test_codes_follow_the_sorted_labels(labels):
    single, ((names, codes),) = encode_labels(labels, 5)
    assert single
    assert list(names) == sorted(set(labels))
    assert codes.tolist() == [0, 2, 0, 1, 2]
    assert codes.dtype == np.int64


def test_many_labelings():
    single, encoded = encode_labels([[0, 0, 1], [5, 4, 4]], 3)
    assert not single
    assert [codes.tolist() for _, codes in encoded] == [[0, 0, 1], [1, 0, 0]]
    assert not encode_labels(np.array([[0, 0, 1]]), 3)[0]


def test_clusters_are_numbered_by_size():
    assert number_by_size(np.array([7, 7, 3, 9, 9, 9])).tolist() == [1, 1, 2, 0, 0, 0]
    # Equally large ones keep their order.
    assert number_by_size(np.array(["b", "a", "c", "c"])).tolist() == [2, 1, 0, 0]
    assert number_by_size(np.arange(200)).tolist() == list(range(200))
