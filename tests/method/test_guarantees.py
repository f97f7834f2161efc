"""What a number of subsamples guarantees, by Hoeffding's inequality."""

import numpy as np
import pytest

from compsil_kit import hoeffding_radius, subsamples_for_margin


def test_hoeffding_figures():
    assert hoeffding_radius(30) == pytest.approx(np.sqrt(2 * np.log(40) / 30))
    assert hoeffding_radius(30, n_ks=9, delta=0.1) == pytest.approx(np.sqrt(2 * np.log(180) / 30))
    n = subsamples_for_margin(0.5, n_ks=9, delta=0.05)
    assert 2 * hoeffding_radius(n, n_ks=9) <= 0.5 < 2 * hoeffding_radius(n - 1, n_ks=9)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: hoeffding_radius(0), "n_subsamples must be an integer of at least 1; got 0"),
        (lambda: hoeffding_radius(10, delta=0), r"delta must be a number in \(0, 1\); got 0"),
        (lambda: hoeffding_radius(10, delta=1.0), r"delta must be a number in \(0, 1\)"),
        (lambda: subsamples_for_margin(0.0, n_ks=3), "margin"),
        (lambda: subsamples_for_margin(3, n_ks=3), "margin"),
    ],
)
def test_wrong_figures(call, message):
    with pytest.raises(ValueError, match=message):
        call()
