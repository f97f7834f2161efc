"""Inputs that once caused a problem in the fuzzing job no longer do."""

from pathlib import Path

import pytest

from fuzz.job import replay

CASES = sorted((Path(__file__).parent / "cases").glob("*.json"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_fixed_finding_causes_no_problem(path):
    assert replay(path) is None
