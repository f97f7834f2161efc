"""Every surface takes its keywords from one definition: the same names, the same defaults, the same checks."""

import argparse
import inspect
import json

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
from compsil_kit.config import CHOICE, ComparisonConfig, Events, SelectionConfig, TableConfig, settings_of
from compsil_pandas import CompsilAccessor

X = make_blobs(60, 2, centers=3, random_state=0)[0]
FRAME = pd.DataFrame(X, columns=["a", "b"])
EVERY = settings_of(TableConfig, SelectionConfig, ComparisonConfig, Events)
CRITERIA = [name for name in settings_of(ComparisonConfig) if name not in settings_of(SelectionConfig)]


def group(*configs, without=(), only=None):
    """Return a function that returns the settings of a surface, on request with interactive defaults."""

    def settings(*, interactive=False):
        found = settings_of(*configs, interactive=interactive)
        return {name: each for name, each in found.items() if name not in without and (only is None or name in only)}

    return settings


SELECT = group(SelectionConfig, Events)
STREAM = group(SelectionConfig, Events, without=("progress",))
PLAN = group(SelectionConfig)
BATCHES = group(SelectionConfig, without=("n_jobs",))
COMBINE = group(SelectionConfig, only=CHOICE)
COMPARE = group(ComparisonConfig, Events, without=("checkpoint",))
TABLE = group(TableConfig)
# For every keyword a value that its check refuses; a new keyword needs one here.
WRONG = {
    "scale": "huge",
    "missing": "guess",
    "ks": [1, 2],
    "clusterer": "k-means",
    "n_subsamples": 0,
    "sample_size": 1.5,
    "metric": "miles",
    "on_failure": "ignore",
    "random_state": -1,
    "n_starts": 0,
    "n_calibration": -1,
    "structure": "perhaps",
    "criterion": "best",
    "transform": "cube",
    "rule": "best",
    "z": -1.0,
    "n_jobs": 0,
    "checkpoint": "no/such/folder/file.json",
    "progress": "yes",
    "criteria": "best",
    "n_repeats": 0,
    "n_references": 1,
}


def combine(**keywords):
    batches = compsil_kit.plan_batches(X, n_batches=1, ks=[2, 3], n_subsamples=2)
    return compsil_kit.combine_batches([compsil_kit.run_batch(X, batch) for batch in batches], **keywords)


def stepwise(**keywords):
    return list(compsil_kit.stream(X, **keywords))


# name: (the group it takes, what to inspect, how to call it with some keywords)
FUNCTIONS = {
    "select_k": (SELECT, compsil_kit.select_k, lambda **k: compsil_kit.select_k(X, **k)),
    "stream": (STREAM, compsil_kit.stream, stepwise),
    "plan_selection": (PLAN, compsil_kit.plan_selection, lambda **k: compsil_kit.plan_selection(X, **k)),
    "compare": (COMPARE, compsil_kit.compare, lambda **k: compsil_kit.compare(X, **k)),
    "plan_batches": (
        BATCHES, compsil_kit.plan_batches, lambda **k: compsil_kit.plan_batches(X, n_batches=2, **k),
    ),
    "combine_batches": (COMBINE, compsil_kit.combine_batches, combine),
    "CompositeSilhouette": (
        SELECT, compsil_kit.CompositeSilhouette, lambda **k: compsil_kit.CompositeSilhouette(**k).fit(X),
    ),
    "prepare": (TABLE, compsil_kit.prepare, lambda **k: compsil_kit.prepare(FRAME, **k)),
    "df.compsil.select_k": (
        SELECT, CompsilAccessor.select_k, lambda **k: CompsilAccessor(FRAME).select_k(**k),
    ),
    "df.compsil.select_k, table": (
        TABLE, CompsilAccessor.select_k, lambda **k: CompsilAccessor(FRAME).select_k(**k),
    ),
    "df.compsil.cluster": (SELECT, CompsilAccessor.cluster, lambda **k: CompsilAccessor(FRAME).cluster(**k)),
    "df.compsil.cluster, table": (
        TABLE, CompsilAccessor.cluster, lambda **k: CompsilAccessor(FRAME).cluster(**k),
    ),
    "df.compsil.compare": (COMPARE, CompsilAccessor.compare, lambda **k: CompsilAccessor(FRAME).compare(**k)),
    "explore": (PLAN, explore, lambda **k: explore(X, **k)),
    "explore, table": (TABLE, explore, lambda **k: explore(FRAME, **k)),
}  # fmt: skip
OWN = {
    "X", "self", "frame", "data", "batches", "preparation", "n_batches", "batch_size", "refit", "by", "k", "columns",
    "scale", "missing",
}  # fmt: skip
# The explorer and the magic decide by the kind of data.
AUTOMATIC = {"explore, table": {"scale": "auto"}}


def is_interactive(surface):
    """Return whether a surface has the interactive defaults."""
    return surface.startswith(("df.compsil", "explore"))


def same(default, expected):
    return list(default) == list(expected) if isinstance(expected, range) else default == expected


def test_every_keyword_has_a_wrong_value_and_words():
    assert set(WRONG) == set(EVERY) - {"columns"}
    for name, keyword in EVERY.items():
        assert keyword.doc.endswith("."), name
        assert keyword.help.strip(), name
        assert keyword.type, name
        if name != "columns":
            with pytest.raises((ValueError, TypeError, OSError)):
                keyword.validate(WRONG[name])
        # A default passes its own check.
        keyword.validate(keyword.default)


@pytest.mark.parametrize("surface", FUNCTIONS)
def test_functions_have_the_names_and_defaults(surface):
    group, function, _ = FUNCTIONS[surface]
    parameters = inspect.signature(function).parameters
    for name, keyword in group(interactive=is_interactive(surface)).items():
        expected = AUTOMATIC.get(surface, {}).get(name, keyword.default)
        assert same(parameters[name].default, expected), f"{surface}: {name}"
    known = {*group(), *OWN} | (set(CRITERIA) if "compare" in surface else set())
    if not surface.endswith(", table"):
        assert set(parameters) <= known, surface


@pytest.mark.parametrize("surface", FUNCTIONS)
def test_functions_refuse_what_the_definition_refuses(surface):
    group, _, call = FUNCTIONS[surface]
    for name, keyword in group().items():
        if name == "columns":
            continue
        with pytest.raises((ValueError, TypeError, OSError)) as refused:
            keyword.validate(WRONG[name])
        with pytest.raises(type(refused.value)) as told:
            call(**{name: WRONG[name]})
        assert str(told.value) == str(refused.value), f"{surface}: {name}"


@pytest.mark.parametrize("surface", [name for name in FUNCTIONS if not name.endswith(", table")])
def test_unknown_keywords_are_refused(surface):
    with pytest.raises(TypeError, match="unexpected keyword argument 'n_subsample'"):
        FUNCTIONS[surface][2](n_subsample=3)


@pytest.mark.parametrize("surface", FUNCTIONS)
def test_keywords_of_other_functions_are_refused(surface):
    """Even with its default: what a signature does not show has no effect."""
    _, function, call = FUNCTIONS[surface]
    for name in set(EVERY) - set(inspect.signature(function).parameters):
        with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'"):
            call(**{name: EVERY[name].default})


@pytest.mark.parametrize("surface", [name for name in FUNCTIONS if not name.endswith(", table")])
def test_functions_document_their_keywords(surface):
    group, function, _ = FUNCTIONS[surface]
    documentation = numpydoc.docscrape.FunctionDoc if inspect.isfunction(function) else numpydoc.docscrape.ClassDoc
    entries = {entry.name: entry for entry in documentation(function)["Parameters"]}
    for name, keyword in group(interactive=is_interactive(surface)).items():
        said = entries.get(name) or next(entry for entry in entries.values() if name in entry.name.split(", "))
        if said.name == name:
            assert said.type == keyword.type, f"{surface}: {name}"


def subcommand(name):
    parser = make_parser(COMMANDS)
    (choices,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return choices.choices[name]


@pytest.mark.parametrize(("command", "group"), [("select", SELECT), ("report", SELECT), ("compare", COMPARE)])
def test_the_command_line_has_every_keyword(command, group, capsys):
    """The progress bar is ruled by --quiet."""
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
        text = ",".join(map(str, WRONG[name])) if isinstance(WRONG[name], list) else str(WRONG[name])
        flag = flags_of(name, keyword)[-1]
        # A switch takes no value at all.
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
    ("command", "group"),
    [("", SELECT), ("report", SELECT), ("compare", COMPARE), ("explore", PLAN)],
)
def test_the_magic_refuses_what_the_definition_refuses(command, group, shell):
    words = {**TABLE(), **group()}
    for name, keyword in words.items():
        if name in ("columns", "progress"):
            continue
        if keyword.is_switch:
            with pytest.raises(UsageError, match=flags_of(name, keyword)[-1]):
                shell.run_line_magic("compsil", f"{command} df --{name}={WRONG[name]}")
            continue
        shell.push({"wrong": WRONG[name]})
        target = "out.html" if command == "report" else ""
        with pytest.raises(UsageError) as told:
            shell.run_line_magic("compsil", f"{command} df {target} {flags_of(name, keyword)[-1]} wrong")
        with pytest.raises((ValueError, TypeError, OSError)) as refused:
            keyword.validate(WRONG[name])
        expected = str(getattr(refused.value, "strerror", None) or refused.value).partition(";")[0]
        # The magic's scale may also be "auto", which its message says.
        assert (expected if name != "scale" else "scale must be one of 'auto', 'standard'") in str(told.value), name


def test_config_has_every_keyword_with_its_default_and_check(shell):
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
            setattr(magics, name, WRONG[name])
        assert getattr(magics, name) == before


def explored(**keywords):
    explorer = explore(FRAME, **keywords)
    explorer.run()
    explorer.wait()
    return explorer.result


def magic(line):
    """Return what a line of the magic gives."""
    return InteractiveShell.instance().run_line_magic("compsil", line)


def commanded(capsys, *words):
    """Return what the command line prints as JSON."""
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


FEW = {"ks": range(2, 5), "n_subsamples": 5, "random_state": 7}
WORKERS = pytest.mark.parametrize("n_jobs", [{}, {"n_jobs": 1}, {"n_jobs": 3}, {"n_jobs": "auto"}], ids=str)


def line_of(n_jobs):
    return [
        "--ks",
        "2:4",
        "-B",
        "5",
        "--seed",
        "7",
        "-q",
        *(word for value in n_jobs.values() for word in ("-j", str(value))),
    ]


@pytest.fixture
def file(tmp_path):
    FRAME.to_csv(tmp_path / "data.csv", index=False)
    return str(tmp_path / "data.csv")


@WORKERS
def test_selections_do_not_depend_on_the_workers(n_jobs, shell, capsys, file, tmp_path):
    """At every surface, bit for bit, with its own default too."""
    table, keywords, line = compsil_kit.prepare(FRAME), {**FEW, **n_jobs}, line_of(n_jobs)
    expected = compsil_kit.select_k(table, **FEW).to_dict()["trials"]
    found = {
        "select_k": compsil_kit.select_k(table, **keywords).to_dict(),
        "stream": list(compsil_kit.stream(table, **keywords))[-1].to_dict(),
        "estimator": compsil_kit.CompositeSilhouette(**keywords).fit(table.matrix).result_.to_dict(),
        "accessor": CompsilAccessor(FRAME).select_k(**keywords).to_dict(),
        "explorer": explored(**keywords).to_dict(),
        "magic": magic(f"df {' '.join(line)}").to_dict(),
        "command line": commanded(capsys, "select", file, *line),
        "report": commanded(capsys, "report", file, str(tmp_path / "out.html"), *line),
    }
    for surface, result in found.items():
        assert result["trials"] == expected, surface


@WORKERS
def test_clusters_and_groups_do_not_depend_on_the_workers(n_jobs):
    accessor, halves = CompsilAccessor(FRAME), np.arange(len(FRAME)) % 2
    assert accessor.cluster(**FEW, **n_jobs).equals(accessor.cluster(**FEW, n_jobs=1))
    for half, result in accessor.select_k(by=halves, **FEW, **n_jobs).items():
        alone = compsil_kit.select_k(compsil_kit.prepare(FRAME[halves == half]), **FEW)
        assert result.to_dict()["trials"] == alone.to_dict()["trials"]


@WORKERS
def test_comparisons_do_not_depend_on_the_workers(n_jobs, shell, capsys, file):
    table = compsil_kit.prepare(FRAME)
    expected = compsil_kit.compare(table, **FEW).to_dict()
    assert compsil_kit.compare(table, **FEW, **n_jobs).to_dict() == expected
    assert CompsilAccessor(FRAME).compare(**FEW, **n_jobs).to_dict() == expected
    assert magic(f"compare df {' '.join(line_of(n_jobs))}").to_dict() == expected
    assert commanded(capsys, "compare", file, *line_of(n_jobs)) == json.loads(json.dumps(expected))


def test_all_cores_are_used_where_somebody_waits(shell, capsys, file, monkeypatch):
    """And one worker elsewhere, as in scikit-learn."""
    pools = []

    def count(work, items, n_workers, stop=None, **config):
        pools.append(n_workers)
        return in_threads(work, items, n_workers, stop, **config)

    monkeypatch.setattr("compsil_kit._run.engine.in_threads", count)
    monkeypatch.setattr("joblib.effective_n_jobs", lambda n_jobs: 5 if n_jobs == -1 else n_jobs or 1)
    few = {"ks": [2, 3], "n_subsamples": 2}
    line = ["--ks", "2:3", "-B", "2", "-q"]
    accessor = CompsilAccessor(FRAME)
    for wait in (
        lambda: accessor.select_k(**few),
        lambda: accessor.select_k(by=np.arange(60) // 60, **few),
        lambda: accessor.cluster(**few),
        lambda: accessor.compare(criteria="composite", **few),
        lambda: accessor.plot(**few),
        lambda: explored(**few),
        lambda: magic(f"df {' '.join(line)}"),
        lambda: magic(f"compare df --criteria micro {' '.join(line)}"),
        lambda: commanded(capsys, "select", file, *line),
        lambda: commanded(capsys, "compare", file, "--criteria", "micro", *line),
        lambda: commanded(capsys, "demo", "-q"),
    ):
        wait()
        assert pools == [5]
        pools.clear()
    for call in (
        lambda: compsil_kit.select_k(X, **few),
        lambda: compsil_kit.compare(X, criteria="composite", **few),
        lambda: compsil_kit.CompositeSilhouette(**few).fit(X),
    ):
        call()
        assert pools == [1]
        pools.clear()
