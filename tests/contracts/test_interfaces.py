"""Check that all interfaces share one definition of the keywords, with the same names, defaults and validation."""

import argparse
import inspect
import json
from functools import partial

import numpy as np
import numpydoc.docscrape
import pandas as pd
import pytest
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from sklearn.datasets import make_blobs

import compsil_kit
from compsil_jupyter import explore
from compsil_kit._run.workers import in_threads
from compsil_kit.cli.main import COMMANDS, CSV_OPTIONS, main
from compsil_kit.cli.options import flags_of, make_parser
from compsil_kit.config import CHOICE, ComparisonConfig, SelectionConfig, TableConfig, settings_of
from compsil_kit.events import Events
from compsil_pandas import CompsilAccessor

X = make_blobs(60, 2, centers=3, random_state=0)[0]
FRAME = pd.DataFrame(X, columns=["a", "b"])
EVERY = settings_of(TableConfig, SelectionConfig, ComparisonConfig, Events)


def group(*configs, without=(), only=None):
    """Return a function that returns an interface's settings, optionally with interactive defaults."""

    def settings(*, interactive=False):
        found = settings_of(*configs, interactive=interactive)
        return {name: each for name, each in found.items() if name not in without and (only is None or name in only)}

    return settings


SELECT = group(SelectionConfig, Events)
PLAN = group(SelectionConfig)
COMPARE = group(ComparisonConfig, Events, without=("checkpoint",))
TABLE = group(TableConfig)
SELECT_TABLE = group(SelectionConfig, Events, TableConfig)
# An invalid value for every keyword; new keywords must be added here.
INVALID = {
    "scale": "huge", "missing": "guess", "ks": [1, 2], "clusterer": "k-means", "n_subsamples": 0, "sample_size": 1.5,
    "metric": "miles", "on_failure": "ignore", "random_state": -1, "n_starts": 0, "n_calibration": -1,
    "structure": "perhaps", "criterion": "best", "transform": "cube", "rule": "best", "z": -1.0, "n_jobs": 0,
    "checkpoint": "no/such/folder/file.json", "progress": "yes", "criteria": "best", "n_repeats": 0, "n_references": 1,
}  # fmt: skip


def combine(**keywords):
    batches = compsil_kit.plan_batches(X, n_batches=1, ks=[2, 3], n_subsamples=2)
    return compsil_kit.combine_batches([compsil_kit.run_batch(X, batch) for batch in batches], **keywords)


# For each interface: the settings, the function whose signature is checked, and a function that calls the interface.
FUNCTIONS = {
    "select_k": (SELECT, compsil_kit.select_k, partial(compsil_kit.select_k, X)),
    "stream": (
        group(SelectionConfig, Events, without=("progress",)), compsil_kit.stream,
        lambda **k: list(compsil_kit.stream(X, **k)),
    ),
    "plan_selection": (PLAN, compsil_kit.plan_selection, partial(compsil_kit.plan_selection, X)),
    "compare": (COMPARE, compsil_kit.compare, partial(compsil_kit.compare, X)),
    "plan_batches": (
        group(SelectionConfig, without=("n_jobs",)), compsil_kit.plan_batches,
        partial(compsil_kit.plan_batches, X, n_batches=2),
    ),
    "combine_batches": (group(SelectionConfig, only=CHOICE), compsil_kit.combine_batches, combine),
    "CompositeSilhouette": (
        SELECT, compsil_kit.CompositeSilhouette, lambda **k: compsil_kit.CompositeSilhouette(**k).fit(X),
    ),
    "prepare": (TABLE, compsil_kit.prepare, partial(compsil_kit.prepare, FRAME)),
    "df.compsil.select_k": (SELECT_TABLE, CompsilAccessor.select_k, CompsilAccessor(FRAME).select_k),
    "df.compsil.cluster": (SELECT_TABLE, CompsilAccessor.cluster, CompsilAccessor(FRAME).cluster),
    "df.compsil.compare": (COMPARE, CompsilAccessor.compare, CompsilAccessor(FRAME).compare),
    "explore": (group(SelectionConfig, TableConfig), explore, partial(explore, FRAME)),
}  # fmt: skip
OWN = {
    "X", "self", "frame", "data", "batches", "preparation", "n_batches", "batch_size", "refit", "by", "k", "columns",
    "scale", "missing",
}  # fmt: skip
ALL_INTERFACES = pytest.mark.parametrize("interface", FUNCTIONS)


def same(default, expected):
    return list(default) == list(expected) if isinstance(expected, range) else default == expected


def error_from(check, *given, **keywords):
    """Return the error raised by a call with an invalid value."""
    with pytest.raises((ValueError, TypeError, OSError)) as caught:
        check(*given, **keywords)
    return caught.value


def test_every_keyword_has_an_invalid_value_and_a_description():
    assert set(INVALID) == set(EVERY) - {"columns"}
    for name, keyword in EVERY.items():
        assert keyword.doc.endswith("."), name
        assert keyword.help.strip(), name
        assert keyword.type, name
        keyword.validate(keyword.default)


@ALL_INTERFACES
def test_signatures_and_docstrings_show_the_settings(interface):
    group, function, _ = FUNCTIONS[interface]
    parameters = inspect.signature(function).parameters
    documentation = numpydoc.docscrape.FunctionDoc if inspect.isfunction(function) else numpydoc.docscrape.ClassDoc
    entries = {entry.name: entry for entry in documentation(function)["Parameters"]}
    for name, keyword in group(interactive=interface.startswith(("df.compsil", "explore"))).items():
        # The explorer chooses the scale depending on the kind of data.
        expected = "auto" if (interface, name) == ("explore", "scale") else keyword.default
        assert same(parameters[name].default, expected), f"{interface}: {name}"
        assert any(name in names.split(", ") for names in entries), f"{interface}: {name}"
        # Interfaces that also accept arrays or names describe the table keywords differently.
        if name in entries and (name not in OWN or interface == "prepare"):
            assert entries[name].type == keyword.type, f"{interface}: {name}"
    assert set(parameters) <= {*group(), *OWN}, interface


@ALL_INTERFACES
def test_functions_raise_the_same_errors_as_the_definition(interface):
    group, _, call = FUNCTIONS[interface]
    for name in group().keys() & INVALID.keys():
        expected, found = error_from(EVERY[name].validate, INVALID[name]), error_from(call, **{name: INVALID[name]})
        assert type(found) is type(expected)
        assert str(found) == str(expected), f"{interface}: {name}"


@ALL_INTERFACES
def test_unsupported_keywords_raise_even_with_their_default(interface):
    """A keyword that is not in the signature would have no effect."""
    _, function, call = FUNCTIONS[interface]
    others = {name: each.default for name, each in EVERY.items() if name not in inspect.signature(function).parameters}
    for name, value in {**others, "n_subsample": 3}.items():
        with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'"):
            call(**{name: value})


def subcommand(name):
    parser = make_parser(COMMANDS)
    (choices,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return choices.choices[name]


@pytest.mark.parametrize(("command", "group"), [("select", SELECT), ("report", SELECT), ("compare", COMPARE)])
def test_the_command_line_has_every_keyword(command, group, capsys):
    """The exception is progress, whose option is --quiet."""
    options = {action.dest: action for action in subcommand(command)._actions}
    wanted = {**TABLE(), **group(interactive=True)}
    del wanted["progress"]
    own = {"help", "data", "exclude", *CSV_OPTIONS, "out", "compare", "json", "plot", "quiet"}
    assert set(options) <= set(wanted) | own
    for name, keyword in wanted.items():
        assert same(options[name].default, keyword.default), name
        assert set(flags_of(name, keyword)) == set(options[name].option_strings), name
        if name == "columns":
            continue
        text = ",".join(map(str, INVALID[name])) if isinstance(INVALID[name], list) else str(INVALID[name])
        flag = flags_of(name, keyword)[-1]
        # A switch does not take a value.
        given = [f"{flag}={text}"] if keyword.is_switch else [flag, text]
        with pytest.raises(SystemExit) as end:
            subcommand(command).parse_args(["x.csv", *given])
        assert end.value.code == 2
        assert flag in capsys.readouterr().err


@pytest.fixture
def shell(tmp_path, monkeypatch):
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    shell.history_manager.enabled = False
    shell.run_line_magic("load_ext", "compsil_jupyter")
    shell.push({"df": FRAME})
    yield shell
    shell.run_line_magic("unload_ext", "compsil_jupyter")
    InteractiveShell.clear_instance()


@pytest.mark.parametrize(
    ("command", "group"), [("", SELECT), ("report", SELECT), ("compare", COMPARE), ("explore", PLAN)]
)
def test_the_magic_raises_the_same_errors_as_the_definition(command, group, shell):
    for name, keyword in {**TABLE(), **group()}.items():
        if name in ("columns", "progress"):
            continue
        flag = flags_of(name, keyword)[-1]
        if keyword.is_switch:
            with pytest.raises(UsageError, match=flag):
                magic(f"{command} df {flag}={INVALID[name]}")
            continue
        shell.push({"invalid": INVALID[name]})
        target = "out.html" if command == "report" else ""
        with pytest.raises(UsageError) as caught:
            magic(f"{command} df {target} {flag} invalid")
        error = error_from(keyword.validate, INVALID[name])
        expected = str(getattr(error, "strerror", None) or error).partition(";")[0]
        # The magic also accepts scale="auto".
        assert (expected if name != "scale" else "scale must be one of 'auto', 'standard'") in str(caught.value), name


def test_the_magic_configuration_has_every_keyword_with_its_default_and_validation(shell):
    (magics,) = (c for c in shell.configurables if type(c).__name__ == "CompsilMagics")
    kept = {**TABLE(), **SELECT(interactive=True)}
    for name in ("columns", "progress", "checkpoint"):
        del kept[name]
    assert set(magics.class_own_traits(config=True)) | set(magics.class_traits(config=True)) >= set(kept)
    for name, keyword in kept.items():
        trait = magics.traits()[name]
        expected = "auto" if name == "scale" else keyword.default
        assert same(trait.default_value, expected), name
        before = getattr(magics, name)
        with pytest.raises(Exception, match=name):
            setattr(magics, name, INVALID[name])
        assert getattr(magics, name) == before


def explored(**keywords):
    explorer = explore(FRAME, **keywords)
    explorer.run()
    explorer.wait()
    return explorer.result


def magic(line):
    """Return the result of a line magic."""
    return InteractiveShell.instance().run_line_magic("compsil", line)


def json_from_command(capsys, *words):
    """Run a command and return its JSON output."""
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


FEW = {"ks": range(2, 5), "n_subsamples": 5, "random_state": 7}
WORKERS = pytest.mark.parametrize("n_jobs", [{}, {"n_jobs": 1}, {"n_jobs": 3}, {"n_jobs": "auto"}], ids=str)


def line_of(n_jobs):
    return "--ks 2:4 -B 5 --seed 7 -q" + "".join(f" -j {value}" for value in n_jobs.values())


@pytest.fixture
def file(tmp_path):
    FRAME.to_csv(tmp_path / "data.csv", index=False)
    return str(tmp_path / "data.csv")


@WORKERS
def test_selections_do_not_depend_on_the_number_of_workers(n_jobs, shell, capsys, file, tmp_path):
    """Results are bit-for-bit identical for all interfaces and with the default number of workers."""
    table, keywords, line = compsil_kit.prepare(FRAME), {**FEW, **n_jobs}, line_of(n_jobs)
    expected = compsil_kit.select_k(table, **FEW).to_dict()["trials"]
    found = {
        "select_k": compsil_kit.select_k(table, **keywords).to_dict(),
        "stream": list(compsil_kit.stream(table, **keywords))[-1].to_dict(),
        "estimator": compsil_kit.CompositeSilhouette(**keywords).fit(table.matrix).result_.to_dict(),
        "accessor": CompsilAccessor(FRAME).select_k(**keywords).to_dict(),
        "explorer": explored(**keywords).to_dict(),
        "magic": magic(f"df {line}").to_dict(),
        "command line": json_from_command(capsys, "select", file, *line.split()),
        "report": json_from_command(capsys, "report", file, str(tmp_path / "out.html"), *line.split()),
    }
    for interface, result in found.items():
        assert result["trials"] == expected, interface


@WORKERS
def test_clusters_and_groups_do_not_depend_on_the_number_of_workers(n_jobs):
    accessor, halves = CompsilAccessor(FRAME), np.arange(len(FRAME)) % 2
    assert accessor.cluster(**FEW, **n_jobs).equals(accessor.cluster(**FEW, n_jobs=1))
    for half, result in accessor.select_k(by=halves, **FEW, **n_jobs).items():
        alone = compsil_kit.select_k(compsil_kit.prepare(FRAME[halves == half]), **FEW)
        assert result.to_dict()["trials"] == alone.to_dict()["trials"]


@WORKERS
def test_comparisons_do_not_depend_on_the_number_of_workers(n_jobs, shell, capsys, file):
    table = compsil_kit.prepare(FRAME)
    expected = compsil_kit.compare(table, **FEW).to_dict()
    assert compsil_kit.compare(table, **FEW, **n_jobs).to_dict() == expected
    assert CompsilAccessor(FRAME).compare(**FEW, **n_jobs).to_dict() == expected
    assert magic(f"compare df {line_of(n_jobs)}").to_dict() == expected
    assert json_from_command(capsys, "compare", file, *line_of(n_jobs).split()) == json.loads(json.dumps(expected))


def test_interactive_interfaces_use_all_cores_and_others_use_one(shell, capsys, file, monkeypatch):
    pools = []

    def count(work, items, n_workers, stop=None, **config):
        pools.append(n_workers)
        return in_threads(work, items, n_workers, stop, **config)

    monkeypatch.setattr("compsil_kit._run.engine.in_threads", count)
    monkeypatch.setattr("joblib.effective_n_jobs", lambda n_jobs: 5 if n_jobs == -1 else n_jobs or 1)
    few, line = {"ks": [2, 3], "n_subsamples": 2}, "--ks 2:3 -B 2 -q"
    accessor = CompsilAccessor(FRAME)
    interactive = (
        lambda: accessor.select_k(**few),
        lambda: accessor.select_k(by=np.arange(60) // 60, **few),
        lambda: accessor.cluster(**few),
        lambda: accessor.compare(criteria="composite", **few),
        lambda: accessor.plot(**few),
        lambda: explored(**few),
        lambda: magic(f"df {line}"),
        lambda: magic(f"compare df --criteria micro {line}"),
        lambda: json_from_command(capsys, "select", file, *line.split()),
        lambda: json_from_command(capsys, "compare", file, "--criteria", "micro", *line.split()),
        lambda: json_from_command(capsys, "demo", "-q"),
    )
    others = (
        lambda: compsil_kit.select_k(X, **few),
        lambda: compsil_kit.compare(X, criteria="composite", **few),
        lambda: compsil_kit.CompositeSilhouette(**few).fit(X),
    )
    for calls, n_workers in ((interactive, 5), (others, 1)):
        for call in calls:
            call()
            assert pools == [n_workers]
            pools.clear()
