"""The command line as a person and a script would use it."""

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
    assert code == 0
    assert err == ""
    assert out.startswith(
        f"Read {csv}: separator ',', decimal point, encoding utf-8, header in line 1\n"
        "Data: columns a, b, c, flag; scale standard; left out as not numeric: city\n"
    )
    assert "k* = 3 of 2..5" in out
    assert "has the best composite silhouette" in out


def test_same_numbers_as_the_library(csv, frame, capsys):
    code, out, _ = run(
        capsys, "select", csv, "--columns", "a, b", "--scale", "none", "--ks", "2,3,4", "-B", "4", "--json"
    )
    assert code == 0
    found = SelectionResult.from_dict(json.loads(out))
    expected = select_k(frame[["a", "b"]], ks=[2, 3, 4], n_subsamples=4)
    np.testing.assert_allclose(found.scores, expected.scores, rtol=0, atol=1e-12)


@pytest.mark.parametrize("scale", ["standard", "robust", "minmax"])
def test_scales(csv, frame, capsys, scale):
    from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

    scaler = {"standard": StandardScaler, "robust": RobustScaler, "minmax": MinMaxScaler}[scale]()
    columns = "a,b,c"
    _, out, _ = run(capsys, "select", csv, "--columns", columns, "--scale", scale, "--ks", "2:4", "-B", "3", "--json")
    expected = select_k(scaler.fit_transform(frame[columns.split(",")]), ks=[2, 3, 4], n_subsamples=3)
    np.testing.assert_allclose(json.loads(out)["scores"], expected.scores, rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    "kind", ["parquet", "pq", "feather", "tsv", "jsonl", "ndjson", "csv.gz", "csv.bz2", "jsonl.xz"]
)
def test_kinds_of_files(frame, tmp_path, capsys, kind):
    path = tmp_path / f"data.{kind}"
    if kind in ("parquet", "pq"):
        frame.to_parquet(path)
    elif kind == "feather":
        frame.to_feather(path)
    elif "json" in kind:
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_csv(path, sep="\t" if kind == "tsv" else ",", index=False)
    code, out, _ = run(capsys, "select", path, "--ks", "2:4", "-B", "3")
    assert code == 0
    assert "k* = 3" in out


def test_standard_input(frame):
    done = subprocess.run(
        [sys.executable, "-m", "compsil_kit", "select", "-", "--ks", "2:4", "-B", "3"],
        input=frame.to_csv(index=False), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0
    assert done.stdout.startswith("Read standard input: separator ','")
    assert "k* = 3" in done.stdout
    assert done.stderr == ""


GERMAN = {"sep": ";", "decimal": ",", "index": False}


def test_a_european_file_gives_the_same_answer(csv, frame, tmp_path, capsys):
    german = tmp_path / "german.csv"
    frame.to_csv(german, **GERMAN)
    words = ("--ks", "2:4", "-B", "3", "--json")
    code, expected, err = run(capsys, "select", csv, *words)
    assert (code, err) == (0, "")
    code, out, err = run(capsys, "select", german, *words)
    assert (code, out) == (0, expected)
    assert err == f"Read {german}: separator ';', decimal comma, encoding utf-8, header in line 1\n"
    assert run(capsys, "select", german, *words, "--quiet") == (0, expected, "")
    frame.to_csv(german, header=False, encoding="utf-16", **GERMAN)
    code, out, _ = run(capsys, "select", german, "--ks", "2:4", "-B", "3")
    assert code == 0
    assert out.startswith(
        f"Read {german}: separator ';', decimal comma, encoding utf-16, no header\nData: columns column 1"
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            [],
            "column 'b' is numeric except in 1 of 300 cells (line 7). If these cells are missing values",
        ),
        (["--na-values", "unknown"], "missing values in 'b' (1). Drop these rows with missing='drop' (--missing drop)"),
        (["--na-values", "unknown", "--missing", "drop"], "1 row with missing values dropped"),
        (["--exclude", "b"], "Data: columns a, c, flag; scale standard; left out as not numeric: city\n"),
        (["--exclude", "b,city"], "Data: columns a, c, flag; scale standard\n"),
        (["--columns", "a,c"], "Data: columns a, c; scale standard\n"),
        (["--exclude", "z"], "--exclude: 'z' is not a column of the data, which has a, b, c, city, flag"),
        (["--exclude", "b", "--sep", ";"], "--sep ';' does not occur in the first line, which has ','"),
        (["--no-header"], "column 'column 1' is numeric except in 1 of 301 cells (line 1)"),
        (["--exclude", "b", "--decimal", ";"], "--decimal"),
    ],
)
def test_a_column_that_is_nearly_numeric_is_never_dropped_silently(frame, tmp_path, capsys, words, message):
    path = tmp_path / "data.csv"
    frame.assign(b=frame["b"].astype(object).mask(frame.index == 5, "unknown")).to_csv(path, index=False)
    try:
        code, out, err = run(capsys, "select", path, "--ks", "2:3", "-B", "2", *words)
    except SystemExit as end:
        code, out, err = end.code, "", capsys.readouterr().err
    assert message in (out if "Data" in message or "dropped" in message else err)
    assert (code == 0) == ("Data" in message or "dropped" in message)


@pytest.mark.parametrize("kind", ["png", "svg", "pdf", "PNG"])
def test_plot(csv, tmp_path, capsys, kind):
    plot = tmp_path / "deep" / f"curve.{kind}"
    code, out, _ = run(capsys, "select", csv, "--ks", "2:4", "-B", "3", "--plot", plot)
    assert code == 0
    assert f"Plot: {plot}" in out
    head = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[kind.lower()]
    assert plot.read_bytes().startswith(head)


def pixels(plot):
    return struct.unpack(">II", plot.read_bytes()[16:24])


def test_a_plot_beside_json_leaves_nothing_but_json(csv, tmp_path, capsys):
    plot, words = tmp_path / "curve.png", ("--ks", "2:4", "-B", "2", "--json")
    code, out, err = run(capsys, "select", csv, *words, "--plot", plot)
    assert (code, err) == (0, "")
    assert json.loads(out)["ks"] == [2, 3, 4]
    assert pixels(plot) == (1080, 630)


def test_missing_values(frame, tmp_path, capsys):
    path = tmp_path / "holes.csv"
    frame.assign(a=frame["a"].mask(frame.index < 7)).to_csv(path, index=False)
    code, _, err = run(capsys, "select", path, "--ks", "2:4", "-B", "3")
    assert code == 2
    assert "missing values in 'a' (7)" in err
    code, out, _ = run(capsys, "select", path, "--ks", "2:4", "-B", "3", "--missing", "drop")
    assert code == 0
    assert "7 rows with missing values dropped" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["{csv}", "--columns", "a,zz"], "'zz' is not a column of the data, which has a, b, c, city, flag"),
        (["{csv}", "--columns", "city"], "'city' is not numeric"),
        (["{csv}", "--ks", "2:1000"], "ks must be smaller than the number of rows"),
        (["{csv}", "--plot", "curve.txt"], "--plot must name a .png, .svg or .pdf file"),
        (["nowhere.csv"], "nowhere.csv: no such file"),
        (["{tmp}/empty.csv"], "not a readable table"),
        (["{tmp}/data.xlsx"], "the name must end in .csv"),
        (["{tmp}/words.csv"], "no numeric column"),
        (["{tmp}/damaged.csv.gz"], "not a readable table (EOFError)"),
        (["{tmp}/folder.csv"], "there is no Parquet file at"),
        (["{tmp}/*.parquet"], "there is no Parquet file at"),
        (["{tmp}/a.parquet", "--sep", ";"], "--sep, --decimal and similar options apply to CSV and TSV files"),
        (["{tmp}/data.pkl"], "the name must end in .csv"),
        (["{csv}", "--columns", "flg"], "Did you mean 'flag'?"),
    ],
)
def test_mistakes_get_one_line_and_code_2(csv, tmp_path, capsys, words, message):
    (tmp_path / "empty.csv").touch()
    (tmp_path / "data.xlsx").touch()
    (tmp_path / "data.pkl").touch()
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "damaged.csv.gz").write_bytes(gzip.compress(b"x\nsecret\n" * 99)[:-9])
    (tmp_path / "words.csv").write_text("x\nsecret\nother\n")
    code, out, err = run(capsys, "select", *[word.format(csv=csv, tmp=tmp_path) for word in words])
    assert code == 2
    assert message in err
    assert err.startswith("compsil-kit: error: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err + out
    assert "secret" not in err


def test_failed_clustering_leaves_with_1(tmp_path, capsys):
    path = tmp_path / "few.csv"
    pd.DataFrame({"x": [0.0] * 40 + [1.0, 2.0, 3.0, 4.0]}).to_csv(path, index=False)
    code, _, err = run(capsys, "select", path, "--ks", "5", "-B", "20", "--sample-size", "20")
    assert code == 1
    assert "on_failure='skip'" in err


def test_demo(capsys, tmp_path):
    code, out, _ = run(capsys, "demo", "--plot", tmp_path / "curve.png")
    assert code == 0
    assert "k* = 5 of 2..10" in out
    assert (tmp_path / "curve.png").stat().st_size > 10_000


def test_the_demo_in_json_and_without_a_bar(capsys, monkeypatch):
    result, asked = select_k(make_blobs(60, 2, random_state=0)[0], ks=[2, 3], n_subsamples=2), []
    monkeypatch.setattr(commands, "select_k", lambda X, **keywords: asked.append(keywords) or result)
    code, out, _ = run(capsys, "demo", "--json", "--quiet")
    assert code == 0
    assert json.loads(out)["ks"] == [2, 3]
    run(capsys, "demo")
    assert [keywords["progress"] for keywords in asked] == [False, None]


@pytest.mark.parametrize(
    ("error", "code", "told"),
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
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_every_end_has_its_code_and_its_line(csv, capsys, monkeypatch, error, code, told):
    def end(*_, **__):
        raise error

    monkeypatch.setattr(commands, "select_k", end)
    found, out, err = run(capsys, "select", csv)
    assert (found, err) == (code, f"compsil-kit: error: {told}\n" if told else "")
    assert out.count("\n") == 3


def test_a_closed_pipe_is_no_drama(csv):
    command = f"{sys.executable} -m compsil_kit select {csv} --ks 2:4 -B 3 | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("Read")
    assert done.stderr == ""


def read_terminal(terminal, pattern):
    """Read what a program writes to a terminal until it matches."""
    shown = ""
    while not re.search(pattern, shown):
        assert select.select([terminal], [], [], PATIENCE)[0], f"waited in vain; the terminal shows {shown!r}"
        shown += os.read(terminal, 4096).decode()
    return shown


def test_interrupt_shows_the_finished_part(tmp_path):
    path = tmp_path / "large.csv"
    X, _ = make_blobs(20_000, 8, centers=6, random_state=0)
    pd.DataFrame(X).to_csv(path, index=False)
    ours, theirs = os.openpty()
    termios.tcsetwinsize(theirs, (24, 100))
    command = [sys.executable, "-m", "compsil_kit", "select", path, "-B", "2000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, text=True) as process:
        os.close(theirs)
        try:
            # The bar counts the first finished subsamples.
            read_terminal(ours, r"[1-9]\d*/2000 ")
            process.send_signal(signal.SIGINT)
            read_terminal(ours, r"stopped after [1-9]\d* of 2000 subsamples")
            out, _ = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    os.close(ours)
    assert process.returncode == 130
    assert out.startswith("Read")
    assert "PARTIAL" in out


def test_the_same_command_continues_after_an_interrupt(tmp_path):
    path, kept = tmp_path / "data.csv", tmp_path / "kept.json"
    X, _ = make_blobs(20_000, 8, centers=6, random_state=0)
    pd.DataFrame(X).to_csv(path, index=False)
    # One worker: of several, a subsample may be finished whose predecessor is not; that one is in the result only.
    words = [
        sys.executable,
        "-m",
        "compsil_kit",
        "select",
        path,
        "--checkpoint",
        kept,
        "--ks",
        "2:4",
        "--json",
        "-j1",
        "-B",
    ]
    with subprocess.Popen([*words, "2000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            until(lambda: kept.exists() and json.loads(kept.read_text())["trials"], "a subsample is kept", process)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert process.returncode == 130
    assert f"subsamples; run the same command again to resume from {kept}" in err
    finished = len(json.loads(kept.read_text())["trials"])
    assert len(json.loads(out)["trials"]["subsamples"]) == finished
    # What is there is enough for a smaller run, which computes nothing.
    before = kept.read_bytes()
    done = subprocess.run([*words, str(finished)], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["trials"]["micro"] == json.loads(out)["trials"]["micro"]
    assert kept.read_bytes() == before


def test_a_checkpoint_of_another_selection_is_refused(csv, tmp_path, capsys):
    kept = tmp_path / "kept.json"
    words = ("select", csv, "-B", "3", "--checkpoint", kept, "--ks")
    code, first, _ = run(capsys, *words, "2:4")
    assert code == 0
    assert run(capsys, *words, "2:4") == (0, first, "")
    code, _, err = run(capsys, *words, "2:5")
    assert code == 2
    assert "ks was [2, 3, 4] and is now [2, 3, 4, 5]. Pass another path, or delete the file" in err
    assert err.count("\n") == 1


def test_a_checkpoint_without_a_folder_is_refused(csv, tmp_path, capsys):
    with pytest.raises(SystemExit) as end:
        main(["select", str(csv), "--checkpoint", str(tmp_path / "missing" / "kept.json")])
    assert end.value.code == 2
    assert "missing: no such folder for the checkpoint\n" in capsys.readouterr().err


# Comparing.


def test_compare_prints_table_and_explanation(csv, capsys):
    code, out, err = run(capsys, "compare", csv, "--columns", "a,b,c", "--ks", "2:5", "-B", "3", "--n-references", "2")
    assert (code, err) == (0, "")
    assert "\nData: columns a, b, c; scale standard\n" in out
    assert "Comparison over k in 2..5; * marks the selected k" in out
    assert "select k = 3" in out
    assert "Note:" not in out


def test_compare_gives_the_numbers_of_the_library(csv, frame, capsys):
    words = ("--columns", "a,b,c", "--scale", "none", "--ks", "2,3,4", "-B", "3", "--n-repeats", "2", "--json")
    code, out, _ = run(capsys, "compare", csv, "--criteria", "micro, elbow ,gap", "--n-references", "4", *words)
    assert code == 0
    data = json.loads(out)
    expected = compare(
        frame[["a", "b", "c"]],
        criteria=["micro", "elbow", "gap"],
        ks=[2, 3, 4],
        n_subsamples=3,
        n_repeats=2,
        n_references=4,
    )
    assert data["choices"] == expected.choices
    assert (data["n_repeats"], data["n_references"]) == (2, 4)
    for name in ("micro", "elbow", "gap"):
        np.testing.assert_allclose(data["values"][name], expected.values[name], rtol=1e-9)


def test_compare_draws(csv, tmp_path, capsys):
    plot = tmp_path / "deep" / "criteria.png"
    words = ("--criteria", "micro,macro", "--ks", "2:4", "-B", "2", "--plot", plot)
    code, out, _ = run(capsys, "compare", csv, *words)
    assert code == 0
    assert f"Plot: {plot}" in out
    assert plot.read_bytes().startswith(b"\x89PNG")
    # Half an inch for each criterion.
    assert pixels(plot) == (1260, 360)


def test_compare_warns_of_odd_columns(frame, tmp_path, capsys):
    path = tmp_path / "odd.csv"
    frame.assign(customer_id=np.arange(300) * 11 % 307, one=1).to_csv(path, index=False)
    words = (path, "--ks", "2:3", "-B", "2")
    _, out, _ = run(capsys, "compare", *words, "--criteria", "micro")
    assert "Note: column 'one' is constant" in out
    assert "Note: column 'customer_id' looks like an identifier" in out
    _, text, _ = run(capsys, "compare", *words, "--criteria", "micro", "--json")
    assert json.loads(text)["ks"] == [2, 3]
    _, out, _ = run(capsys, "select", *words)
    assert "Note: column 'customer_id' looks like an identifier" in out


def test_an_impossible_plot_is_told_before_the_comparison(csv, capsys):
    code, _, err = run(capsys, "compare", csv, "--plot", "x.txt")
    assert code == 2
    assert err == "compsil-kit: error: --plot must name a .png, .svg or .pdf file; got 'x.txt'.\n"


# Reporting.


@pytest.mark.parametrize("extra", [[], ["--compare"]])
def test_report(csv, tmp_path, capsys, extra):
    target = tmp_path / "new" / "folder" / "report.html"
    code, out, err = run(capsys, "report", csv, target, "--ks", "2:4", "-B", "2", "--columns", "a,b,c", *extra)
    assert (code, err) == (0, "")
    assert "k* = 3 of 2..4" in out
    assert out.endswith(f"\nReport: {target}\n")
    page = target.read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "columns a, b, c; scale standard" in page
    assert ("Other criteria" in page) == bool(extra)
    assert [file.name for file in target.parent.iterdir()] == ["report.html"]


def test_a_report_takes_up_a_selection(csv, tmp_path, capsys):
    kept, words = tmp_path / "kept.json", ("--ks", "2:4", "-B", "3", "--json")
    code, selected, _ = run(capsys, "select", csv, *words, "--checkpoint", kept)
    assert code == 0
    before = kept.stat().st_mtime_ns
    code, reported, _ = run(capsys, "report", csv, tmp_path / "report.html", *words, "--checkpoint", kept)
    assert code == 0
    assert reported == selected
    assert kept.stat().st_mtime_ns == before


def test_report_and_json(csv, tmp_path, capsys):
    code, out, _ = run(
        capsys, "report", csv, tmp_path / "report.htm", "--ks", "2:4", "-B", "2", "--rule", "lcb", "--json"
    )
    assert code == 0
    found = SelectionResult.from_dict(json.loads(out))
    assert found.rule == "lcb"
    assert found.preparation.left_out == ("city",)
    assert (tmp_path / "report.htm").exists()


@pytest.mark.parametrize(
    ("target", "message"),
    [("report.pdf", "OUT must name a .html file; got"), ("data.csv/report.html", "data.csv: File exists")],
)
def test_a_target_that_cannot_be_written(csv, tmp_path, capsys, target, message):
    code, out, err = run(capsys, "report", csv, tmp_path / target, "--ks", "2:4", "-B", "2")
    assert code == 2
    assert message in err
    assert out == ""


def test_a_failed_selection_leaves_no_report(csv, tmp_path, capsys):
    target = tmp_path / "report.html"
    target.write_text("old")
    code, _, _ = run(capsys, "report", csv, target, "--ks", "2:1000")
    assert code == 2
    assert target.read_text() == "old"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    columns = {**columns_of(), "city": np.full(LARGE, "Rome")}
    return write_parquet(tmp_path_factory.mktemp("cli") / "table", columns, n_files=3)


FEW = ["--ks", "2,3", "-B", "2", "--sample-size", "300", "--quiet"]


@pytest.mark.parametrize("pattern", ["", "/*.parquet", "/part-?.parquet"])
def test_parquet_files_larger_than_memory(folder, pattern, capsys, monkeypatch):
    monkeypatch.setattr("compsil_kit._data.dataset.available_bytes", lambda: 1_000)
    code, out, _ = run(capsys, "select", f"{folder}{pattern}", *FEW)
    assert code == 0
    assert "Data: columns x0, x1, x2; scale standard; left out as not numeric: city\n" in out
    expected = select_k(prepare(pd.read_parquet(folder)), ks=[2, 3], n_subsamples=2, sample_size=300)
    code, out, _ = run(capsys, "select", f"{folder}{pattern}", *FEW, "--json")
    assert json.loads(out)["trials"] == json.loads(json.dumps(expected.to_dict()))["trials"]


def test_columns_of_parquet_files(folder, capsys):
    _, out, _ = run(capsys, "select", str(folder), *FEW, "--columns", "x2,x0")
    assert "Data: columns x2, x0; scale standard\n" in out
    _, out, _ = run(capsys, "select", str(folder), *FEW, "--exclude", "x1", "--scale", "minmax")
    assert "Data: columns x0, x2; scale minmax; left out as not numeric: city\n" in out
    code, _, err = run(capsys, "select", str(folder), *FEW, "--exclude", "y")
    assert code == 2
    assert "--exclude: 'y' is not a column of the data, which has x0, x1, x2, city." in err


def test_a_comparison_loads_parquet_files(folder, capsys, monkeypatch):
    words = ["compare", str(folder / "part-0.parquet"), *FEW, "--criteria", "composite,elbow"]
    assert run(capsys, *words)[0] == 0
    monkeypatch.setattr("compsil_kit._data.dataset.available_bytes", lambda: 1_000)
    code, _, err = run(capsys, "compare", str(folder), *FEW)
    assert code == 1
    assert "X must be loaded completely for this: 50,500 rows of 3 columns" in err


def test_folders_of_a_plot_are_made(tmp_path):
    for name in ("deep/down/curve.png", "deep/down/other.PDF"):
        commands._check_plot(tmp_path / name)
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["down"]
    commands._check_plot(None)
