"""Every mistake on a %compsil line gets one line, with the nearest right spelling."""

import numpy as np
import pytest
from IPython.core.error import UsageError
from sklearn.cluster import KMeans

MISTAKES = {
    "%compsil": "DATA is missing. Usage: %compsil select DATA [options]",
    "%compsil ;": "DATA is missing. Usage: %compsil select DATA [options]",
    "%compsil --ks 2:3": "DATA is missing. Usage: %compsil select DATA [options]",
    "%compsil dff": "evaluating 'dff' raised NameError: name 'dff' is not defined. Did you mean 'df'?",
    "%compsil nothing_like": "evaluating 'nothing_like' raised NameError: name 'nothing_like' is not defined.",
    "%compsil df[df.z > 1]": "evaluating 'df[df.z > 1]' raised AttributeError: 'DataFrame' object has no attribute 'z'",
    "%compsil df['z']": "evaluating \"df['z']\" raised KeyError: 'z'",
    "%compsil df[": "the data must be a Python expression; got 'df[' ('[' was never closed).",
    "%compsil df ks 2:5": "the data must be a Python expression; got 'df ks 2:5' (invalid syntax). "
    "Did you mean '--ks'?",
    "%compsil df df": "the data must be a Python expression; got 'df df' (invalid syntax).",
    "%compsil comapre df": "the data must be a Python expression; got 'comapre df' (invalid syntax). "
    "Did you mean 'compare'?",
    "%compsil -df": "unknown option '-df'. Data that starts with a minus sign needs parentheses: (-df).",
    "%compsil df --kss 2:4": "unknown option '--kss'. Did you mean '--ks'?",
    "%compsil df --n_subsamples 4": "unknown option '--n_subsamples'. Did you mean '--n-subsamples'?",
    "%compsil df -b 4": "unknown option '-b'. Did you mean '-B'?",
    "%compsil df --xyzzy": "unknown option '--xyzzy'. %compsil? lists the options.",
    "%compsil df --criteria all": "select has no option --criteria; it belongs to compare.",
    "%compsil compare df --rule max": "compare has no option --rule; it belongs to select, explore, report.",
    "%compsil reprt df out.html --compare": "select has no option --compare; it belongs to report.",
    "%compsil df --clusterer kmean": "argument --clusterer: unknown value 'kmean'. Did you mean 'kmeans'?",
    "%compsil df --clusterer estimatr": "argument --clusterer: unknown value 'estimatr'. Did you mean 'estimator'?",
    "%compsil df --scale standart": "argument --scale: unknown value 'standart'. Did you mean 'standard'?",
    "%compsil df --metric euclid": "argument --metric: unknown value 'euclid'. Did you mean 'euclidean'?",
    "%compsil compare df --criteria mico,gap": "argument --criteria: unknown value 'mico,gap'. Did you mean 'micro'?",
    "%compsil df --rule min": "argument --rule: rule must be one of 'max', 'lcb'; got 'min'.",
    "%compsil df --ks 2:kmx": "argument --ks: must look like 2:10, 2:20:2 or 2,3,5; got '2:kmx'. Did you mean 'kmax'?",
    "%compsil df --ks 2:name": "argument --ks: must look like 2:10, 2:20:2 or 2,3,5; got '2:text'.",
    "%compsil df --ks 1:4": "argument --ks: ks must be an integer of at least 2; got 1.",
    "%compsil df -B many": "argument -B/--n-subsamples: must be a whole number; got 'many'.",
    "%compsil df -B kmx": "argument -B/--n-subsamples: unknown value 'kmx'. Did you mean 'kmax'?",
    "%compsil df -B 0": "argument -B/--n-subsamples: n_subsamples must be an integer of at least 1; got 0.",
    "%compsil df -B name": "argument -B/--n-subsamples: n_subsamples must be an integer of at least 1, or 'auto' for "
    "as many as it takes; got 'text'.",
    "%compsil df --z wide": "argument --z: must be a number; got 'wide'.",
    "%compsil df --sample-size half": "argument --sample-size: must be auto, paper, a number of rows, or a fraction "
    "such as 0.5; got 'half'.",
    "%compsil df --rule": "argument --rule: expected one argument",
    "%compsil df -o 1x": "argument -o/--output: must be a valid variable name, such as result; got '1x'.",
    "%compsil df -o class": "argument -o/--output: must be a valid variable name, such as result; got 'class'.",
    "%compsil compare": "DATA is missing. Usage: %compsil compare DATA [options]",
    "%compsil explore --ks 2:3": "DATA is missing. Usage: %compsil explore DATA [options]",
    "%compsil report df": "OUT.html is missing. Usage: %compsil report DATA OUT.html [options]",
    "%%compsil\nx = df": "the last line of a %%compsil cell must be an expression for the data, such as df.",
    "%%compsil df\nX": "unexpected argument 'df'. The last line of a %%compsil cell is the data.",
    "%%compsil report\nX": "OUT.html is missing. Usage: %%compsil report OUT.html [options]",
}
# What the engine or Python says, so only the beginning.
PASSED_ON = {
    "%compsil df['a": 'the data must be a Python expression; got "df[\'a" (unterminated string literal',
    "%compsil df --clusterer new": "argument --clusterer: clusterer must be one of 'kmeans', 'minibatch-kmeans', ",
    "%compsil compare df --criteria best": "argument --criteria: criteria must be among composite, micro, ",
    "%compsil df --columns a,cty": "columns: 'cty' ",
    "%compsil df --columns city": "columns: 'city' ",
    "%compsil df --columns 'a": 'columns: "\'a" ',
    "%compsil df --ks 2:999": "ks must be smaller than the number of rows, 240; got k=",
    "%compsil df --rule lcb -B 1": "n_subsamples with rule='lcb' must be an integer of at least 2; got 1.",
    "%compsil df --checkpoint no/such/folder": "argument --checkpoint: ",
    "%compsil name": "X as text must name Parquet data",
    "%compsil report df out.txt": "OUT must name a .html file; got 'out.txt'.",
    "%compsil report df file/out.html": "file: File exists",
    "%compsil X --clusterer fails": "clustering into k=2 failed on subsample 0 (seed ",
    "%compsil X --clusterer fails --on-failure skip": "No k of 2..4 can be selected: ",
}


@pytest.fixture
def run(shell, tmp_path, capsys):
    """Run a line that is wrong, and return the one line that IPython shows."""

    def fails(X, k, seed):
        raise RuntimeError("out of luck")

    (tmp_path / "file").touch()
    shell.push({"kmax": 4, "name": "text", "fails": fails, "estimator": KMeans()})

    def run(line):
        done = shell.run_cell(line)
        output = capsys.readouterr()
        assert type(done.error_in_exec) is UsageError
        assert output.out == ""
        assert output.err.count("\n") == 1
        return output.err.removeprefix("UsageError: ").rstrip("\n")

    return run


@pytest.mark.parametrize("line", MISTAKES, ids=lambda line: line.replace("\n", " / "))
def test_mistakes_get_one_line(run, line):
    assert run(line) == MISTAKES[line]


@pytest.mark.parametrize("line", PASSED_ON)
def test_errors_of_the_engine_get_one_line(run, line):
    told = run(line)
    assert told.startswith(PASSED_ON[line])
    # Only a run whose trials all failed has ended with a result.
    assert told.endswith(KEPT) is ("skip" in line)


# What was finished before an error.

KEPT = " The finished part is in sys.last_value.result."


@pytest.fixture
def late(shell):
    """A clusterer that fails in the third subsample: 3 candidates in the first two are six calls."""
    calls = []

    def late(X, k, seed):
        calls.append(k)
        if len(calls) > 6:
            raise RuntimeError("out of luck")
        return np.arange(len(X)) % k

    shell.push({"late": late})


@pytest.mark.usefixtures("late")
def test_a_failed_clustering_keeps_the_finished_part(shell, run):
    assert run("%compsil X --clusterer late -B 5 -o kept").endswith(KEPT)
    assert shell.run_cell("import sys; sys.last_value.result").result.n_subsamples == 2
    assert "kept" not in shell.user_ns


@pytest.mark.usefixtures("late")
def test_a_failed_comparison_keeps_the_selection_of_its_report(shell, run, tmp_path):
    assert run("%compsil report X out.html --clusterer late -B 2 --compare").endswith(KEPT)
    result = shell.run_cell("import sys; sys.last_value.result").result
    assert (result.n_subsamples, result.partial) == (2, False)
    assert not (tmp_path / "out.html").exists()


def test_a_report_that_cannot_be_written_keeps_its_selection(shell, run, tmp_path):
    (tmp_path / "taken.html").mkdir()
    assert run("%compsil report X taken.html").endswith(KEPT)
    assert not shell.run_cell("import sys; sys.last_value.result").result.partial


def test_a_refused_selection_leaves_variables_and_reports_alone(shell, tmp_path):
    (tmp_path / "out.html").write_text("old")
    shell.push({"kept": "old"})
    shell.run_cell("%compsil report df out.html --ks 2:999 -o kept")
    assert (tmp_path / "out.html").read_text() == "old"
    assert shell.user_ns["kept"] == "old"
