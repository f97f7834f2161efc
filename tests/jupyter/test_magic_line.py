"""Parsing, tab completion and error messages of %compsil lines."""

import numpy as np
import pandas as pd
import polars
import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.error import UsageError
from sklearn.cluster import KMeans

from compsil_jupyter.magic_line import COMMANDS, did_you_mean, parse_line, split, user_names


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('df[df.city == "Oslo S"] -q', ['df[df.city == "Oslo S"]', "-q"]),
        ("df.query(\"a > 1 and b == 'x)'\") -q", ["df.query(\"a > 1 and b == 'x)'\")", "-q"]),
        ("f(lambda row: row[0] + 1, {1: 2})  x", ["f(lambda row: row[0] + 1, {1: 2})", "x"]),
        (r'df["a \" ] b"] -q', [r'df["a \" ] b"]', "-q"]),
        ('--columns a,"net income",b', ["--columns", 'a,"net income",b']),
        ("--columns a, b -q", ["--columns", "a, b", "-q"]),
        ("--columns a, -q", ["--columns", "a,", "-q"]),
        ("df -q # all of it", ["df", "-q", ""]),
        ("df a#b", ["df", "a#b"]),
        ("df['#'] #", ["df['#']", ""]),
        ("df) x", ["df)", "x"]),
        ("df[a b", ["df[a b"]),
        ("x 'net inc", ["x", "'net inc"]),
        ("", [""]),
    ],
)
def test_split_respects_quotes_brackets_and_comments(line, words):
    assert split(line) == words


@pytest.mark.parametrize(
    ("line", "in_cell", "parsed"),
    [
        ("df [0] -B 5", False, ("select", ["df [0]"], {"n_subsamples": 5})),
        ("compare df", False, ("compare", ["df"], {})),
        ("report df out.html", False, ("report", ["df", "out.html"], {})),
        ("", True, ("select", [""], {})),
        ("report out.html", True, ("report", ["", "out.html"], {})),
        ("df --ks 2,kmax", False, ("select", ["df"], {"ks": (2, 5)})),
        ("df --ks 2:kmax:3", False, ("select", ["df"], {"ks": (2, 5)})),
    ],
)
def test_parse_line_returns_the_command_data_and_options(line, in_cell, parsed):
    assert parse_line(line, {"kmax": 5}, in_cell=in_cell) == parsed


def test_suggestions_exclude_names_defined_by_ipython():
    assert user_names(["In", "Out", "exit", "open", "get_ipython", "_", "_i1", "df", "i_n"]) == ["df", "i_n"]
    assert did_you_mean(["micro", "gpa"], ["micro", "gap"]) == " Did you mean 'gap'?"
    assert did_you_mean(["ou", "_idx"], ["Out", "_idy"]) == ""
    assert did_you_mean(["df"], ["df"]) == ""


# Errors.

ERRORS = {
    "%compsil --ks 2:3": "DATA is missing. Usage: %compsil select DATA [options]",
    "%compsil report df": "OUT.html is missing. Usage: %compsil report DATA OUT.html [options]",
    "%%compsil report\nX": "OUT.html is missing. Usage: %%compsil report OUT.html [options]",
    "%%compsil\nx = df": "a %%compsil cell must end with an expression that gives the data, such as df.",
    "%%compsil df\nX": "unexpected argument 'df'. In a %%compsil cell, the last expression is the data.",
    "%compsil dff": "evaluating 'dff' raised NameError: name 'dff' is not defined. Did you mean 'df'?",
    "%compsil df['z']": "evaluating \"df['z']\" raised KeyError: 'z'",
    "%compsil df[": "the data must be a Python expression; got 'df[' ('[' was never closed).",
    "%compsil df ks 2:5": "the data must be a Python expression; got 'df ks 2:5' (invalid syntax). "
    "Did you mean '--ks'?",
    "%compsil comapre df": "the data must be a Python expression; got 'comapre df' (invalid syntax). "
    "Did you mean 'compare'?",
    "%compsil -df": "unknown option '-df'. Put data that starts with a minus sign in parentheses: (-df).",
    "%compsil df --kss 2:4": "unknown option '--kss'. Did you mean '--ks'?",
    # Options cannot be abbreviated.
    "%compsil df --rul lcb": "unknown option '--rul'. Did you mean '--rule'?",
    "%compsil df --xyzzy": "unknown option '--xyzzy'. %compsil? lists the options.",
    "%compsil compare df --rule max": "compare has no option --rule; it belongs to select, explore, report.",
    "%compsil df --clusterer estimatr": "argument --clusterer: unknown value 'estimatr'. Did you mean 'estimator'?",
    "%compsil compare df --criteria mico,gap": "argument --criteria: unknown value 'mico,gap'. Did you mean 'micro'?",
    "%compsil df --ks 2:kmx": "argument --ks: must look like 2:10, 2:20:2 or 2,3,5; got '2:kmx'. Did you mean 'kmax'?",
    "%compsil df --ks 2:name": "argument --ks: must look like 2:10, 2:20:2 or 2,3,5; got '2:text'.",
    "%compsil df -B many": "argument -B/--n-subsamples: must be an integer; got 'many'.",
    "%compsil df -B 0": "argument -B/--n-subsamples: n_subsamples must be an integer of at least 1; got 0.",
    "%compsil df --rule": "argument --rule: expected one argument",
    "%compsil df -o 1x": "argument -o/--output: must be a valid variable name, such as result; got '1x'.",
    "%compsil df -o class": "argument -o/--output: must be a valid variable name, such as result; got 'class'.",
}
# Messages from Python and the engine; only the start is checked.
PASSED_ON = {
    "%compsil df --clusterer new": "argument --clusterer: clusterer must be one of 'kmeans', 'minibatch-kmeans', ",
    "%compsil df -B name": "argument -B/--n-subsamples: n_subsamples must be an integer of at least 1, or 'auto'",
    "%compsil df --columns a,cty": "columns: 'cty' ",
    "%compsil df --checkpoint no/such/folder": "argument --checkpoint: ",
    "%compsil name": "X as text must name Parquet data",
    "%compsil report df out.txt": "OUT must name a .html file; got 'out.txt'.",
    "%compsil report df file/out.html": "file: File exists",
    "%compsil X --clusterer fails": "clustering into k=2 failed on subsample 0 (seed ",
    "%compsil X --clusterer fails --on-failure skip": "No k of 2..4 can be selected: ",
}
KEPT = " The partial result is in sys.last_value.result."


@pytest.fixture
def error_of(shell, tmp_path, capsys):
    """Run a cell and return the single line displayed by IPython."""
    calls = []

    def fails(X, k, seed):
        raise RuntimeError("out of luck")

    def fails_late(X, k, seed):
        """Fail in the third subsample, after six calls: two subsamples with three candidates each."""
        calls.append(k)
        return fails(X, k, seed) if len(calls) > 6 else np.arange(len(X)) % k

    (tmp_path / "file").touch()
    shell.push({"kmax": 4, "name": "text", "fails": fails, "late": fails_late, "estimator": KMeans()})

    def error_of(cell):
        done = shell.run_cell(cell)
        output = capsys.readouterr()
        assert type(done.error_in_exec) is UsageError
        assert (output.out, output.err.count("\n")) == ("", 1)
        return output.err.removeprefix("UsageError: ").rstrip("\n")

    return error_of


@pytest.mark.parametrize("line", ERRORS, ids=lambda line: line.replace("\n", " / "))
def test_invalid_lines_raise_errors_on_one_line(error_of, line):
    assert error_of(line) == ERRORS[line]


@pytest.mark.parametrize("line", PASSED_ON)
def test_errors_from_python_and_the_engine_are_shown_on_one_line(error_of, line):
    found = error_of(line)
    assert found.startswith(PASSED_ON[line])
    # Only a complete run in which no k can be selected has a result.
    assert found.endswith(KEPT) is ("skip" in line)


@pytest.mark.parametrize(
    ("line", "finished"),
    [
        ("%compsil X --clusterer late -B 5 -o kept", (2, True)),
        ("%compsil report X out.html --clusterer late -B 2 --compare -o kept", (2, False)),
        ("%compsil report X taken.html -o kept", (3, False)),
    ],
)
def test_an_error_keeps_the_partial_result(shell, error_of, tmp_path, line, finished):
    (tmp_path / "taken.html").mkdir()
    assert error_of(line).endswith(KEPT)
    result = shell.run_cell("import sys; sys.last_value.result").result
    assert (result.n_subsamples, result.partial) == finished
    assert "kept" not in shell.user_ns
    assert not (tmp_path / "out.html").exists()


def test_a_rejected_selection_leaves_variables_and_reports_unchanged(shell, error_of, tmp_path):
    (tmp_path / "out.html").write_text("old")
    shell.push({"kept": "old"})
    message = error_of("%compsil report df out.html --ks 2:999 -o kept")
    assert message.startswith("ks must be smaller than the number of rows, 240; got k=")
    assert ((tmp_path / "out.html").read_text(), shell.user_ns["kept"]) == ("old", "old")


# Completion through IPython's completer.


@pytest.fixture
def complete(shell):
    shell.push({"flat": np.arange(4), "dog": 3, "Y": np.eye(3), "words": "text", "kmax": 8})
    shell.push({"odd": pd.DataFrame({2020: [1.0], 'say "x"': [2.0]}), "pl": polars.DataFrame({"left": [1.0]})})

    def complete(line):
        with provisionalcompleter():
            found = list(shell.Completer.completions(line, len(line)))
        return line[found[0].start :] if found else "", [each.text for each in found]

    return complete


DATA = ["X", "Y", "df", "odd", "pl"]


@pytest.mark.parametrize(
    ("line", "fragment", "words"),
    [
        *((start, "", [*DATA, *COMMANDS]) for start in
          ("%compsil ", "r = %compsil ", "    %compsil ", "%%compsil ", "compsil ", "a, b = %compsil ")),
        ("%compsil co", "co", ["compare"]),
        # Other variables may have attributes that contain data.
        ("%compsil d", "d", ["df", "dog"]),
        # exit is omitted, because IPython defines it.
        ("%compsil e", "e", ["explore"]),
        ("%compsil compare ", "", DATA),
        ("%compsil --ks 2:4 o", "o", ["odd"]),
        ("%compsil df --cl", "--cl", ["--clusterer"]),
        ("%compsil df --n", "--n", ["--n-subsamples", "--n-jobs", "--n-starts", "--n-calibration"]),
        ("%compsil compare df --n", "--n", ["--n-subsamples", "--n-jobs", "--n-repeats", "--n-references"]),
        ("%compsil report df out.html --com", "--com", ["--compare"]),
        ("%compsil df --rule ", "", ["max", "lcb"]),
        ("%compsil df --scale=", "", ["auto", "standard", "robust", "minmax", "none"]),
        ("%compsil df --transform li", "li", ["linear"]),
        ("%compsil df --ks 2:k", "k", ["kmax"]),
        ("%compsil df --clusterer k", "k", ["kmeans", "kmedoids", "kmax"]),
        ("%compsil compare df --criteria micro,g", "g", ["gap"]),
        ("%compsil df --columns ", "", ["a", "b", '"net income, EUR"', "city"]),
        ("%compsil compare df[df.a > 1] --ks 2:3 --columns a,", "", ["b", '"net income, EUR"', "city"]),
        ("%compsil df --columns a,n", "n", ['"net income, EUR"']),
        ('%compsil df --columns a,"net ', '"net ', ['"net income, EUR"']),
        ("%compsil odd --columns ", "", ["2020", "'say \"x\"'"]),
        ("%compsil X --columns ", "", ["0", "1"]),
        ("%compsil 'X[:5]' --columns ", "", ["0", "1"]),
        ("%compsil pl --columns ", "", ["left"]),
    ],
)  # fmt: skip
def test_completion_offers_commands_data_options_and_values(complete, line, fragment, words):
    assert complete(line) == (fragment, words)


def test_completion_offers_only_unused_options(complete):
    words = complete("%compsil df --ks 2:4 -B 3 ")[1]
    assert "--clusterer" in words
    assert not {"--ks", "--n-subsamples", "--compare"} & set(words)


def test_expressions_and_other_lines_are_completed_by_ipython(shell, complete):
    assert [word.lstrip(".") for word in complete("%compsil df.colu")[1]] == ["columns"]
    assert "dog" in complete("%compsil df[df.a > d")[1]
    assert "df" in complete("d")[1]
    for line in ("%compsil dog --columns ", "%compsil no_such --columns "):
        assert "a" not in complete(line)[1]
    # A variable with this name hides the magic.
    shell.push({"compsil": 1})
    assert "explore" not in complete("compsil ")[1]
    del shell.user_ns["compsil"]
    shell.automagic = False
    assert "explore" not in complete("compsil ")[1]
    assert "explore" in complete("%compsil ")[1]
