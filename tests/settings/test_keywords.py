"""The definitions of the keywords: groups, defaults, help texts, and readers that agree with checks."""

import pytest

from compsil_kit._settings.keywords import (
    ChoiceKeywords,
    ClusteringKeywords,
    CompareKeywords,
    CriteriaKeywords,
    ExploreKeywords,
    PlanKeywords,
    SelectKeywords,
    StreamKeywords,
    TableKeywords,
    defaults_of,
    interactive_defaults,
    keywords_of,
)

EVERY = {**keywords_of(TableKeywords), **keywords_of(SelectKeywords), **keywords_of(CriteriaKeywords)}


def names(group):
    return set(keywords_of(group))


def test_groups_are_made_of_groups():
    assert names(PlanKeywords) == names(ClusteringKeywords) | {"n_starts", "n_calibration", "structure"}
    assert names(ExploreKeywords) == names(PlanKeywords) | names(ChoiceKeywords) | {"n_jobs"}
    assert names(StreamKeywords) == names(ExploreKeywords) | {"checkpoint"}
    assert names(SelectKeywords) == names(StreamKeywords) | {"progress"}
    assert names(CompareKeywords) == names(ClusteringKeywords) | names(CriteriaKeywords) | {"n_jobs", "progress"}
    assert not names(TableKeywords) & names(SelectKeywords)


def test_only_workers_have_another_default_where_somebody_waits():
    for group in (SelectKeywords, CompareKeywords, ExploreKeywords):
        assert interactive_defaults(group) == {"n_jobs": "auto"}
        assert defaults_of(group, interactive=True) == {**defaults_of(group), "n_jobs": "auto"}
    assert interactive_defaults(TableKeywords) == interactive_defaults(PlanKeywords) == {}
    assert keywords_of(SelectKeywords, interactive=True)["n_jobs"].type == 'int or "auto", default="auto"'


def test_a_keyword_is_the_same_in_every_group():
    for group in (PlanKeywords, ExploreKeywords, StreamKeywords, CompareKeywords):
        for name, keyword in keywords_of(group).items():
            assert keyword is EVERY[name]


def test_defaults():
    assert defaults_of(SelectKeywords) == {
        "ks": range(2, 11), "clusterer": "kmeans", "n_subsamples": 30, "sample_size": "auto", "metric": "euclidean",
        "on_failure": "raise", "random_state": 42, "n_starts": "auto", "n_calibration": 0, "structure": False,
        "criterion": "composite", "transform": "tanh", "rule": "max", "z": 1.0, "n_jobs": None, "checkpoint": None,
        "progress": None,
    }  # fmt: skip
    assert defaults_of(TableKeywords) == {"columns": None, "scale": "standard", "missing": "raise"}
    assert defaults_of(CriteriaKeywords) == {"criteria": "all", "n_repeats": None, "n_references": 20}


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
    "n_starts": ("5", 5),
    "n_calibration": ("5", 5),
    "structure": ("yes", True),
    "criterion": ("stable", "stable"),
    "transform": ("step", "step"),
    "rule": ("lcb", "lcb"),
    "z": ("2.5", 2.5),
    "n_jobs": ("auto", "auto"),
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


def test_help_texts_are_one_line():
    assert EVERY["ks"].help.endswith("(default: 2:10)")
    for keyword in EVERY.values():
        assert "\n" not in keyword.help
        assert not keyword.help[0].isupper()


# The ends that are taken, and what lies just beyond them.
ENDS = {
    "ks": ([[2], range(2, 1002)], [[1, 2], range(2, 1003)]),
    "n_subsamples": ([1, 1_000_000], [0, 1_000_001]),
    "n_starts": (["auto", 1, 1000], [0, 1001]),
    "n_calibration": ([0, 1_000_000], [-1, 1_000_001]),
    "sample_size": ([3, 1.0], [2, 1.001]),
    "random_state": ([0, 2**32 - 1], [-1, 2**32]),
    "z": ([0, 1_000_000], [-0.001, 1_000_001]),
    "n_jobs": ([1, -1], [0]),
    "n_repeats": ([1], [0]),
    "n_references": ([2], [1]),
}


@pytest.mark.parametrize("name", ENDS)
def test_numbers_are_taken_up_to_their_ends(name):
    taken, beyond = ENDS[name]
    for value in taken:
        EVERY[name].check(value)
    for value in beyond:
        with pytest.raises(ValueError, match=rf"^{name} "):
            EVERY[name].check(value)
