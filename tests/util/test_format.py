"""Numbers, percentages, durations and lists as people read them."""

import numpy as np
import pytest

from compsil_kit.util.format import percent


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0 %"), (1e-9, "<1 %"), (0.005, "<1 %"), (0.0051, "1 %"), (0.0149, "1 %"), (0.66, "66 %"),
        (0.9449, "94 %"), (0.946, "95 %"), (0.9949, "99 %"), (0.995, ">99 %"), (0.9999, ">99 %"), (1.0, "100 %"),
        (np.nan, "–"),
    ],
)  # fmt: skip
def test_percentages(value, shown):
    assert percent(value) == shown
