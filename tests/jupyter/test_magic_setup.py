"""Loading %compsil, its help and its defaults in %config; the guide agrees with them."""

import inspect
import re
from pathlib import Path

import pytest

import compsil_jupyter
from compsil_jupyter.magic import CompsilMagics
from compsil_jupyter.magic_line import COMMANDS, OPTIONS
from compsil_kit import SelectionResult
from compsil_kit.adapters import flags_of


def test_help(run, capsys):
    run("%compsil?")
    shown = capsys.readouterr().out
    for name, option in OPTIONS.items():
        assert all(flag in shown for flag in flags_of(name, option))
        assert option.help.split("(default")[0].split()[-1] in shown
    assert "%compsil report DATA OUT.html [options]" in shown
    assert "\noptions of select, report:\n  --checkpoint FILE" in shown
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
def test_config_reads_text_as_a_line_does(shell, run, name, given, value):
    run(f"%config CompsilMagics.{name} = {given!r}")
    assert getattr(shell.magics_manager.registry["CompsilMagics"], name) == value


def test_config_sets_the_defaults_of_a_line_and_refuses_wrong_values(shell, run, caplog):
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
    # A refused value is not validated again with the next one.
    run("%config CompsilMagics.z = 3.0")
    assert (caplog.text, magics.z) == ("", 3.0)


def test_loading_and_unloading(shell, run, frame, capsys):
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


def test_public_names():
    assert compsil_jupyter.__all__ == ["Explorer", "explore", "load_ipython_extension", "unload_ipython_extension"]
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
def test_the_examples_of_the_guide_run(shell, frame, capsys, block):
    people = frame.rename(columns={"a": "age", "net income, EUR": "net income"})
    shell.push({"df": people, "X": people[["age", "b"]].to_numpy()})
    code, _, error = block.partition("UsageError: ")
    done = shell.run_cell(code)
    if error:
        assert capsys.readouterr().err == f"UsageError: {error}"
    else:
        done.raise_error()
