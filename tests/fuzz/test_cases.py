"""What fuzzing found once is tried again for ever."""

from pathlib import Path

import pytest

from fuzz.job import replay

CASES = sorted((Path(__file__).parent / "cases").glob("*.json"))


def test_there_are_cases():
    assert len(CASES) >= 11


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_case_is_refused_or_read(path):
    assert replay(path) is None
