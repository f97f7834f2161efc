"""The definitions of the keywords: groups, defaults, help texts, and readers that agree with checks."""

from dataclasses import FrozenInstanceError

import pytest

from compsil_kit.settings.keywords import (
    ChoiceKeywords,
    ClusteringKeywords,
    CompareKeywords,
    CriteriaKeywords,
    ExploreKeywords,
    Keyword,
    PlanKeywords,
    SelectKeywords,
    StreamKeywords,
    TableKeywords,
    defaults_of,
    keywords_of,
)

EVERY = {**keywords_of(TableKeywords), **keywords_of(SelectKeywords), **keywords_of(CriteriaKeywords)}


def names(group):
    return set(keywords_of(group))


def test_groups_are_made_of_groups():
    assert names(PlanKeywords) == names(ClusteringKeywords) | {"n_calibration"}
    assert names(ExploreKeywords) == names(PlanKeywords) | names(ChoiceKeywords) | {"n_jobs"}
    assert names(StreamKeywords) == names(ExploreKeywords) | {"checkpoint"}
    assert names(SelectKeywords) == names(StreamKeywords) | {"progress"}
    assert names(CompareKeywords) == names(ClusteringKeywords) | names(CriteriaKeywords) | {"n_jobs", "progress"}
    assert not names(TableKeywords) & names(SelectKeywords)


def test_a_keyword_is_the_same_in_every_group():
    for group in (PlanKeywords, ExploreKeywords, StreamKeywords, CompareKeywords):
        for name, keyword in keywords_of(group).items():
            assert keyword is EVERY[name]


def test_defaults():
    assert defaults_of(SelectKeywords) == {
        "ks": range(2, 11), "clusterer": "kmeans", "n_subsamples": 30, "sample_size": "auto", "metric": "euclidean",
        "on_failure": "raise", "random_state": 42, "n_calibration": 0, "transform": "tanh", "rule": "max", "z": 1.0,
        "n_jobs": None, "checkpoint": None, "progress": None,
    }  # fmt: skip
    assert defaults_of(TableKeywords) == {"columns": None, "scale": "standard", "missing": "raise"}
    assert defaults_of(CriteriaKeywords) == {"criteria": "all", "n_repeats": None, "n_references": 20}


def test_a_definition_cannot_be_changed():
    """All surfaces share it, and a change in one would be felt in the others."""
    keyword = Keyword("int, default=3", 3, int, "A number.")
    with pytest.raises(FrozenInstanceError):
        keyword.default = 4


@pytest.mark.parametrize("name", EVERY)
def test_the_type_names_the_default(name):
    keyword = EVERY[name]
    if keyword.default is None:
        assert keyword.type.endswith(("default=None", "optional"))
    else:
        shown = f'"{keyword.default}"' if isinstance(keyword.default, str) else keyword.default
        assert keyword.type.endswith(f"default={shown}")


@pytest.mark.parametrize("name", [name for name, keyword in EVERY.items() if keyword.choices])
def test_every_choice_passes_the_check(name):
    for word in EVERY[name].choices:
        EVERY[name].check(EVERY[name].read(word))


# How each keyword is written as text, and what that is.
WRITTEN = {
    "columns": ("a,b", ["a", "b"]),
    "scale": ("none", None),
    "missing": ("drop", "drop"),
    "ks": ("2:4", (2, 3, 4)),
    "clusterer": ("gmm", "gmm"),
    "n_subsamples": ("50", 50),
    "sample_size": ("0.5", 0.5),
    "metric": ("cosine", "cosine"),
    "on_failure": ("skip", "skip"),
    "random_state": ("7", 7),
    "n_calibration": ("5", 5),
    "transform": ("step", "step"),
    "rule": ("lcb", "lcb"),
    "z": ("2.5", 2.5),
    "n_jobs": ("-1", -1),
    "criteria": ("gap,micro", ("micro", "gap")),
    "n_repeats": ("none", None),
    "n_references": ("4", 4),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_text_is_read_and_checked(name):
    text, value = WRITTEN[name]
    found = EVERY[name].check(EVERY[name].read(text))
    assert found == value
    assert type(found) is type(value)


def test_every_keyword_that_is_written_is_read_here():
    assert set(WRITTEN) == set(EVERY) - {"checkpoint", "progress"}


def test_a_help_text_is_one_line():
    made = Keyword("int", 3, int, "Number of ``things``, at 5 %. More of it here.", spelling="a number")
    assert made.help == "number of things, at 5 %%: a number (default: 3)"
    assert Keyword("int", None, int, "Number of things.").help == "number of things"
    assert Keyword("float", 2.0, float, "Width.").help == "width (default: 2)"
    assert EVERY["ks"].help.endswith("(default: 2:10)")
    for keyword in EVERY.values():
        assert "\n" not in keyword.help
        assert not keyword.help[0].isupper()
