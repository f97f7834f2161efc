"""Configs: validation alone and together, text and JSON forms, and how functions show settings."""

from __future__ import annotations

import inspect
import itertools
import json

import numpy as np
import pytest
from sklearn.cluster import KMeans

from compsil_kit import ComparisonConfig, Events, SelectionConfig, TableConfig
from compsil_kit._config import values
from compsil_kit._config.setting import Setting, documented, takes
from compsil_kit.config import CHOICE, interactive_defaults, settings_of


def split(X, k, seed):
    return np.arange(len(X)) % k


def test_values_are_normalised_once():
    config = SelectionConfig(ks=[5, 2, 5], n_jobs=np.int64(2), z=2)
    assert config.ks == (2, 5)
    assert (config.n_jobs, config.z) == (2, 2.0)
    with pytest.raises(AttributeError):
        config.ks = (3,)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"ks": 1}, ValueError, "ks must be an integer of at least 2; got 1"),
        ({"ks": []}, ValueError, "ks must contain at least one integer"),
        ({"ks": "2"}, TypeError, "ks must be integers of at least 2"),
        ({"ks": itertools.count(2)}, ValueError, "ks must contain at most 1,000 candidates"),
        ({"clusterer": "luck"}, ValueError, "clusterer must be one of"),
        ({"clusterer": 3}, TypeError, "clusterer must be a name"),
        ({"clusterer": KMeans}, TypeError, r"pass KMeans\(\)"),
        ({"metric": "miles"}, ValueError, "metric must be a function or one of"),
        ({"metric": "precomputed"}, ValueError, "clusterer='kmeans' needs points"),
        ({"n_subsamples": 0}, ValueError, "n_subsamples must be an integer of at least 1"),
        ({"n_subsamples": "many"}, TypeError, "or 'auto' for an adaptive number"),
        ({"n_subsamples": 1_000_001}, ValueError, "n_subsamples must be an integer of at most 1,000,000"),
        ({"sample_size": 2}, ValueError, "sample_size must be an integer of at least 3"),
        ({"sample_size": 1.5}, ValueError, "sample_size as a fraction"),
        ({"sample_size": "all"}, ValueError, "sample_size must be 'auto', 'paper'"),
        ({"n_starts": 1001}, ValueError, "n_starts"),
        ({"n_calibration": -1}, ValueError, "n_calibration"),
        ({"n_calibration": 1_000_001}, ValueError, "n_calibration must be an integer of at most 1,000,000"),
        ({"random_state": -1}, ValueError, "random_state must"),
        ({"random_state": [1, 2], "n_subsamples": 3}, ValueError, "3 are needed, got 2"),
        ({"random_state": [1, 2, 3], "n_subsamples": 2, "n_calibration": 2}, ValueError, "4 are needed, got 3"),
        ({"random_state": range(1_000_001)}, ValueError, "1,000,000 at most; got 1,000,001"),
        ({"n_jobs": 0}, ValueError, "n_jobs must be None, a number of workers"),
        ({"n_jobs": 10**6}, ValueError, "n_jobs must be None, a number of workers"),
        ({"structure": 1}, TypeError, "structure"),
        ({"criterion": "best"}, ValueError, "criterion must be one of"),
        ({"transform": "cube"}, ValueError, "transform must be one of"),
        ({"rule": "maxx"}, ValueError, "rule must be one of 'max', 'lcb'; got 'maxx'"),
        ({"z": -1}, ValueError, "z must be"),
        ({"rule": "lcb", "n_subsamples": 1}, ValueError, "n_subsamples with rule=.lcb. must be an integer"),
        ({"rule": "lcb", "criterion": "likely"}, ValueError, "rule must be 'max' with criterion='likely'"),
        ({"on_failure": "ignore"}, ValueError, "on_failure must be one of"),
    ],
)  # fmt: skip
def test_invalid_settings_are_refused_at_construction(settings, error, message):
    with pytest.raises(error, match=message):
        SelectionConfig(**settings)


@pytest.mark.parametrize(
    ("config", "settings", "message"),
    [
        (ComparisonConfig, {"criteria": "luck"}, "criteria must be among"),
        (ComparisonConfig, {"n_references": 1}, "n_references"),
        (ComparisonConfig, {"n_repeats": 0}, "n_repeats"),
        (ComparisonConfig, {"n_subsamples": "auto"}, "n_subsamples must be an integer for a comparison"),
        (TableConfig, {"scale": "huge"}, "scale must be"),
        (TableConfig, {"missing": "guess"}, "missing must be one of"),
    ],
)
def test_invalid_settings_of_comparisons_and_tables_are_refused(config, settings, message):
    with pytest.raises(ValueError, match=message):
        config(**settings)


def test_settings_of_comparisons():
    config = ComparisonConfig(criteria=["gap", "micro", "gap"], ks=[3, 4], clusterer="gmm", random_state=7)
    assert config.criteria == ("micro", "gap")
    assert len(ComparisonConfig().criteria) == 9
    assert config.selection() == SelectionConfig(ks=[3, 4], clusterer="gmm", random_state=7)


def test_unknown_names_get_the_nearest_one():
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'n_subsample'. Did you mean 'n_subsamples'\?"):
        SelectionConfig.from_dict({"n_subsample": 3})
    with pytest.raises(
        TypeError, match=r"unexpected keyword argument .zzz.\. The keywords are columns, scale, missing"
    ):
        TableConfig.from_dict({"zzz": 3})
    with pytest.raises(TypeError, match="'rules'"):
        SelectionConfig().changed(rules="lcb")


def test_resolved_objects_follow_the_settings():
    config = SelectionConfig(clusterer=KMeans(n_init=3), metric="l2")
    assert (config.resolved_clusterer.name, config.resolved_metric.name) == ("KMeans", "euclidean")
    assert config.changed(clusterer="gmm").resolved_clusterer.name == "gmm"
    assert config.choice == {"criterion": "composite", "transform": "tanh", "rule": "max", "z": 1.0}
    adaptive = config.changed(n_subsamples="auto")
    assert (adaptive.adaptive, adaptive.max_subsamples) == (True, 200)
    assert (config.adaptive, config.max_subsamples) == (False, 30)


def test_text_and_json_forms_are_read_back():
    config = SelectionConfig(ks=range(2, 6), n_subsamples="auto", n_jobs=None, structure=True, rule="lcb", z=0.5)
    assert SelectionConfig.from_text(config.to_text()) == config
    assert SelectionConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config
    assert config.to_dict(defaults=False) == {
        "ks": [2, 3, 4, 5], "n_subsamples": "auto", "structure": True, "rule": "lcb", "z": 0.5,
    }  # fmt: skip
    assert SelectionConfig.from_text({"random_state": [3, 4], "n_subsamples": 2}).random_state == (3, 4)


def test_plain_form_of_functions_is_their_name():
    config = SelectionConfig(clusterer=split)
    assert config.to_dict()["clusterer"] == "split"
    with pytest.raises(ValueError, match="clusterer must be one of"):
        SelectionConfig.from_dict(config.to_dict())
    assert SelectionConfig.from_dict(config.to_dict(), clusterer=split) == config


def test_errors_in_text_name_the_setting():
    with pytest.raises(ValueError, match=r"^ks must look like 2:10, 2:20:2 or 2,3,5; got .two."):
        SelectionConfig.from_text({"ks": "two"})


PARSED = [
    (values.parse_integer, {" 12 ": 12}),
    (values.parse_number, {"2": 2.0}),
    (values.parse_optional(values.parse_integer), {" None ": None, "7": 7, "": None, "null": None}),
    (values.parse_integer_or_auto, {" auto ": "auto", "40": 40}),
    (settings_of(SelectionConfig)["n_starts"].parse, {"": "auto", "3": 3}),
    (values.parse_seeds, {" -1 ": -1, "4,2": [4, 2], "42:44": range(42, 45)}),
    (values.parse_switch, {"ON": True, "1": True, "no": False, "": False}),
    (values.parse_sample_size, {"20,000": 20000, "0.5": 0.5, "": "auto", " paper ": "paper"}),
    (values.parse_integers, {"2:8:3": range(2, 9, 3), "2, 7,5,": [2, 7, 5], "[2, 3]": [2, 3]}),
    (values.parse_integers, {" range(2,9,3) ": range(2, 9, 3), "range(2, 4)": range(2, 4)}),
    (values.parse_names, {"a, b ,,c": ["a", "b", "c"], '["a, b", "c"]': ["a, b", "c"], "['it', 1]": ["it", "1"]}),
    (values.parse_names, {"""a,"net income, EUR",'it\\'s'""": ["a", "net income, EUR", "it's"]}),
    (values.split_list, {"""a, "x, y",'z'""": ["a", '"x, y"', "'z'"], 'a,"x, ': ["a", '"x,']}),
    (values.unquote, {r'"C:\new.html"': r"C:\new.html", "'a' + 'b'": "'a' + 'b'"}),
]


@pytest.mark.parametrize(
    ("parse", "text", "expected"), [(parse, *case) for parse, cases in PARSED for case in cases.items()]
)
def test_text_is_parsed(parse, text, expected):
    found = parse(text)
    assert (found, type(found)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("parse", "texts", "rule"),
    [
        (values.parse_integer, ("", "2.5", "1e3"), "an integer"),
        (values.parse_number, ("", "2,5"), "a number"),
        (values.parse_integer_or_auto, ("", "Auto"), "an integer"),
        (values.parse_integers, ("2:", "2:8:0", "8:2:-1", "2:3:4:5", "2;3", "range(2)", "2.5"), "look like 2:10"),
        (values.parse_switch, ("perhaps",), "true or false"),
        (values.parse_sample_size, ("many",), "auto, paper, a number of rows, or a fraction"),
        (values.parse_names, ("[a, b",), "names separated by commas, or a JSON list"),
    ],
)
def test_invalid_text_is_refused(parse, texts, rule):
    for text in texts:
        with pytest.raises(ValueError, match=rf"^must .*{rule}.*; got '"):
            parse(text)


@pytest.mark.parametrize("name", ["a", "net income, EUR", 'say "x"', "it's", "[x]", "2020", "a#b"])
def test_quoted_names_are_parsed_back(name):
    assert values.parse_names(f"b,{values.quote(name)}") == ["b", name]
    assert (values.quote(name) == name) == (name in ("a", "2020"))


def test_events_are_validated():
    with pytest.raises(TypeError, match="checkpoint must be the path of a file, or None; got 3"):
        Events(checkpoint=3)
    assert Events(progress=print).progress is print
    with pytest.raises(TypeError, match="progress must be True, False, None"):
        Events(progress="yes")


@pytest.mark.parametrize(
    ("setting", "text"),
    [
        (Setting("int", 2, int, "Number of things. More text."), "number of things (default: 2)"),
        (Setting("int", 2, int, "Number.", text_form="a number", metavar="N"), "number: a number (default: 2)"),
        (Setting("bool, default=False", False, bool, "Test 5 % more."), "test 5 %% more"),
        (Setting("x", range(2, 5), bool, "Some ``ks``."), "some ks (default: 2:4)"),
        (Setting("float", 2.0, float, "Width."), "width (default: 2)"),
    ],
)
def test_help_texts(setting, text):
    assert setting.help == text


def test_interactive_surfaces_use_all_cores():
    assert interactive_defaults(SelectionConfig) == {"n_jobs": "auto"}
    shown = settings_of(SelectionConfig, interactive=True)["n_jobs"]
    assert (shown.default, shown.type) == ("auto", 'int or "auto", default="auto"')
    assert settings_of(SelectionConfig)["n_jobs"].default is None


def function(X, *, n_batches=None, **keywords):
    """Do something.

    Parameters
    ----------
    X : array
        The data.
    {keywords}

    Returns
    -------
    dict
        What {keywords} became.
    """
    return keywords


def test_settings_are_added_to_signature_and_docstring():
    others = tuple(name for name in settings_of(SelectionConfig) if name not in CHOICE)
    shown = takes(SelectionConfig, leave_out=others)(function)
    parameters = inspect.signature(shown).parameters
    assert list(parameters) == ["X", "n_batches", "criterion", "transform", "rule", "z"]
    assert parameters["rule"].default == "max"
    assert parameters["rule"].annotation == "Rule"
    assert parameters["z"].kind is inspect.Parameter.KEYWORD_ONLY
    assert shown(1, z=3, unknown=4) == {"z": 3, "unknown": 4}
    text = inspect.getdoc(shown)
    assert text.count("{keywords}") == 1
    assert text.index("X : array") < text.index("transform :") < text.index("z :") < text.index("Returns")
    assert max(map(len, text.splitlines())) <= 110
    bare = documented(SelectionConfig)(lambda **keywords: keywords)
    assert bare.__doc__ is None
