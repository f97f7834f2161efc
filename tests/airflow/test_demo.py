"""One command from nothing to a DAG run and its XComs."""

import json
import os
import subprocess
import sys
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from servers import PATIENCE

from compsil_airflow import demo


@pytest.mark.airflow3
def test_the_demo_prints_the_run_its_xcoms_and_its_files(tmp_path):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW")}
    command = [sys.executable, "-m", "compsil_airflow.demo"]
    printed = subprocess.check_output(command, cwd=tmp_path, env=kept, text=True, timeout=PATIENCE)
    home = tmp_path / "demo" / "airflow"
    words = [line.split() for line in printed.splitlines()]
    assert ["DAG", "run:", "success"] in words
    # In the order in which they started.
    states = [line for line in words if line[1:] in (["success"], ["skipped"])]
    assert states[:2] == [["extract", "success"], ["select_k", "success"]]
    assert ["ask_an_analyst", "skipped"] in states
    assert ["extract", "return_value", f'"{home}/data/customers.parquet"'] in words
    assert ["select_k", "return_value", "4"] in words
    (summary,) = (value for _, key, value in json.loads((home / "outcome.json").read_text())["xcoms"] if key[0] == "s")
    assert f"{len(json.dumps(summary)):,} bytes of JSON" in printed
    assert f"best_k 4, score {summary['score']:.4f}, selection probability " in printed
    row = summary["curve"][2]
    assert f"    * k = 4   score {row['score']:.4f} ± {row['sem']:.4f}\n" in printed
    assert printed.count("    * ") == 1
    assert all(path in printed for path in summary["files"])
    assert f"AIRFLOW_HOME={home} " in printed


@pytest.mark.parametrize(("codes", "failed"), [([1], "-m airflow db migrate"), ([0, 2], "-m compsil_airflow.demo run")])
def test_a_command_that_fails_is_the_last(codes, failed, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run = Mock(side_effect=[SimpleNamespace(returncode=code) for code in codes])
    monkeypatch.setattr("subprocess.run", run)
    assert demo.main() == 1
    assert run.call_count == len(codes)
    printed = capsys.readouterr()
    assert printed.err.startswith(f"Command failed: python {failed}. See ")
    assert "DAG run" not in printed.out
