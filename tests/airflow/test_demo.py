"""One command from nothing to a DAG run and its XComs."""

import inspect
import os
import subprocess
import sys

import pytest

import compsil_airflow.demo


@pytest.mark.airflow3
def test_the_demo_prints_the_run_and_its_xcoms(tmp_path):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW")}
    done = subprocess.run(
        [sys.executable, "-m", "compsil_airflow.demo"],
        cwd=tmp_path, env=kept, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "DAG run: success" in done.stdout
    words = [line.split() for line in done.stdout.splitlines()]
    assert ["select_k", "success"] in words
    assert ["ask_an_analyst", "skipped"] in words
    assert ["select_k", "return_value", "4"] in words
    assert "best_k 4, score " in done.stdout
    assert "* k = 4 " in done.stdout
    assert str(tmp_path / "demo" / "airflow" / "data" / "report.html") in done.stdout


def test_it_leaves_the_metadata_database_alone():
    text = inspect.getsource(compsil_airflow.demo)
    assert not any(word in text for word in ("sqlalchemy", "Session", "XComModel"))
