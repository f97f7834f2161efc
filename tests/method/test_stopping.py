"""When as many subsamples as it takes are enough, and which ks go on."""

import numpy as np
import pytest

from compsil_kit._method.stopping import Look, look

ALL = np.array([True, True, True, True])


@pytest.mark.parametrize(
    ("probability", "before", "expected"),
    [
        pytest.param([0.5, 0.5, 0.0, 0.0], (0, 1, 2, 3), Look(False, (0, 1)), id="two are left"),
        pytest.param([0.99, 0.01, 0.0, 0.0], (0, 1, 2, 3), Look(True, (0, 1)), id="sure"),
        pytest.param([0.989, 0.01, 0.001, 0.0], (0, 1, 2, 3), Look(False, (0, 1, 2)), id="nearly sure"),
        pytest.param([0.9, 0.0991, 0.0009, 0.0], (0, 1, 2, 3), Look(False, (0, 1)), id="hopeless"),
        pytest.param([0.5, 0.3, 0.2, 0.0], (0, 2), Look(False, (0, 2)), id="what was left out stays out"),
        pytest.param([np.nan] * 4, (0, 1, 2, 3), Look(False, (0, 1, 2, 3)), id="nothing is known yet"),
    ],
)
def test_what_is_decided(probability, before, expected):
    assert look(np.array(probability), ALL, before) == expected


def test_what_cannot_be_selected_does_not_go_on():
    selectable = np.array([True, False, True, True])
    assert look(np.array([0.5, 0.2, 0.2, 0.1]), selectable, (0, 1, 2, 3)) == Look(False, (0, 2, 3))


def test_nothing_that_can_be_selected_is_the_end():
    assert look(np.full(4, np.nan), ~ALL, (0, 1, 2, 3)) == Look(True, ())
