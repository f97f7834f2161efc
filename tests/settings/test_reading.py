"""From text to the values of keywords."""

import pytest

from compsil_kit.settings.reading import read_counts


@pytest.mark.parametrize(
    ("text", "expected"), [("2:4", [2, 3, 4]), ("2:8:3", [2, 5, 8]), ("3", [3]), ("2,7,5", [2, 7, 5])]
)
def test_candidate_counts(text, expected):
    assert list(read_counts(text)) == expected
