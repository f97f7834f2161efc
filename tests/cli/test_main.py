"""Tests of the command line, in interactive use and in scripts."""

import gzip
import json
import os
import re
import select
import signal
import struct
import subprocess
import sys
import termios
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs
from tables import LARGE, columns_of, write_parquet
from waiting import PATIENCE, until

from compsil_kit import SelectionResult, compare, prepare, select_k
from compsil_kit.cli import main as commands
from compsil_kit.cli.main import main
from compsil_kit.errors import ClusteringError, Interrupted, SelectionError


@pytest.fixture(scope="module")
def frame():
    X, y = make_blobs(300, 3, centers=3, cluster_std=0.6, random_state=3)
    return pd.DataFrame(X, columns=["a", "b", "c"]).assign(city=np.array(["Rome", "Oslo", "Lima"])[y], flag=y == 1)


@pytest.fixture
def csv(frame, tmp_path):
    path = tmp_path / "data.csv"
    frame.to_csv(path, index=False)
    return path


def run(capsys, *words):
    code = main([str(word) for word in words])
    output = capsys.readouterr()
    return code, output.out, output.err


def test_select_prints_table_and_explanation(csv, capsys):
    code, out, err = run(capsys, "select", csv, "--ks", "2:5", "-B", "5")
    assert (code, err) == (0, "")
    assert out.startswith(
        f"Read {csv}: separator ',', decimal point, encoding utf-8, header in line 1\n"
        "Data: columns a, b, c, flag; scale standard; left out as not numeric: city\n"
    )
    assert "k* = 3 of 2..5" in out
    assert "has the best composite silhouette" in out


def test_a_file_with_decimal_commas_gives_the_same_result(csv, frame, tmp_path, capsys):
    german = tmp_path / "german.csv"
    words = ("--ks", "2:4", "-B", "3")
    code, expected, err = run(capsys, "select", csv, *words, "--json")
    assert (code, err) == (0, "")
    frame.to_csv(german, sep=";", decimal=",", index=False)
    layout = f"Read {german}: separator ';', decimal comma, encoding"
    assert run(capsys, "select", german, *words, "--json") == (0, expected, f"{layout} utf-8, header in line 1\n")
    assert run(capsys, "select", german, *words, "--json", "--quiet") == (0, expected, "")
    frame.to_csv(german, sep=";", decimal=",", index=False, header=False, encoding="utf-16")
    _, out, _ = run(capsys, "select", german, *words)
    assert out.startswith(f"{layout} utf-16, no header\nData: columns column 1")


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("", 2, "column 'b' is numeric except in 1 of 300 cells (line 7). If these cells are missing values"),
        ("--na-values unknown", 2, "missing values in 'b' (1). Drop these rows with missing='drop' (--missing drop)"),
        ("--na-values unknown --missing drop", 0, "1 row with missing values dropped"),
        ("--exclude b", 0, "Data: columns a, c, flag; scale standard; left out as not numeric: city\n"),
        ("--exclude b,city", 0, "Data: columns a, c, flag; scale standard\n"),
        ("--columns a,c", 0, "Data: columns a, c; scale standard\n"),
        ("--exclude z", 2, "--exclude: 'z' is not a column of the data. Available columns: a, b, c, city, flag"),
        ("--exclude b --sep ;", 2, "the separator ';' (--sep) does not occur in the first line, which contains ','"),
        ("--no-header", 2, "column 'column 1' is numeric except in 1 of 301 cells (line 1)"),
    ],
)
def test_a_nearly_numeric_column_is_never_dropped_silently(frame, tmp_path, capsys, line, code, message):
    path = tmp_path / "data.csv"
    frame.assign(b=frame["b"].astype(object).mask(frame.index == 5, "unknown")).to_csv(path, index=False)
    found, out, err = run(capsys, "select", path, "--ks", "2:3", "-B", "2", *line.split())
    assert found == code
    assert message in (err if code else out)


# The first bytes of a PNG file contain its width and height; a comparison plot is half an inch taller per criterion.
@pytest.mark.parametrize(
    ("command", "kind", "head"),
    [
        ("select", "PNG", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 1080, 630)),
        ("compare", "png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 1260, 360)),
        ("select", "svg", b"<?xml"),
        ("select", "pdf", b"%PDF"),
    ],
)
def test_plot_saves_the_figure_in_the_format_of_the_file_name(csv, tmp_path, capsys, command, kind, head):
    plot = tmp_path / "deep" / "down" / f"curve.{kind}"
    words = [csv, "--ks", "2:4", "-B", "2", "--plot", plot]
    if command == "compare":
        words += ["--criteria", "micro,macro"]
    code, out, _ = run(capsys, command, *words)
    assert code == 0
    assert out.endswith(f"\nPlot: {plot}\n")
    assert plot.read_bytes().startswith(head)
    plot.unlink()
    code, out, err = run(capsys, command, *words, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["ks"] == [2, 3, 4]
    assert plot.read_bytes().startswith(head)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("select {csv} --columns a,zz", "'zz' is not a column of the data. Available columns: a, b, c, city, flag"),
        ("select {csv} --columns city", "'city' is not numeric"),
        ("select {csv} --columns flg", "Did you mean 'flag'?"),
        ("select {csv} --ks 2:1000", "ks must be smaller than the number of rows"),
        ("select nowhere.csv", "nowhere.csv: no such file"),
        ("select nowhere.csv --plot x.txt", "--plot must end in .png, .svg or .pdf; got 'x.txt'.\n"),
        ("report nowhere.csv x.pdf", "OUT must end in .html; got 'x.pdf'.\n"),
        ("report nowhere.csv {csv}/x.html", "data.csv: File exists"),
        ("select {tmp}/data.xlsx", "the name must end in .csv"),
        ("select {tmp}/words.csv", "no numeric column"),
        ("select {tmp}/damaged.csv.gz", "not a readable table (EOFError)"),
        ("select {tmp}/folder.csv", "there is no Parquet file at"),
        ("select {tmp}/*.parquet", "there is no Parquet file at"),
        ("select {tmp}/a.parquet --sep ;", "--sep, --decimal and similar options apply to CSV and TSV files"),
    ],
)
def test_invalid_input_prints_one_line_and_exits_with_status_2(csv, tmp_path, capsys, line, message):
    (tmp_path / "data.xlsx").touch()
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "damaged.csv.gz").write_bytes(gzip.compress(b"x\nsecret\n" * 99)[:-9])
    (tmp_path / "words.csv").write_text("x\nsecret\nother\n")
    code, out, err = run(capsys, *line.format(csv=csv, tmp=tmp_path).split())
    assert code == 2
    assert message in err
    assert err.startswith("compsil-kit: error: ")
    assert err.count("\n") == 1
    assert "secret" not in err + out


def test_demo_selects_five_clusters(capsys, tmp_path, monkeypatch):
    code, out, _ = run(capsys, "demo", "--plot", tmp_path / "curve.png")
    assert code == 0
    assert out.startswith("2,300 generated points: ")
    assert "k* = 5 of 2..10" in out
    assert (tmp_path / "curve.png").stat().st_size > 10_000
    result, calls = select_k(make_blobs(60, 2, random_state=0)[0], ks=[2, 3], n_subsamples=2), []
    monkeypatch.setattr(commands, "select_k", lambda X, **keywords: calls.append(keywords) or result)
    _, out, _ = run(capsys, "demo", "--json", "--quiet")
    assert json.loads(out)["ks"] == [2, 3]
    run(capsys, "demo")
    assert calls == [{"n_jobs": "auto", "progress": False}, {"n_jobs": "auto", "progress": None}]


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (Interrupted(0, 5), 130, "stopped after 0 of 5 subsamples"),
        (KeyboardInterrupt(), 130, None),
        (MemoryError("too large."), 1, "too large."),
        (ClusteringError("it failed."), 1, "it failed."),
        (SelectionError("none is left."), 1, "none is left."),
        (ImportError("numba is missing."), 2, "numba is missing."),
        (TypeError("wrong."), 2, "wrong."),
        (OSError(28, "no room", "x.csv"), 2, "x.csv: no room"),
    ],
)
def test_errors_set_the_exit_status_and_print_a_message(csv, capsys, monkeypatch, error, code, message):
    monkeypatch.setattr(commands, "select_k", Mock(side_effect=error))
    found, out, err = run(capsys, "select", csv)
    assert (found, err) == (code, f"compsil-kit: error: {message}\n" if message else "")
    assert out.count("\n") == 3


def test_standard_input_is_read_and_a_closed_pipe_prints_no_error(csv):
    command = f"{sys.executable} -m compsil_kit select - --ks 2:4 -B 3 < {csv} | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("Read standard input: separator ','")
    assert done.stderr == ""


def read_terminal(terminal, pattern):
    """Read the output of a program in a terminal until it matches the pattern."""
    shown = ""
    while not re.search(pattern, shown):
        assert select.select([terminal], [], [], PATIENCE)[0], f"timed out; the terminal shows {shown!r}"
        shown += os.read(terminal, 4096).decode()
    return shown


def test_an_interrupted_selection_resumes_with_the_same_command(tmp_path):
    path, kept = tmp_path / "large.csv", tmp_path / "kept.json"
    pd.DataFrame(make_blobs(20_000, 8, centers=6, random_state=0)[0]).to_csv(path, index=False)
    # Use one worker: with several, the result can include a subsample whose predecessor is unfinished, and the
    # checkpoint file cannot.
    line = f"{sys.executable} -m compsil_kit select {path} --checkpoint {kept} --ks 2:4 --json -j1 -B"
    ours, theirs = os.openpty()
    termios.tcsetwinsize(theirs, (24, 100))
    with subprocess.Popen([*line.split(), "2000"], stdout=subprocess.PIPE, stderr=theirs, text=True) as process:
        os.close(theirs)
        try:
            # The progress bar counts the first finished subsamples and estimates the remaining time.
            read_terminal(ours, r"compsil: .*[1-9]\d*/2000 \[\d\d:\d\d<\d\d:\d\d, +[\d.]+ ?(subsample/s|s/subsample)")
            until(lambda: kept.exists() and json.loads(kept.read_text())["trials"], "a subsample is saved", process)
            process.send_signal(signal.SIGINT)
            end = rf"stopped after [1-9]\d* of 2000 subsamples; run the same command again to resume from {kept}"
            read_terminal(ours, end)
            out, _ = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    os.close(ours)
    assert process.returncode == 130
    assert "PARTIAL" in repr(SelectionResult.from_dict(json.loads(out)))
    finished = len(json.loads(kept.read_text())["trials"])
    assert len(json.loads(out)["trials"]["subsamples"]) == finished
    # A run with fewer subsamples takes all of them from the checkpoint.
    before = kept.read_bytes()
    done = subprocess.run([*line.split(), str(finished)], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["trials"]["micro"] == json.loads(out)["trials"]["micro"]
    assert kept.read_bytes() == before


def test_select_and_report_share_a_checkpoint(csv, tmp_path, capsys):
    """A checkpoint from a selection with other settings is rejected."""
    kept, target = tmp_path / "kept.json", tmp_path / "report.html"
    words = ("-B", "3", "--json", "--checkpoint", kept, "--ks")
    first = run(capsys, "select", csv, *words, "2:4")
    before = kept.stat().st_mtime_ns
    assert first[0] == 0
    assert run(capsys, "select", csv, *words, "2:4") == run(capsys, "report", csv, target, *words, "2:4") == first
    assert kept.stat().st_mtime_ns == before
    page = target.read_bytes()
    code, _, err = run(capsys, "report", csv, target, *words, "2:5")
    assert code == 2
    assert "ks was [2, 3, 4] and is now [2, 3, 4, 5]. Pass another path, or delete the file" in err
    assert err.count("\n") == 1
    assert target.read_bytes() == page


def test_compare_prints_the_values_from_the_compare_function(csv, frame, capsys):
    line = "--columns a,b,c --scale none --ks 2,3,4 -B 3 --n-repeats 2 --n-references 4 --criteria"
    words = ("compare", csv, *line.split(), "micro, elbow ,gap")
    code, out, err = run(capsys, *words)
    assert (code, err) == (0, "")
    assert "\nData: columns a, b, c; scale none\n" in out
    assert "Comparison over k in 2..4; * marks the selected k" in out
    assert "select k = 3" in out
    assert "Note:" not in out
    data = json.loads(run(capsys, *words, "--json")[1])
    names, counts = ["micro", "elbow", "gap"], {"n_subsamples": 3, "n_repeats": 2, "n_references": 4}
    expected = compare(frame[["a", "b", "c"]], criteria=names, ks=[2, 3, 4], **counts)
    assert data["choices"] == expected.choices
    assert (data["n_repeats"], data["n_references"]) == (2, 4)
    for name in names:
        np.testing.assert_allclose(data["values"][name], expected.values[name], rtol=1e-9)


def test_compare_reports_unsuitable_columns(frame, tmp_path, capsys):
    path = tmp_path / "unsuitable.feather"
    frame.assign(customer_id=np.arange(300) * 11 % 307, one=1).to_feather(path)
    words = (path, "--ks", "2:3", "-B", "2")
    _, out, _ = run(capsys, "compare", *words, "--criteria", "micro")
    assert out.startswith("Data: columns a, b, c, flag, customer_id, one; scale standard")
    assert "Note: column 'one' is constant" in out
    assert "Note: column 'customer_id' looks like an identifier" in out
    _, text, _ = run(capsys, "compare", *words, "--criteria", "micro", "--json")
    assert json.loads(text)["ks"] == [2, 3]
    _, out, _ = run(capsys, "select", *words)
    assert "Note: column 'customer_id' looks like an identifier" in out


@pytest.mark.parametrize("extra", [[], ["--compare"]])
def test_report_writes_a_single_html_file(csv, tmp_path, capsys, extra):
    target = tmp_path / "new" / "folder" / "report.htm"
    code, out, err = run(capsys, "report", csv, target, "--ks", "2:4", "-B", "2", "--columns", "a,b,c", *extra)
    assert (code, err) == (0, "")
    assert "k* = 3 of 2..4" in out
    assert out.endswith(f"\nReport: {target}\n")
    page = target.read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "columns a, b, c; scale standard" in page
    assert ("Other criteria" in page) == bool(extra)
    assert [file.name for file in target.parent.iterdir()] == ["report.htm"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    columns = {**columns_of(), "city": np.full(LARGE, "Rome")}
    return write_parquet(tmp_path_factory.mktemp("cli") / "table", columns, n_files=3)


FEW = ["--ks", "2,3", "-B", "2", "--sample-size", "300", "--quiet"]


@pytest.mark.parametrize("pattern", ["", "/*.parquet", "/part-?.parquet"])
def test_parquet_files_may_be_larger_than_memory(folder, pattern, capsys, monkeypatch):
    monkeypatch.setattr("compsil_kit._data.sources.table.available_bytes", lambda: 1_000)
    code, out, _ = run(capsys, "select", f"{folder}{pattern}", *FEW)
    assert code == 0
    assert "Data: columns x0, x1, x2; scale standard; left out as not numeric: city\n" in out
    expected = select_k(prepare(pd.read_parquet(folder)), ks=[2, 3], n_subsamples=2, sample_size=300)
    code, out, _ = run(capsys, "select", f"{folder}{pattern}", *FEW, "--json")
    assert json.loads(out)["trials"] == json.loads(json.dumps(expected.to_dict()))["trials"]


def test_columns_and_exclude_apply_to_parquet_files(folder, capsys):
    _, out, _ = run(capsys, "select", str(folder), *FEW, "--columns", "x2,x0")
    assert "Data: columns x2, x0; scale standard\n" in out
    _, out, _ = run(capsys, "select", str(folder), *FEW, "--exclude", "x1", "--scale", "minmax")
    assert "Data: columns x0, x2; scale minmax; left out as not numeric: city\n" in out
    code, _, err = run(capsys, "select", str(folder), *FEW, "--exclude", "y")
    assert code == 2
    assert "--exclude: 'y' is not a column of the data. Available columns: x0, x1, x2, city." in err


def test_compare_loads_parquet_files_into_memory(folder, capsys, monkeypatch):
    words = ["compare", str(folder / "part-0.parquet"), *FEW, "--criteria", "composite,elbow"]
    assert run(capsys, *words)[0] == 0
    monkeypatch.setattr("compsil_kit._data.sources.table.available_bytes", lambda: 1_000)
    code, _, err = run(capsys, "compare", str(folder), *FEW)
    assert code == 1
    assert "X must be loaded completely, but 50,500 rows of 3 columns" in err
