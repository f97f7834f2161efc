"""How a function takes a group of keywords: checked, shown in its signature, told in its docstring."""

import inspect
from typing import Annotated, TypedDict

import pytest

from compsil_kit._settings.keywords import (
    ChoiceKeywords,
    Keyword,
    PlanKeywords,
    SelectKeywords,
    defaults_of,
    keywords_of,
)
from compsil_kit._settings.surfaces import check_keywords, documented, takes


def test_what_is_not_given_has_its_default():
    values = check_keywords(SelectKeywords, {})
    assert values == {**defaults_of(SelectKeywords), "ks": tuple(range(2, 11))}
    assert check_keywords(ChoiceKeywords, {"z": 2}) == {
        "criterion": "composite", "transform": "tanh", "rule": "max", "z": 2.0,
    }  # fmt: skip


def test_what_is_given_is_checked():
    assert check_keywords(PlanKeywords, {"ks": [4, 2, 2]})["ks"] == (2, 4)
    with pytest.raises(ValueError, match=r"^ks must be an integer of at least 2; got 1\.$"):
        check_keywords(PlanKeywords, {"ks": [1]})


@pytest.mark.parametrize(
    ("name", "nearest"), [("n_subsample", "n_subsamples"), ("metrik", "metric"), ("random_sate", "random_state")]
)
def test_the_nearest_spelling_is_told(name, nearest):
    with pytest.raises(TypeError, match=rf"^unexpected keyword argument '{name}'. Did you mean '{nearest}'\?"):
        check_keywords(SelectKeywords, {name: 3})


def test_what_is_nothing_like_a_keyword_gets_the_list():
    told = r"^unexpected keyword argument 'zzz'\. The keywords are criterion, transform, rule, z\.$"
    with pytest.raises(TypeError, match=told):
        check_keywords(ChoiceKeywords, {"zzz": 3})


def test_a_keyword_of_another_group_is_unknown():
    with pytest.raises(TypeError, match="unexpected keyword argument 'transform'"):
        check_keywords(PlanKeywords, {"transform": "tanh"})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rule": "lcb", "n_subsamples": 1}, "n_subsamples with rule='lcb' must be an integer of at least 2; got 1"),
        ({"rule": "lcb", "criterion": "likely"}, "rule must be 'max' with criterion='likely'"),
        ({"random_state": [1, 2], "n_subsamples": 3}, "3 are needed, got 2"),
        ({"random_state": [1, 2, 3], "n_subsamples": 2, "n_calibration": 2}, "4 are needed, got 3"),
        ({"metric": "precomputed"}, "clusterer='kmeans' needs points"),
        ({"checkpoint": "run.json", "random_state": None}, "checkpoint needs the same seeds in every run"),
    ],
)
def test_keywords_are_checked_with_each_other(given, message):
    with pytest.raises(ValueError, match=message):
        check_keywords(SelectKeywords, given)


def test_keywords_are_checked_with_those_that_the_group_has_not():
    with pytest.raises(ValueError, match="clusterer='kmeans' needs points"):
        check_keywords(PlanKeywords, {"metric": "precomputed"})


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
        What {keywords} made of it.
    """
    return keywords


def test_keywords_are_part_of_the_signature_and_of_the_docstring():
    shown = takes(ChoiceKeywords)(function)
    assert shown is function
    assert list(inspect.signature(shown).parameters) == ["X", "n_batches", "criterion", "transform", "rule", "z"]
    parameters = inspect.signature(shown).parameters
    assert {parameters[name].default for name in ("transform", "rule", "z")} == {"tanh", "max", 1.0}
    assert all(parameters[name].kind is inspect.Parameter.KEYWORD_ONLY for name in ("transform", "rule", "z"))
    assert shown(1, z=3, unknown=4) == {"z": 3, "unknown": 4}
    doc = inspect.getdoc(shown)
    assert doc.count("{keywords}") == 1
    for name, keyword in keywords_of(ChoiceKeywords).items():
        assert f"\n{name} : {keyword.type}\n    {keyword.doc[:40]}" in doc
    assert max(map(len, doc.splitlines())) <= 110
    assert doc.index("X : array") < doc.index("transform :") < doc.index("z :") < doc.index("Returns")


class Long(TypedDict, total=False):
    """A keyword of which much is to be said."""

    word: Annotated[int, Keyword("int, default=1", 1, int, "x " * 300, interactive="many")]


def test_lines_of_a_docstring_are_filled_up_to_110_characters():
    def long(**keywords):
        """Do something.

        Parameters
        ----------
        {keywords}
        """

    lines = takes(Long)(long).__doc__.splitlines()
    said = [len(line) - len("        ") for line in lines if line.endswith("x")]
    # Of letters with a space between them an odd number fits, and what is filled in stands four deep.
    assert said[0] == 109
    assert len(set(said[:-1])) == 1


@pytest.mark.parametrize("show", [takes, documented])
@pytest.mark.parametrize(
    ("told", "default", "type_"), [({}, 1, "int, default=1"), ({"interactive": True}, "many", 'int, default="many"')]
)
def test_the_default_where_somebody_waits_is_shown_only_there(show, told, default, type_):
    def short(**keywords):
        """Do something.

        {keywords}
        """

    shown = show(Long, **told)(short)
    assert f"word : {type_}\n" in shown.__doc__
    if show is takes:
        assert inspect.signature(shown).parameters["word"].default == default


def test_without_docstrings_there_is_nothing_to_fill_in():
    def bare(**keywords):
        return keywords

    assert documented(ChoiceKeywords)(bare) is bare
    assert bare.__doc__ is None
