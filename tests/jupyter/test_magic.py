"""%compsil in a real IPython: what it returns, stores, says and refuses."""

import json
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import polars
import pyarrow
import pyarrow.dataset
import pytest
from IPython.core.error import UsageError
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances
from tables import LARGE, columns_of, write_parquet

import compsil_jupyter
from compsil_jupyter import magic
from compsil_kit import Comparison, Interrupted, SelectionResult, compare, prepare, select_k
from compsil_kit.errors import ScaleWarning
from compsil_pandas import ColumnWarning

SHORT = {"ks": range(2, 5), "n_subsamples": 3}


def run(shell, line):
    """Run a cell as a user would and return what it shows; a traceback fails the test."""
    # With history, as only then IPython looks for a semicolon.
    done = shell.run_cell(line, store_history=True)
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


def test_a_criterion(shell, frame):
    found = run(shell, "%compsil df --criterion likely --ks 2:6 -B 6")
    expected = select_k(prepare(frame).matrix, ks=range(2, 7), n_subsamples=6, criterion="likely")
    same(found, expected)
    assert (found.criterion, found.plan.n_starts) == ("likely", 5)
    assert "criterion likely" in found._repr_html_()
    stable = run(shell, "%compsil df --criterion stable --n-starts 2")
    assert (stable.criterion, stable.plan.n_starts) == ("stable", 2)


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
    numeric = frame[["a", "b"]]
    expected = select_k(prepare(numeric).matrix, **SHORT)
    for table in (polars.DataFrame(numeric.to_dict("list")), pyarrow.Table.from_pandas(numeric)):
        shell.push({"table": table})
        same(run(shell, "%compsil table --columns b,a"), select_k(prepare(numeric[["b", "a"]]).matrix, **SHORT))
        same(run(shell, "%compsil table"), expected)
    shell.push({"table": sparse.csr_matrix(np.abs(numeric.to_numpy()))})
    assert run(shell, "%compsil table").preparation is None


@pytest.mark.parametrize("line", ["%compsil W", "%compsil explore W", "explore(W)"])
def test_columns_of_different_scales_are_told(shell, line):
    """For arrays, which are taken as they are, unless something is said about scaling."""
    shell.run_cell("from compsil_jupyter import explore\nW = X * [1, 1000]")
    chosen = line.replace(")", ", scale=None)") if line.endswith(")") else f"{line} --scale none"
    for said, expected in [(line, 1), (chosen, 0), (line.replace("W", "df"), 0)]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            run(shell, said)
        told = [warning for warning in caught if warning.category is ScaleWarning]
        assert len(told) == expected
        assert all("scale='standard' (--scale standard)" in str(warning.message) for warning in told)
        assert all("IPython" not in warning.filename for warning in told)


def test_distances_are_not_scaled_even_in_a_frame(shell):
    D = pairwise_distances(shell.user_ns["X"])
    shell.push({"D": pd.DataFrame(D)})
    found = run(shell, "%compsil D --metric precomputed --clusterer agglomerative")
    same(found, select_k(D, metric="precomputed", clusterer="agglomerative", **SHORT))


# Interrupts, without a kernel.


def stopped(result):
    """A stand-in for select_k that is interrupted."""

    def select_k(table, **keywords):
        stop = Interrupted(2, 3)
        stop.result = result
        raise stop

    return select_k


def test_an_interrupt_returns_what_is_finished(frame, monkeypatch, capsys, tmp_path):
    X = frame[["a", "b"]]
    partial = replace(select_k(X, **SHORT), plan=select_k(X, ks=[2], n_subsamples=4).plan)
    assert partial.partial
    monkeypatch.setattr(magic, "select_k", stopped(partial))
    assert magic.select(frame, {}) is partial
    said = "compsil: stopped after 2 of 3 subsamples; this is the result of the finished ones.\n"
    assert capsys.readouterr() == ("", said)
    assert magic.report(frame, {}, tmp_path / "r.html", with_comparison=False) is partial
    assert capsys.readouterr() == ("", f"{said}compsil: the run was interrupted, so no report was written.\n")
    assert not (tmp_path / "r.html").exists()
    monkeypatch.setattr(magic, "select_k", stopped(None))
    with pytest.raises(Interrupted):
        magic.select(frame, {})


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
        ("b, a", ["b", "a"]),
        ("b, 'a' --ks 2:3", ["b", "a"]),
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
    # Of a number and a text that look the same, the text is meant.
    for columns in ([2020, "2020"], ["2020", 2020]):
        twins = frame[["a", "b"]].set_axis(columns, axis=1)
        shell.push({"twins": twins})
        same(run(shell, "%compsil twins --columns 2020"), select_k(prepare(twins[["2020"]]), **SHORT))


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
        "--ks range(2,5)": {"ks": [2, 3, 4]},
    }.items():
        same(run(shell, f"%compsil X {line}"), select_k(X, **{**SHORT, **keywords}))
    same(run(shell, "%compsil X --scale how"), run(shell, "%compsil X --scale minmax"))
    same(run(shell, "%compsil df --scale none"), select_k(prepare(frame, scale=None).matrix, **SHORT))


def test_a_word_with_a_meaning_wins_over_a_variable(shell):
    shell.push({"gmm": KMeans(), "lcb": "max", "auto": 0.5})
    found = run(shell, "%compsil X --clusterer gmm --rule lcb --sample-size auto")
    assert (found.plan.clusterer, found.rule, found.plan.sample_size) == ("gmm", "lcb", 192)


def test_a_word_in_quotes_is_no_variable(shell, tmp_path):
    shell.push({"kept": 3})
    run(shell, "%compsil X --checkpoint 'kept'")
    assert (tmp_path / "kept").exists()


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


@pytest.mark.parametrize(
    "cell",
    [
        "%compsil df -o r;",
        "%compsil df -o r ;",
        "%compsil df -o r;  # quiet",
        "compsil df -o r;",
        "r = %compsil df;",
        "r = %compsil df[df.city != ';'];",
        "if True:\n    r = %compsil df;",
        "%%compsil -o r\ndf;",
        "%%compsil -o r\ndf;  # quiet\n\n",
        "%%compsil -o r;\ndf",
        "r = get_ipython().run_line_magic('compsil', 'df;')",
        "%time %compsil df -o r;",
    ],
)
def test_a_semicolon_silences_but_does_not_lose(shell, capsys, cell):
    assert run(shell, cell) is None
    assert isinstance(shell.user_ns["r"], SelectionResult)
    assert "SelectionResult" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "cell", ["%compsil df[df.city != ';']", "%compsil df[df.city != '; #']", "r = %compsil df;\nr"]
)
def test_other_semicolons_do_not_silence(shell, cell):
    assert isinstance(run(shell, cell), SelectionResult)


def test_other_magics_keep_their_semicolons(shell, capsys):
    run(shell, "get_ipython().run_line_magic('pinfo', 'df;')\ntext = \"run_line_magic('compsil', 'df;')\"")
    assert shell.user_ns["text"] == "run_line_magic('compsil', 'df;')"
    assert "Object `df;` not found" in capsys.readouterr().out


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


def test_options_see_the_variables_of_the_body(shell):
    assert run(shell, "%%compsil --ks 2:most --columns chosen\nmost, chosen = 3, ['b']\ndf").ks == (2, 3)


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


# Odd columns.


def test_odd_columns_are_a_warning_at_the_line(shell, frame):
    shell.push({"odd": frame[["a", "b"]].assign(row_id=range(len(frame)))})
    for line in ("%compsil odd", "r = %compsil odd", "%compsil odd;", "%compsil compare odd --criteria micro"):
        with pytest.warns(ColumnWarning, match="column 'row_id' looks like an identifier") as caught:
            run(shell, line)
        assert len(caught) == 1
        assert "ipython-input" in caught[0].filename


def test_a_checkpoint_makes_the_next_line_continue(shell, tmp_path):
    first = shell.run_cell("%compsil df --checkpoint kept.json -q").result
    kept = json.loads((tmp_path / "kept.json").read_text())
    assert len(kept["trials"]) == 3
    again = shell.run_cell("%compsil df --checkpoint kept.json -B 5 -q").result
    assert again.n_subsamples == 5
    assert (again.composite.shape, first.best_k) == ((3, 5), again.best_k)


def test_the_explorer_knows_the_expression_of_its_data(shell):
    explorer = run(shell, "%compsil explore df[df.a > 0] --columns a,b")
    try:
        assert explorer.expression == "df[df.a > 0]"
    finally:
        explorer.close()


class TestTablesOutsideMemory:
    """Paths of Parquet files, and what other libraries have not computed yet."""

    FEW = "--ks 2:3 -B 2 --sample-size 200"

    @pytest.fixture
    def expected(self, tmp_path):
        columns = {**columns_of(), "word": np.full(LARGE, "x")}
        place = write_parquet(tmp_path / "table", columns, n_files=2)
        return select_k(prepare(place), ks=[2, 3], n_subsamples=2, sample_size=200)

    @pytest.mark.parametrize("data", ["'table/*.parquet'", "table", "'table/'", "path", "query", "dataset", "'table'"])
    def test_are_read_in_one_pass(self, shell, expected, data, tmp_path, monkeypatch):
        monkeypatch.setattr("compsil_kit._data.sources.table.available_bytes", lambda: 1_000)
        query = polars.scan_parquet(tmp_path / "table")
        dataset = pyarrow.dataset.dataset(tmp_path / "table")
        shell.push({"path": str(tmp_path / "table"), "query": query, "dataset": dataset})
        found = run(shell, f"%compsil {data} {self.FEW}")
        same(found, expected)
        assert found.preparation == expected.preparation
        assert found.preparation.left_out == ("word",)

    def test_columns_and_scale(self, shell, expected):
        found = run(shell, f"%compsil table/part-0.parquet {self.FEW} --columns x1,x0 --scale minmax")
        assert (found.preparation.columns, found.preparation.scale) == (("x1", "x0"), "minmax")

    def test_are_loaded_by_the_explorer(self, shell, expected):
        explorer = run(shell, "%compsil explore table/part-0.parquet")
        assert list(explorer.session.data.columns) == ["x0", "x1", "x2"]
        assert explorer.expression == "'table/part-0.parquet'"

    def test_that_are_not_there(self, shell):
        with pytest.raises(UsageError, match=r"X: there is no Parquet file at 'none\.parquet'"):
            run(shell, "%compsil none.parquet")
