"""%compsil in IPython: results, output, help and defaults, and their description in the guide."""

import inspect
import json
import re
import warnings
from pathlib import Path

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
from compsil_jupyter.magic import CompsilMagics
from compsil_jupyter.magic_line import COMMANDS, OPTIONS
from compsil_kit import Comparison, SelectionResult, compare, prepare, select_k
from compsil_kit.adapters import flags_of
from compsil_kit.errors import ScaleWarning
from compsil_pandas import ColumnWarning

SHORT = {"ks": range(2, 5), "n_subsamples": 3}


def same(found, expected):
    np.testing.assert_array_equal(found.ks, expected.ks)
    np.testing.assert_allclose(found.scores, expected.scores, rtol=0, atol=1e-12)


def test_a_line_matches_the_function_call(run, frame):
    found = run(
        "%compsil df --ks 2:5 -B 4 --clusterer gmm --sample-size 0.5 --rule lcb --z 2 --scale robust --columns a,b "
        "--metric manhattan --transform linear --missing drop --on-failure skip --seed 0 -j -1 --n-calibration 2 "
        "--criterion micro --n-starts 2"
    )
    table = prepare(frame, columns=["a", "b"], scale="robust")
    expected = select_k(
        table.matrix, ks=range(2, 6), n_subsamples=4, clusterer="gmm", sample_size=0.5, rule="lcb", z=2.0,
        metric="manhattan", transform="linear", on_failure="skip", random_state=0, n_calibration=2,
        criterion="micro", n_starts=2,
    )  # fmt: skip
    same(found, expected)
    assert (found.criterion, found.rule, found.z, found.transform) == ("micro", "lcb", 2.0, "linear")
    assert (found.plan, found.preparation) == (expected.plan, table.preparation)


def test_frames_are_scaled_and_arrays_are_not(run, frame):
    numbers = frame[["a", "b"]]
    same(run("%compsil df"), select_k(prepare(frame).matrix, **SHORT))
    same(run("%compsil X"), select_k(numbers.to_numpy(), **SHORT))
    same(run("%compsil df --scale none"), select_k(prepare(frame, scale=None).matrix, **SHORT))
    same(run("%compsil X --scale minmax"), select_k(prepare(numbers, scale="minmax").matrix, **SHORT))


@pytest.mark.parametrize(
    "expression",
    [
        'df[df.city == "Oslo S"]',
        'df.query("a > 1 or b < 2")',
        "df[[name for name in df.columns[:2]]]",
        "df.apply(lambda column: column, axis=0)",
        "X - X.mean(axis=0)",
        "'df[df.a > 1]'",
        "np.asarray([[row % 9, row * 7 % 5] for row in range(60)])",
        "df.to_dict('list') and df",
    ],
)
def test_data_may_be_any_expression(shell, run, expression):
    shell.push({"np": np})
    unquoted = expression[1:-1] if expression[0] in "'\"" else expression
    same(run(f"%compsil {expression} -q"), run(f"%compsil ({unquoted})"))


def test_other_types_of_data_are_accepted(shell, run, frame):
    numbers = frame[["a", "b"]]
    expected = select_k(prepare(numbers[["b", "a"]]).matrix, **SHORT)
    for table in (polars.DataFrame(numbers.to_dict("list")), pyarrow.Table.from_pandas(numbers)):
        shell.push({"table": table})
        same(run("%compsil table --columns b,a"), expected)
    shell.push({"table": sparse.csr_matrix(np.abs(numbers.to_numpy()))})
    assert run("%compsil table").preparation is None
    D = pairwise_distances(numbers)
    shell.push({"D": pd.DataFrame(D)})
    precomputed = {"metric": "precomputed", "clusterer": "agglomerative"}
    same(run("%compsil D --metric precomputed --clusterer agglomerative"), select_k(D, **precomputed, **SHORT))


@pytest.mark.parametrize("line", ["%compsil W", "%compsil explore W", "explore(W)"])
def test_an_array_with_columns_of_different_scales_warns(shell, run, line):
    shell.run_cell("from compsil_jupyter import explore\nW = X * [1, 1000]")
    unscaled = line.replace(")", ", scale=None)") if line.endswith(")") else f"{line} --scale none"
    for given, n_warnings in [(line, 1), (unscaled, 0), (line.replace("W", "df"), 0)]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            run(given)
        found = [warning for warning in caught if warning.category is ScaleWarning]
        assert len(found) == n_warnings
        assert all("scale='standard' (--scale standard)" in str(warning.message) for warning in found)
        assert all("IPython" not in warning.filename for warning in found)


def test_column_warnings_point_to_the_calling_line(shell, run, frame):
    shell.push({"odd": frame[["a", "b"]].assign(row_id=range(len(frame)))})
    for line in ("%compsil odd", "r = %compsil odd", "%compsil compare odd --criteria micro"):
        with pytest.warns(ColumnWarning, match="column 'row_id' looks like an identifier") as caught:
            run(line)
        assert len(caught) == 1
        assert "ipython-input" in caught[0].filename


@pytest.mark.parametrize(
    ("words", "columns"),
    [
        ("a,b", ["a", "b"]),
        ('a,"net income, EUR"', ["a", "net income, EUR"]),
        ("'net income, EUR'", ["net income, EUR"]),
        ("chosen", ["b", "a"]),
        # A column takes precedence over a variable with the same name.
        ("a", ["a"]),
        ('"a",', ["a"]),
        ("b, 'a' --ks 2:3", ["b", "a"]),
    ],
)
def test_columns_may_be_names_or_a_variable(shell, run, words, columns):
    shell.push({"chosen": ["b", "a"], "a": ["b"]})
    assert run(f"%compsil df --columns {words}").preparation.columns == tuple(columns)


def test_column_names_may_be_numbers(shell, run, frame):
    same(run("%compsil X --columns 1"), select_k(frame[["b"]].to_numpy(), **SHORT))
    shell.push({"odd": frame[["a", "b"]].set_axis([2020, "2021"], axis=1)})
    assert run("%compsil odd --columns 2021,2020").preparation.columns == ("2021", "2020")
    # A string column name takes precedence over an equal integer one.
    twins = frame[["a", "b"]].set_axis([2020, "2020"], axis=1)
    shell.push({"twins": twins})
    same(run("%compsil twins --columns 2020"), select_k(prepare(twins[["2020"]]), **SHORT))


def by_a(X, k, seed):
    return np.digitize(X[:, 0], np.quantile(X[:, 0], np.linspace(0, 1, k + 1)[1:-1]))


def block_distance(x, y):
    return float(np.abs(x - y).sum())


@pytest.mark.parametrize(
    ("line", "keywords"),
    [
        ("--ks low:kmax", {"ks": range(2, 6)}),
        ("--ks 2,kmax", {"ks": [2, 5]}),
        ("--ks ks", {"ks": [3, 4]}),
        ("--ks range(2,5)", {"ks": [2, 3, 4]}),
        ("-B low --seed s", {"n_subsamples": 2, "random_state": 7}),
        ("-B2", {"n_subsamples": 2}),
        ("--ks=2:3", {"ks": [2, 3]}),
        ("--clusterer est", {"clusterer": KMeans(n_init=2)}),
        ("--clusterer f", {"clusterer": by_a}),
        ("--sample-size size", {"sample_size": 0.5}),
        ("--metric d -B 1", {"metric": block_distance, "n_subsamples": 1}),
        # A built-in name takes precedence over a variable.
        ("--clusterer gmm", {"clusterer": "gmm"}),
    ],
)
def test_option_values_may_be_variables(shell, run, frame, line, keywords):
    shell.push({"kmax": np.int64(5), "low": 2, "ks": [3, 4], "s": 7, "est": KMeans(n_init=2), "f": by_a, "size": 0.5})
    shell.push({"d": block_distance, "gmm": KMeans()})
    same(run(f"%compsil X {line}"), select_k(frame[["a", "b"]].to_numpy(), **{**SHORT, **keywords}))


def test_quoted_words_are_not_variables_and_only_the_data_are_evaluated(shell, run, tmp_path, capsys):
    shell.push({"kept": 3, "calls": []})
    run("%compsil X --checkpoint 'kept' -q")
    assert len(json.loads((tmp_path / "kept").read_text())["trials"]) == 3
    for option in ("--ks", "-B", "--seed", "--clusterer", "--columns", "--scale", "-o", "--metric"):
        shell.run_cell(f"%compsil X {option} calls.append(1)")
        assert "UsageError" in capsys.readouterr().err
    assert shell.user_ns["calls"] == []


def test_the_result_can_be_stored_and_assigned(shell, run, capsys):
    found = run("%compsil df -o kept")
    assert isinstance(found, SelectionResult)
    assert found is shell.user_ns["kept"]
    assert "SelectionResult: k* =" in capsys.readouterr().out
    assert run("both = %compsil df -o kept\nboth is kept")
    assert run("compsil df --ks 2:3  # automagic and a comment").ks == (2, 3)


def test_lines_inside_a_function_use_its_local_variables(shell, run):
    run(
        "def choose(table, names, most):\n"
        "    found = %compsil table[[name for name in table if name in names]] --ks 2:most -o kept\n"
        "    return found\n"
        "r = choose(df, 'ab', 3)"
    )
    found = shell.user_ns["r"]
    assert (found.ks, found.preparation.columns) == ((2, 3), ("a", "b"))
    assert shell.user_ns["kept"] is found
    assert "table" not in shell.user_ns
    # A local variable takes precedence over a global variable.
    run("def choose():\n    df = X[:, :1]\n    return get_ipython().run_line_magic('compsil', 'df')")
    assert run("choose()").plan.n_features == 1


@pytest.mark.parametrize(
    "cell",
    [
        "%compsil df -o r;",
        "%compsil df -o r ;  # comment",
        "compsil df -o r;",
        "r = %compsil df[df.city != ';'];",
        "if True:\n    r = %compsil df;",
        "%%compsil -o r\ndf;  # comment\n\n",
        "%%compsil -o r;\ndf",
        "r = get_ipython().run_line_magic('compsil', 'df;')",
        "%time %compsil df -o r;",
    ],
)
def test_a_semicolon_suppresses_the_display(shell, run, capsys, cell):
    assert run(cell) is None
    assert isinstance(shell.user_ns["r"], SelectionResult)
    assert "SelectionResult" not in capsys.readouterr().out


def test_other_semicolons_have_no_effect(shell, run, capsys):
    for cell in ("%compsil df[df.city != ';']", "%compsil df[df.city != '; #']", "r = %compsil df;\nr"):
        assert isinstance(run(cell), SelectionResult)
    run("get_ipython().run_line_magic('pinfo', 'df;')\ntext = \"run_line_magic('compsil', 'df;')\"")
    assert shell.user_ns["text"] == "run_line_magic('compsil', 'df;')"
    assert "Object `df;` not found" in capsys.readouterr().out


def test_compare_matches_the_compare_function(shell, run, frame):
    run("%config CompsilMagics.rule = 'lcb'")
    shell.push({"some": ["micro", "gap"]})
    found = run("%compsil compare df --criteria some --n-repeats 2 --n-references 3")
    table = prepare(frame)
    expected = compare(table.matrix, criteria=["micro", "gap"], n_repeats=2, n_references=3, **SHORT)
    assert isinstance(found, Comparison)
    pd.testing.assert_frame_equal(found.values, expected.values)
    assert found.selection.preparation == table.preparation


@pytest.mark.parametrize(
    ("words", "name"),
    [("new/out.html --compare", "new/out.html"), ("'my report.html'", "my report.html"), ("path", "v.html")],
)
def test_report_writes_an_html_file(shell, run, tmp_path, capsys, words, name):
    shell.push({"path": tmp_path / "v.html"})
    found = run(f"%compsil report df[df.a > -99] {words}")
    page = (tmp_path / name).read_text(encoding="utf-8")
    assert isinstance(found, SelectionResult)
    assert page.startswith("<!doctype html>")
    assert ("Other criteria" in page) == ("--compare" in words)
    assert "Report: " in capsys.readouterr().out


def test_explore_passes_its_options_to_the_explorer(shell, run):
    assert run("%compsil explore df[df.a > 0] --ks 2:3 -B 2 --columns a,b --rule lcb -o kept;") is None
    explorer = shell.user_ns["kept"]
    assert isinstance(explorer, compsil_jupyter.Explorer)
    assert explorer.expression == "df[df.a > 0]"
    assert (explorer.session.settings["columns"], explorer.session.settings["ks"]) == (["a", "b"], (2, 3))
    explorer.close()


@pytest.mark.parametrize("name", ["select", "compare"])
def test_a_variable_with_the_name_of_a_sub_command_is_data(shell, run, frame, name):
    shell.push({name: frame[["a"]]})
    assert run(f"%compsil {name}").preparation.columns == ("a",)
    assert run(f"%compsil {name} --ks 2:3").ks == (2, 3)
    assert run(f"%compsil select {name}").preparation.columns == ("a",)
    assert run("%compsil select df --columns b").preparation.columns == ("b",)


def test_cells_use_the_last_expression_as_data(shell, run, tmp_path):
    found = run("%%compsil --ks 2:most -o kept\nmost = 3\npart = df[['a', 'b']]\npart.head(len(part) // 2)")
    assert (found.plan.n_rows, found.ks) == (120, (2, 3))
    assert shell.user_ns["kept"] is found
    assert isinstance(run("%%compsil compare --criteria micro\ndf"), Comparison)
    assert isinstance(run("%%compsil\ninner = %compsil df --ks 2:3\ndf"), SelectionResult)
    assert shell.user_ns["inner"].ks == (2, 3)
    run("%%compsil report out.html\ndf")
    assert (tmp_path / "out.html").exists()


def test_an_error_in_a_cell_body_shows_the_traceback(shell, capsys):
    done = shell.run_cell("%%compsil\nbefore = 1\n1 / 0\ndf")
    assert isinstance(done.error_in_exec, ZeroDivisionError)
    assert shell.user_ns["before"] == 1
    shown = capsys.readouterr().out
    assert "----> 2 1 / 0" in shown
    assert "magic.py" not in shown
    assert isinstance(shell.run_cell("%%compsil\nx = (\ndf").error_in_exec, SyntaxError)


class TestOutOfCoreTables:
    """Paths to Parquet files, and lazy tables from other libraries."""

    FEW = "--ks 2:3 -B 2 --sample-size 200"

    @pytest.fixture
    def expected(self, tmp_path):
        columns = {**columns_of(), "word": np.full(LARGE, "x")}
        place = write_parquet(tmp_path / "table", columns, n_files=2)
        return select_k(prepare(place), ks=[2, 3], n_subsamples=2, sample_size=200)

    @pytest.mark.parametrize("data", ["'table/*.parquet'", "table", "'table/'", "path", "query", "dataset"])
    def test_tables_match_the_engine_when_memory_is_short(self, shell, run, expected, data, tmp_path, monkeypatch):
        monkeypatch.setattr("compsil_kit._data.sources.table.available_bytes", lambda: 1_000)
        query = polars.scan_parquet(tmp_path / "table")
        dataset = pyarrow.dataset.dataset(tmp_path / "table")
        shell.push({"path": str(tmp_path / "table"), "query": query, "dataset": dataset})
        found = run(f"%compsil {data} {self.FEW}")
        same(found, expected)
        assert found.preparation == expected.preparation
        assert found.preparation.left_out == ("word",)

    @pytest.mark.usefixtures("expected")
    def test_columns_and_scale_apply_and_the_explorer_loads_the_table(self, run):
        found = run(f"%compsil table/part-0.parquet {self.FEW} --columns x1,x0 --scale minmax")
        assert (found.preparation.columns, found.preparation.scale) == (("x1", "x0"), "minmax")
        explorer = run("%compsil explore table/part-0.parquet")
        assert list(explorer.session.data.columns) == ["x0", "x1", "x2"]
        assert explorer.expression == "'table/part-0.parquet'"
        with pytest.raises(UsageError, match=r"X: there is no Parquet file at 'none\.parquet'"):
            run("%compsil none.parquet")


def test_help_describes_every_option(run, capsys):
    run("%compsil?")
    shown = capsys.readouterr().out
    for name, option in OPTIONS.items():
        assert all(flag in shown for flag in flags_of(name, option))
        assert option.help.split("(default")[0].split()[-1] in shown
    assert "%compsil report DATA OUT.html [options]" in shown
    assert "\noptions for select, report:\n  --checkpoint FILE" in shown
    assert shown.count("\noptions:\n") == 1
    documentation = inspect.getdoc(CompsilMagics.compsil)
    assert max(map(len, documentation.splitlines())) <= 110
    for line in ("%compsil -h", "%compsil df --help"):
        run(line)
        assert capsys.readouterr().out.strip() == documentation


@pytest.mark.parametrize(
    ("name", "given", "value"),
    [
        ("ks", "2:6:2", (2, 4, 6)), ("ks", [2, 3], (2, 3)), ("n_subsamples", "7", 7), ("sample_size", "0.5", 0.5),
        ("random_state", "none", None), ("z", "2", 2.0), ("scale", "none", None), ("n_jobs", "-1", -1),
    ],
)  # fmt: skip
def test_config_parses_strings_like_a_line(shell, run, name, given, value):
    run(f"%config CompsilMagics.{name} = {given!r}")
    assert getattr(shell.magics_manager.registry["CompsilMagics"], name) == value


def test_config_sets_defaults_and_rejects_invalid_values(shell, run, caplog):
    run("%config CompsilMagics.clusterer = 'gmm'")
    run("%config CompsilMagics.scale = 'none'")
    found = run("%compsil df --ks 2:3")
    assert (found.plan.clusterer, found.preparation.scale, found.ks) == ("gmm", None, (2, 3))
    assert run("%compsil df --clusterer kmeans -B 2").plan.clusterer == "kmeans"
    magics = shell.magics_manager.registry["CompsilMagics"]
    run("%config CompsilMagics.n_subsamples = 0")
    assert "CompsilMagics.n_subsamples: n_subsamples must be an integer of at least 1; got 0." in caplog.text
    assert magics.n_subsamples == 3
    caplog.clear()
    # A rejected value is not validated again when another default is set.
    run("%config CompsilMagics.z = 3.0")
    assert (caplog.text, magics.z) == ("", 3.0)


def test_loading_registers_once_and_unloading_removes_everything(shell, run, frame, capsys):
    def registered():
        lists = (shell.configurables, shell.Completer.custom_matchers, shell.input_transformers_post)
        return [sum(each.__module__.startswith("compsil_jupyter") for each in known) for known in lists]

    assert registered() == [1, 1, 1]
    compsil_jupyter.load_ipython_extension(shell)
    run("%reload_ext compsil_jupyter")
    assert registered() == [1, 1, 1]
    assert hasattr(frame, "compsil")
    compsil_jupyter.unload_ipython_extension(shell)
    assert registered() == [0, 0, 0]
    assert "CompsilMagics" not in shell.magics_manager.registry
    capsys.readouterr()
    for line in ("%compsil df", "%%compsil\ndf"):
        shell.run_cell(line)
        assert f"`{line.split()[0]}` not found." in capsys.readouterr().err
    compsil_jupyter.load_ipython_extension(shell)
    assert isinstance(run("%compsil df"), SelectionResult)
    run("%unload_ext compsil_jupyter")
    assert registered() == [0, 0, 0]


def test_public_names_can_be_imported():
    assert all(getattr(compsil_jupyter, name) for name in compsil_jupyter.__all__)
    with pytest.raises(AttributeError, match="module 'compsil_jupyter' has no attribute 'nothing'"):
        _ = compsil_jupyter.nothing


GUIDE = (Path(__file__).parents[2] / "docs/guides/notebook.md").read_text().partition("## The magic")[2]
GUIDE = GUIDE.partition("\n## ")[0]


def test_the_guide_lists_every_option():
    table = GUIDE.partition("### Options")[2].partition("###")[0]
    listed = re.findall(r"^\| (`-[^|]*?) \|", table, re.MULTILINE)
    assert {tuple(re.findall("`(.*?)`", row)) for row in listed} == {flags_of(*option) for option in OPTIONS.items()}
    for name, keyword in COMMANDS["select"].items():
        if keyword.choices and name not in ("clusterer", "metric"):
            assert ", ".join(f"`{word}`" for word in keyword.choices) in table


@pytest.mark.parametrize("block", re.findall(r"^```text\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL))
def test_the_examples_in_the_guide_run(shell, frame, capsys, block):
    people = frame.rename(columns={"a": "age", "net income, EUR": "net income"})
    shell.push({"df": people, "X": people[["age", "b"]].to_numpy()})
    code, _, error = block.partition("UsageError: ")
    done = shell.run_cell(code)
    if error:
        assert capsys.readouterr().err == f"UsageError: {error}"
    else:
        done.raise_error()
