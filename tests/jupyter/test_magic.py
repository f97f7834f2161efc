"""%compsil in a real IPython: what it returns, stores, says and refuses."""

import inspect

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances

import compsil_jupyter
from compsil_jupyter.options import options
from compsil_kit import Comparison, SelectionResult, compare, select_k
from compsil_kit.tabular import prepare
from compsil_pandas import ColumnWarning

SHORT = {"ks": range(2, 5), "n_subsamples": 3}


def run(shell, line):
    """Run a cell as a user would and return what it shows; a traceback fails the test."""
    done = shell.run_cell(line)
    done.raise_error()
    return done.result


def same(found, expected):
    np.testing.assert_array_equal(found.ks, expected.ks)
    np.testing.assert_allclose(found.scores, expected.scores, rtol=0, atol=1e-12)


def test_a_line_is_the_librarys_call(shell, frame):
    found = run(
        shell,
        "%compsil df --ks 2:5 -B 4 --clusterer gmm --sample-size 0.5 --rule lcb --z 2 --scale robust --columns a,b "
        "--metric manhattan --transform linear --missing drop --on-failure skip --seed 0 -j -1 --n-calibration 2",
    )
    table = prepare(frame, columns=["a", "b"], scale="robust")
    expected = select_k(
        table.matrix, ks=range(2, 6), n_subsamples=4, clusterer="gmm", sample_size=0.5, rule="lcb", z=2.0,
        metric="manhattan", transform="linear", on_failure="skip", random_state=0, n_calibration=2,
    )  # fmt: skip
    same(found, expected)
    assert (found.rule, found.z, found.transform) == ("lcb", 2.0, "linear")
    assert found.plan == expected.plan
    assert found.preparation == table.preparation


def test_frames_are_scaled_and_arrays_are_not(shell, frame):
    same(run(shell, "%compsil df"), select_k(prepare(frame).matrix, **SHORT))
    same(run(shell, "%compsil X"), select_k(frame[["a", "b"]].to_numpy(), **SHORT))
    same(run(shell, "%compsil df --scale none"), select_k(prepare(frame, scale=None).matrix, **SHORT))
    same(run(shell, "%compsil X --scale minmax"), select_k(prepare(frame[["a", "b"]], scale="minmax").matrix, **SHORT))


@pytest.mark.parametrize(
    "expression",
    [
        'df[df.city == "Oslo S"]',
        "df[df.a > df.a.median()]",
        "df.iloc[:, :-2]",
        'df.query("a > 1 or b < 2")',
        "df[[name for name in df.columns[:2]]]",
        "df.apply(lambda column: column, axis=0)",
        "(df if len(df) else None)",
        "df if len(df) else None",
        "X - X.mean(axis=0)",
        "'df[df.a > 1]'",
        '"df"',
        "np.asarray([[row % 9, row * 7 % 5] for row in range(60)])",
        "df.to_dict('list') and df",
    ],
)
def test_any_expression_is_data(shell, expression):
    shell.push({"np": np})
    wanted = expression[1:-1] if expression[0] in "'\"" else expression
    same(run(shell, f"%compsil {expression} -q"), run(shell, f"%compsil ({wanted})"))


def test_other_kinds_of_data(shell, frame):
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    numeric = frame[["a", "b"]]
    expected = select_k(prepare(numeric).matrix, **SHORT)
    for table in (polars.DataFrame(numeric.to_dict("list")), pyarrow.Table.from_pandas(numeric)):
        shell.push({"table": table})
        same(run(shell, "%compsil table --columns b,a"), select_k(prepare(numeric[["b", "a"]]).matrix, **SHORT))
        same(run(shell, "%compsil table"), expected)
    shell.push({"table": sparse.csr_matrix(np.abs(numeric.to_numpy()))})
    assert run(shell, "%compsil table").preparation is None


def test_distances_are_not_scaled_even_in_a_frame(shell):
    D = pairwise_distances(shell.user_ns["X"])
    shell.push({"D": pd.DataFrame(D)})
    found = run(shell, "%compsil D --metric precomputed --clusterer agglomerative")
    same(found, select_k(D, metric="precomputed", clusterer="agglomerative", **SHORT))


# Columns.


@pytest.mark.parametrize(
    ("words", "columns"),
    [
        ("a,b", ["a", "b"]),
        ("b", ["b"]),
        ('a,"net income, EUR"', ["a", "net income, EUR"]),
        ("'net income, EUR'", ["net income, EUR"]),
        ("chosen", ["b", "a"]),
        ("a", ["a"]),
        ('"a",', ["a"]),
    ],
)
def test_columns(shell, words, columns):
    # The variable `a` loses against the column of that name.
    shell.push({"chosen": ["b", "a"], "a": ["b"]})
    assert run(shell, f"%compsil df --columns {words}").preparation.columns == tuple(columns)


def test_columns_that_are_numbers(shell, frame):
    same(run(shell, "%compsil X --columns 1"), select_k(frame[["b"]].to_numpy(), **SHORT))
    shell.push({"odd": frame[["a", "b"]].set_axis([2020, "2021"], axis=1)})
    assert run(shell, "%compsil odd --columns 2021,2020").preparation.columns == ("2021", "2020")


# Variables as values.


def test_variables_in_options(shell, frame):
    def by_a(X, k, seed):
        return np.digitize(X[:, 0], np.quantile(X[:, 0], np.linspace(0, 1, k + 1)[1:-1]))

    def blocks(x, y):
        return float(np.abs(x - y).sum())

    shell.push({"kmax": np.int64(5), "low": 2, "ks": [3, 4], "b": 2, "s": 7, "est": KMeans(n_init=2), "f": by_a})
    shell.push({"size": 0.5, "d": blocks, "none": None, "how": "minmax", "t": np.tanh})
    X = frame[["a", "b"]].to_numpy()
    for line, keywords in {
        "--ks low:kmax": {"ks": range(2, 6)},
        "--ks 2,kmax": {"ks": [2, 5]},
        "--ks ks": {"ks": [3, 4]},
        "-B b": {"n_subsamples": 2},
        "--seed s": {"random_state": 7},
        "--clusterer est": {"clusterer": KMeans(n_init=2)},
        "--clusterer f": {"clusterer": by_a},
        "--sample-size size": {"sample_size": 0.5},
        "--metric d -B 1": {"metric": blocks, "n_subsamples": 1},
        "-B2": {"n_subsamples": 2},
        "--ks=2:3": {"ks": [2, 3]},
    }.items():
        same(run(shell, f"%compsil X {line}"), select_k(X, **{**SHORT, **keywords}))
    same(run(shell, "%compsil X --scale how"), run(shell, "%compsil X --scale minmax"))
    same(run(shell, "%compsil df --scale none"), select_k(prepare(frame, scale=None).matrix, **SHORT))


def test_a_word_with_a_meaning_wins_over_a_variable(shell):
    shell.push({"gmm": KMeans(), "lcb": "max", "auto": 0.5})
    found = run(shell, "%compsil X --clusterer gmm --rule lcb --sample-size auto")
    assert (found.plan.clusterer, found.rule, found.plan.sample_size) == ("gmm", "lcb", 192)


def test_nothing_but_the_data_is_evaluated(shell, capsys):
    shell.push({"calls": []})
    for option in ("--ks", "-B", "--seed", "--clusterer", "--columns", "--scale", "-o", "--metric"):
        shell.run_cell(f"%compsil X {option} calls.append(1)")
        assert "UsageError" in capsys.readouterr().err
    assert shell.user_ns["calls"] == []


# What comes back.


def test_assignment(shell):
    run(shell, "r = %compsil df\nq = r.best_k")
    assert isinstance(shell.user_ns["r"], SelectionResult)
    assert shell.user_ns["q"] == shell.user_ns["r"].best_k


def test_inside_a_function(shell):
    run(
        shell,
        "def choose(table, names, most):\n"
        "    found = %compsil table[[name for name in table if name in names]] --ks 2:most -o kept\n"
        "    return found\n"
        "r = choose(df, 'ab', 3)",
    )
    found = shell.user_ns["r"]
    assert found.ks == (2, 3)
    assert found.preparation.columns == ("a", "b")
    assert shell.user_ns["kept"] is found
    assert "table" not in shell.user_ns


def test_a_local_variable_hides_a_global_one(shell):
    run(shell, "def choose():\n    df = X[:, :1]\n    return get_ipython().run_line_magic('compsil', 'df')")
    assert run(shell, "choose()").plan.n_features == 1


def test_a_semicolon_silences_but_does_not_lose(shell, capsys):
    assert run(shell, "%compsil df;") is None
    assert run(shell, "%compsil df -o kept ;") is None
    assert isinstance(shell.user_ns["kept"], SelectionResult)
    run(shell, "r = %compsil df;")
    assert isinstance(shell.user_ns["r"], SelectionResult)
    assert capsys.readouterr().out == ""


def test_output_stores_and_shows(shell, capsys):
    found = run(shell, "%compsil df -o kept")
    assert found is shell.user_ns["kept"]
    assert "SelectionResult: k* =" in capsys.readouterr().out
    run(shell, "both = %compsil df -o kept")
    assert shell.user_ns["both"] is shell.user_ns["kept"]


def test_automagic_and_comments(shell):
    assert run(shell, "compsil df --ks 2:3  # quick").ks == (2, 3)


# Sub-commands.


def test_compare(shell, frame):
    found = run(shell, "%compsil compare df --criteria micro,gap --n-repeats 2 --n-references 3")
    table = prepare(frame)
    expected = compare(table.matrix, criteria=["micro", "gap"], n_repeats=2, n_references=3, **SHORT)
    assert isinstance(found, Comparison)
    pd.testing.assert_frame_equal(found.values, expected.values)
    assert found.selection.preparation == table.preparation


def test_compare_takes_variables_and_defaults(shell):
    shell.push({"some": ["micro", "macro"]})
    run(shell, "%config CompsilMagics.rule = 'lcb'")
    assert list(run(shell, "%compsil compare X --criteria some").choices) == ["micro", "macro"]


@pytest.mark.parametrize("extra", ["", "--compare"])
def test_report(shell, tmp_path, capsys, extra):
    found = run(shell, f"%compsil report df[df.a > -99] new/out.html --rule lcb {extra}")
    page = (tmp_path / "new" / "out.html").read_text(encoding="utf-8")
    assert isinstance(found, SelectionResult)
    assert page.startswith("<!doctype html>")
    assert ("Other criteria" in page) == bool(extra)
    assert "Report: new/out.html\n" in capsys.readouterr().out
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["out.html"]


@pytest.mark.parametrize(("word", "name"), [("'my report.html'", "my report.html"), ("path", "from variable.html")])
def test_where_the_report_goes(shell, tmp_path, word, name):
    shell.push({"path": tmp_path / "from variable.html"})
    run(shell, f"%compsil report X {word};")
    assert (tmp_path / name).exists()


def test_explore(shell):
    found = run(shell, "%compsil explore df --ks 2:3 -B 2 --columns a,b --rule lcb -o kept;")
    assert found is None
    explorer = shell.user_ns["kept"]
    assert isinstance(explorer, compsil_jupyter.Explorer)
    explorer.close()


@pytest.mark.parametrize("name", ["select", "compare", "explore", "report"])
def test_a_variable_named_like_a_sub_command(shell, frame, name):
    shell.push({name: frame[["a"]]})
    assert run(shell, f"%compsil {name}").preparation.columns == ("a",)
    assert run(shell, f"%compsil {name} --ks 2:3").ks == (2, 3)
    assert run(shell, f"%compsil select {name}").preparation.columns == ("a",)
    assert run(shell, "%compsil select df --columns b").preparation.columns == ("b",)


# The cell form.


def test_cell(shell):
    found = run(shell, "%%compsil --ks 2:3 -o kept\npart = df[['a', 'b']]\nhalf = len(part) // 2\npart.head(half)")
    assert found.plan.n_rows == 120
    assert found.ks == (2, 3)
    assert shell.user_ns["kept"] is found
    assert shell.user_ns["half"] == 120


def test_cells_with_sub_commands_and_magics(shell, tmp_path):
    assert isinstance(run(shell, "%%compsil compare --criteria micro\ndf"), Comparison)
    assert isinstance(run(shell, "%%compsil\ninner = %compsil df --ks 2:3\ndf"), SelectionResult)
    assert shell.user_ns["inner"].ks == (2, 3)
    run(shell, "%%compsil report out.html\ndf")
    assert (tmp_path / "out.html").exists()
    assert run(shell, "%%compsil -o kept\ndf;") is None
    assert run(shell, "%%compsil -o kept;\ndf") is None


def test_an_error_in_the_body_is_the_users(shell, capsys):
    done = shell.run_cell("%%compsil\nbefore = 1\n1 / 0\ndf")
    assert isinstance(done.error_in_exec, ZeroDivisionError)
    assert shell.user_ns["before"] == 1
    shown = capsys.readouterr().out
    assert "ZeroDivisionError" in shown
    assert "----> 2 1 / 0" in shown
    assert "magic.py" not in shown
    done = shell.run_cell("%%compsil\nx = (\ndf")
    assert isinstance(done.error_in_exec, SyntaxError)


# Mistakes.

MISTAKES = {
    "%compsil": "which data? For instance: %compsil df --ks 2:10. %compsil? shows all options.",
    "%compsil ;": "which data? For instance: %compsil df --ks 2:10. %compsil? shows all options.",
    "%compsil --ks 2:3": "which data? For instance: %compsil df",
    "%compsil dff": "name 'dff' is not defined. Did you mean 'df'?",
    "%compsil nothing_like_it": "name 'nothing_like_it' is not defined.",
    "%compsil df[df.z > 1]": "the data 'df[df.z > 1]' gives AttributeError: 'DataFrame' object has no attribute 'z'",
    "%compsil df['z']": "the data \"df['z']\" gives KeyError: 'z'",
    "%compsil df[": "a closing ] is missing in: df[",
    "%compsil df['a": "a closing ' is missing in: df['a",
    "%compsil df ks 2:5": "the data must be one Python expression; got 'df ks 2:5'. Did you mean '--ks'?",
    "%compsil df df": "the data must be one Python expression; got 'df df'. %compsil? shows how to say it.",
    "%compsil -df": "unknown option '-df'. Data that starts with a minus needs brackets: (-df).",
    "%compsil df --kss 2:4": "unknown option '--kss'. Did you mean '--ks'?",
    "%compsil df --n_subsamples 4": "unknown option '--n_subsamples'. Did you mean '--n-subsamples'?",
    "%compsil df -b 4": "unknown option '-b'. Did you mean '-B'?",
    "%compsil df --xyzzy": "unknown option '--xyzzy'. %compsil? lists the options.",
    "%compsil df --criteria all": "unknown option '--criteria'. It belongs to %compsil compare, not to select.",
    "%compsil compare df --rule max": "unknown option '--rule'. It belongs to %compsil select, not to compare.",
    "%compsil df --clusterer kmean": "--clusterer: 'kmean' is unknown. Did you mean 'kmeans'?",
    "%compsil df --clusterer estimatr": "--clusterer must be one of kmeans, minibatch-kmeans, bisecting-kmeans, gmm, "
    "agglomerative, spectral, birch, kmedoids, clara, or the name of a variable; got 'estimatr'. "
    "Did you mean 'estimator'?",
    "%compsil df --scale standart": "--scale: 'standart' is unknown. Did you mean 'standard'?",
    "%compsil df --metric euclid": "--metric: 'euclid' is unknown. Did you mean 'euclidean'?",
    "%compsil df --rule min": "--rule must be one of max, lcb, or the name of a variable; got 'min'.",
    "%compsil compare df --criteria mico,gap": "--criteria: 'mico' is unknown. Did you mean 'micro'?",
    "%compsil df --ks 2:kmx": "name 'kmx' is not defined. Did you mean 'kmax'?",
    "%compsil df --ks 2:name": "--ks: 'name' must hold an integer; it holds 'text'.",
    "%compsil df --ks range(2,5)": "--ks: must look like 2:10, 2:20:2 or 2,3,5; got 'range(2,5)'",
    "%compsil df --ks 1:4": "--ks: ks must be an integer of at least 2; got 1.",
    "%compsil df -B many": "--n-subsamples must be an integer, or the name of a variable; got 'many'.",
    "%compsil df -B kmx": "--n-subsamples must be an integer, or the name of a variable; got 'kmx'. "
    "Did you mean 'kmax'?",
    "%compsil df --z wide": "--z must be a number, or the name of a variable; got 'wide'.",
    "%compsil df --sample-size half": "--sample-size must be auto, a number of rows, a fraction such as 0.5, or the "
    "name of a variable; got 'half'.",
    "%compsil df --rule": "--rule: expected one argument",
    "%compsil df -o 1x": "--output: must be a name to store under, such as result; got '1x'.",
    "%compsil df -o class": "--output: must be a name to store under, such as result; got 'class'.",
    "%compsil df --columns a,cty": "columns: 'cty' not in the data, whose columns are a, b, net income, EUR, city. "
    "Did you mean 'city'?",
    "%compsil df --columns city": "columns: 'city' not numeric. Leave out, or encode as numbers first "
    "(pandas.get_dummies turns categories into 0/1 columns).",
    "%compsil df -B 0": "n_subsamples must be an integer of at least 1; got 0.",
    "%compsil df -B name": "n_subsamples must be an integer of at least 1; got 'text'.",
    "%compsil df --ks 2:999": "ks must be smaller than the number of rows, 240; got k=241.",
    "%compsil name": "X must have two dimensions, rows and columns; got a value of type str. Pass an array or a table.",
    "%compsil comapre df": "unknown sub-command 'comapre'. Did you mean 'compare'?",
    "%compsil reprt df out.html --compare": "unknown sub-command 'reprt'. Did you mean 'report'?",
    "%compsil compare": "which data? For instance: %compsil compare df",
    "%compsil explore --ks 2:3": "which data? For instance: %compsil explore df",
    "%compsil report df": "report needs data and a file, such as: %compsil report df out.html",
    "%compsil report df out.txt": "OUT must name a .html file; got 'out.txt'.",
    "%compsil report df file/out.html": "file: File exists",
    "%%compsil\nx = df": "the last line of a %%compsil cell must be the data: an expression, such as df.",
    "%%compsil df\nX": "the data of %%compsil is the last line of the cell; 'df' is too much.",
    "%%compsil report\nX": "report needs a file, such as: %%compsil report out.html",
    "%compsil X --clusterer fails": "clustering into k=2 failed on subsample 0 (seed ",
    "%compsil X --clusterer fails --on-failure skip": "No k of 2..4 can be selected: each lost more than",
}


@pytest.mark.parametrize("line", MISTAKES, ids=lambda line: line.replace("\n", " / "))
def test_mistakes_get_one_line(shell, tmp_path, capsys, line):
    def fails(X, k, seed):
        raise RuntimeError("out of luck")

    (tmp_path / "file").touch()
    shell.push({"kmax": 4, "name": "text", "fails": fails, "estimator": KMeans()})
    done = shell.run_cell(line)
    output = capsys.readouterr()
    assert type(done.error_in_exec).__name__ == "UsageError"
    assert output.out == ""
    assert output.err.startswith("UsageError: " + MISTAKES[line])
    assert output.err.count("\n") == 1
    if "fails" not in line:
        assert output.err == f"UsageError: {MISTAKES[line]}\n"


def test_a_refused_selection_leaves_variables_and_reports_alone(shell, tmp_path):
    (tmp_path / "out.html").write_text("old")
    shell.push({"kept": "old"})
    shell.run_cell("%compsil report df out.html --ks 2:999 -o kept")
    assert (tmp_path / "out.html").read_text() == "old"
    assert shell.user_ns["kept"] == "old"


# Help and defaults.


def test_help(shell, capsys):
    for line in ("%compsil -h", "%compsil df --help"):
        run(shell, line)
        assert capsys.readouterr().out == "%compsil? shows the help.\n"
    run(shell, "%compsil?")
    text = capsys.readouterr().out
    for command in ("select", "compare", "explore", "report"):
        for option in options(command):
            assert option.flags[-1] in text
            assert option.spec["help"].split("(default")[0].split()[-1] in text
    assert "%compsil report DATA OUT.html [options]" in text
    assert max(map(len, inspect.getdoc(shell.find_line_magic("compsil")).splitlines())) <= 110


def test_config(shell, frame):
    for name, value in {
        "ks": "[2, 3]", "n_subsamples": 2, "clusterer": "'gmm'", "sample_size": 0.5, "metric": "'manhattan'",
        "transform": "'linear'", "rule": "'lcb'", "z": 2, "scale": "'none'", "random_state": 0, "n_jobs": 2,
        "missing": "'drop'", "on_failure": "'skip'",
    }.items():  # fmt: skip
        run(shell, f"%config CompsilMagics.{name} = {value}")
    expected = select_k(
        prepare(frame, scale=None).matrix, ks=[2, 3], n_subsamples=2, clusterer="gmm", sample_size=0.5, z=2.0,
        metric="manhattan", transform="linear", rule="lcb", random_state=0,
    )  # fmt: skip
    found = run(shell, "%compsil df")
    same(found, expected)
    assert (found.rule, found.z, found.plan) == ("lcb", 2, expected.plan)
    assert run(shell, "%compsil df -B 3 --ks 2:4").plan.n_subsamples == 3


WRONG = {
    "ks": ("'two'", "must look like 2:10, 2:20:2 or 2,3,5; got 'two'"),
    "n_subsamples": ("0", "n_subsamples must be an integer of at least 1; got 0."),
    "clusterer": ("'kmean'", "clusterer must be one of 'kmeans', 'minibatch-kmeans'"),
    "sample_size": ("'half'", "sample_size must be 'auto', an integer number of rows, or a fraction"),
    "metric": ("'euclid'", "metric must be a function or one of braycurtis"),
    "transform": ("'tan'", "transform must be"),
    "rule": ("'min'", "rule must be one of 'max', 'lcb'; got 'min'."),
    "z": ("-1", "z must be a number in [0, 1e+06]; got -1.0."),
    "scale": ("'bad'", "scale must be one of 'auto', 'standard', 'robust', 'minmax', 'none'; got 'bad'."),
    "missing": ("None", "missing must be one of 'raise', 'drop'; got None."),
    "on_failure": ("'stop'", "on_failure must be one of 'raise', 'skip'; got 'stop'."),
    "n_jobs": ("0", "n_jobs must be None, a number of workers, or -1 for all cores; got 0."),
    "random_state": ("'lucky'", "random_state must be an integer, None, or a sequence"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_defaults_are_refused(shell, caplog, name):
    value, message = WRONG[name]
    magics = shell.magics_manager.registry["CompsilMagics"]
    before = getattr(magics, name)
    run(shell, f"%config CompsilMagics.{name} = {value}")
    assert f"CompsilMagics.{name}: {message}" in caplog.text
    assert getattr(magics, name) == before
    caplog.clear()
    # A refused value is forgotten: it does not come up again with the next one.
    run(shell, "%config CompsilMagics.z = 3.0")
    assert caplog.text == ""
    assert magics.z == 3.0


def test_every_default_has_a_wrong_value_above(shell):
    magics = shell.magics_manager.registry["CompsilMagics"]
    assert set(WRONG) == set(type(magics).class_trait_names(config=True))


def test_defaults_are_the_librarys(shell):
    defaults = type(shell.magics_manager.registry["CompsilMagics"])(shell=None).settings()
    for name, parameter in inspect.signature(select_k).parameters.items():
        if name in defaults:
            assert defaults[name] == parameter.default


# Odd columns.


def test_odd_columns_are_a_warning_at_the_line(shell, frame):
    shell.push({"odd": frame[["a", "b"]].assign(row_id=range(len(frame)))})
    for line in ("%compsil odd", "r = %compsil odd", "%compsil odd;", "%compsil compare odd --criteria micro"):
        with pytest.warns(ColumnWarning, match="column 'row_id': like a row number") as caught:
            run(shell, line)
        assert len(caught) == 1
        assert "ipython-input" in caught[0].filename


# Loading.


def test_loading_twice_and_unloading(shell, frame, capsys):
    assert hasattr(frame, "compsil")
    n_matchers = len(shell.Completer.custom_matchers)
    compsil_jupyter.load_ipython_extension(shell)
    run(shell, "%reload_ext compsil_jupyter")
    assert [type(c).__name__ for c in shell.configurables].count("CompsilMagics") == 1
    assert len(shell.Completer.custom_matchers) == n_matchers
    run(shell, "%compsil df;")
    run(shell, "%unload_ext compsil_jupyter")
    assert "CompsilMagics" not in [type(c).__name__ for c in shell.configurables]
    assert len(shell.Completer.custom_matchers) == n_matchers - 1
    assert "CompsilMagics" not in shell.magics_manager.registry
    capsys.readouterr()
    for line in ("%compsil df", "%%compsil\ndf"):
        shell.run_cell(line)
        assert f"`{line.split()[0]}` not found." in capsys.readouterr().err
    run(shell, "%load_ext compsil_jupyter")
    assert isinstance(run(shell, "%compsil df"), SelectionResult)


def test_public_names():
    assert sorted(compsil_jupyter.__all__) == list(compsil_jupyter.__all__)
    for name in compsil_jupyter.__all__:
        assert getattr(compsil_jupyter, name)
    with pytest.raises(AttributeError, match="module 'compsil_jupyter' has no attribute 'nothing'"):
        _ = compsil_jupyter.nothing
