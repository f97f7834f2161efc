"""%compsil beside its lines: loading, help, the defaults of %config, and what the guide says of it all."""

import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import compsil_jupyter
from compsil_jupyter.magic import CompsilMagics, load, unload
from compsil_jupyter.magic_line import COMMANDS, OPTIONS
from compsil_kit import SelectionResult, prepare, select_k
from compsil_kit._settings.keywords import (
    CompareKeywords,
    ExploreKeywords,
    SelectKeywords,
    TableKeywords,
    defaults_of,
    keywords_of,
)
from compsil_kit.cli.options import flags_of


def run(shell, line):
    """Run a cell as a user would and return what it shows; a traceback fails the test."""
    done = shell.run_cell(line)
    done.raise_error()
    return done.result


# Help and defaults.


def test_help(shell, capsys):
    run(shell, "%compsil?")
    text = capsys.readouterr().out
    for name, keyword in OPTIONS.items():
        assert all(flag in text for flag in flags_of(name, keyword))
        assert keyword.help.split("(default")[0].split()[-1] in text
    assert "%compsil report DATA OUT.html [options]" in text
    assert "\noptions of select, report:\n  --checkpoint FILE" in text
    documentation = inspect.getdoc(shell.find_line_magic("compsil"))
    assert max(map(len, documentation.splitlines())) <= 110
    for line in ("%compsil -h", "%compsil df --help"):
        run(shell, line)
        assert capsys.readouterr().out.strip() == documentation


def test_defaults_are_documented_as_the_keywords():
    own = CompsilMagics.class_own_traits(config=True)
    assert {name: trait.help for name, trait in own.items()} == {name: OPTIONS[name].doc for name in own}


def test_the_options_are_the_keywords():
    for command, group in {
        "select": SelectKeywords, "compare": CompareKeywords, "explore": ExploreKeywords, "report": SelectKeywords,
    }.items():  # fmt: skip
        keywords = {*keywords_of(TableKeywords), *keywords_of(group)} - {"progress"}
        assert keywords == COMMANDS[command].keys() - {"output", "quiet", "compare"}
        assert ("quiet" in COMMANDS[command]) == ("progress" in keywords_of(group))
    told = {**keywords_of(SelectKeywords, interactive=True), **keywords_of(CompareKeywords, interactive=True)}
    for name, keyword in told.items():
        if name != "progress":
            mine = OPTIONS[name]
            assert (mine.default, mine.check, mine.read) == (keyword.default, keyword.check, keyword.read)


def test_a_second_load_replaces_the_first(shell):
    def given():
        lists = (shell.configurables, shell.Completer.custom_matchers, shell.input_transformers_post)
        return [sum(each.__module__.startswith("compsil_jupyter") for each in given) for given in lists if given]

    before = given()
    assert before == [1, 1, 1]
    load(shell)
    assert given() == before
    unload(shell)
    assert sum(given()) == 0
    assert "compsil" not in shell.magics_manager.magics["line"]
    assert "compsil" not in shell.magics_manager.magics["cell"]
    load(shell)
    assert given() == before


def test_config(shell, frame):
    for name, value in {
        "ks": "[2, 3]", "n_subsamples": 2, "clusterer": "'gmm'", "sample_size": 0.5, "metric": "'manhattan'",
        "transform": "'linear'", "rule": "'lcb'", "z": 2, "scale": "'none'", "random_state": 0, "n_jobs": 2,
        "missing": "'drop'", "on_failure": "'skip'", "n_calibration": 1,
    }.items():  # fmt: skip
        run(shell, f"%config CompsilMagics.{name} = {value}")
    expected = select_k(
        prepare(frame, scale=None).matrix, ks=[2, 3], n_subsamples=2, clusterer="gmm", sample_size=0.5, z=2.0,
        metric="manhattan", transform="linear", rule="lcb", random_state=0, n_calibration=1,
    )  # fmt: skip
    found = run(shell, "%compsil df")
    np.testing.assert_allclose(found.scores, expected.scores, rtol=0, atol=1e-12)
    assert (found.rule, found.z, found.plan) == ("lcb", 2, expected.plan)
    assert run(shell, "%compsil df -B 3 --ks 2:4").plan.n_subsamples == 3


WRONG = {
    "ks": ("'two'", "ks must be integers of at least 2, such as range(2, 11); got 'two'."),
    "n_subsamples": ("0", "n_subsamples must be an integer of at least 1; got 0."),
    "clusterer": ("'kmean'", "clusterer must be one of 'kmeans', 'minibatch-kmeans'"),
    "sample_size": ("'half'", "sample_size must be 'auto', 'paper', an integer number of rows, or a fraction"),
    "metric": ("'euclid'", "metric must be a function or one of braycurtis"),
    "transform": ("'tan'", "transform must be"),
    "rule": ("'min'", "rule must be one of 'max', 'lcb'; got 'min'."),
    "z": ("-1", "z must be a number in [0, 1e+06]; got -1.0."),
    "scale": ("'bad'", "scale must be one of 'auto', 'standard', 'robust', 'minmax', 'none'; got 'bad'."),
    "missing": ("None", "missing must be one of 'raise', 'drop'; got None."),
    "on_failure": ("'stop'", "on_failure must be one of 'raise', 'skip'; got 'stop'."),
    "n_calibration": ("-1", "n_calibration must be an integer of at least 0; got -1."),
    "criterion": ("'best'", "criterion must be one of 'composite', 'micro', 'macro', 'stable', 'likely'; got 'best'."),
    "n_starts": ("0", "n_starts must be an integer of at least 1"),
    "structure": ("'perhaps'", "structure must be"),
    "n_jobs": ("0", "n_jobs must be None, a number of workers, or -1 for all cores, or 'auto'; got 0."),
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
    magics = type(shell.magics_manager.registry["CompsilMagics"])(shell=None)
    expected = {**defaults_of(TableKeywords), **defaults_of(SelectKeywords, interactive=True), "scale": "auto"}
    for name in ("columns", "progress", "checkpoint"):
        del expected[name]
    assert {name: getattr(magics, name) for name in type(magics).class_trait_names(config=True)} == expected


def test_text_is_read_as_on_a_line(shell):
    magics = shell.magics_manager.registry["CompsilMagics"]
    for name, text, value in [
        ("ks", "2:6:2", (2, 4, 6)), ("n_subsamples", "7", 7), ("sample_size", "0.5", 0.5),
        ("random_state", "none", None), ("z", "2", 2.0), ("scale", "none", None), ("n_jobs", "-1", -1),
    ]:  # fmt: skip
        run(shell, f"%config CompsilMagics.{name} = {text!r}")
        assert getattr(magics, name) == value


# Loading.


def test_loading_twice_and_unloading(shell, frame, capsys):
    assert hasattr(frame, "compsil")
    n_matchers, n_transformers = len(shell.Completer.custom_matchers), len(shell.input_transformers_post)
    compsil_jupyter.load_ipython_extension(shell)
    run(shell, "%reload_ext compsil_jupyter")
    assert [type(c).__name__ for c in shell.configurables].count("CompsilMagics") == 1
    assert len(shell.Completer.custom_matchers) == n_matchers
    assert len(shell.input_transformers_post) == n_transformers
    run(shell, "%compsil df;")
    run(shell, "%unload_ext compsil_jupyter")
    assert "CompsilMagics" not in [type(c).__name__ for c in shell.configurables]
    assert len(shell.Completer.custom_matchers) == n_matchers - 1
    assert len(shell.input_transformers_post) == n_transformers - 1
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


# The guide.

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
def test_the_guides_examples_run(shell, frame, capsys, block):
    people = frame.rename(columns={"a": "age", "net income, EUR": "net income"})
    shell.push({"df": people, "X": people[["age", "b"]].to_numpy()})
    code, _, error = block.partition("UsageError: ")
    done = shell.run_cell(code)
    if error:
        assert capsys.readouterr().err == f"UsageError: {error}"
    else:
        done.raise_error()
