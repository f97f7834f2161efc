"""Former findings of the fuzzing stay fixed."""

from pathlib import Path

import pytest

from fuzz.job import replay

CASES = sorted((Path(__file__).parent / "cases").glob("*.json"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_former_finding_has_no_problem(path):
    assert replay(path) is None
