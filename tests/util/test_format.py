"""Numbers, percentages, durations and lists as people read them."""

import numpy as np
import pytest

from compsil_kit._util.format import (
    did_you_mean,
    few,
    format_bytes,
    format_ks,
    format_seconds,
    listed,
    number,
    one_line,
    percent,
    quoted,
    sentence,
    shorten,
    whole_percent,
)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0 %"), (1e-9, "<1 %"), (0.005, "<1 %"), (0.0051, "1 %"), (0.0149, "1 %"), (0.66, "66 %"),
        (0.9449, "94 %"), (0.946, "95 %"), (0.9949, "99 %"), (0.995, ">99 %"), (0.9999, ">99 %"), (1.0, "100 %"),
        (np.nan, "–"),
    ],
)  # fmt: skip
def test_percentages(value, shown):
    assert percent(value) == shown


def test_words_are_chosen_by_the_percentage_that_is_printed():
    for value in np.linspace(0.006, 0.994, 989):
        assert percent(value) == f"{whole_percent(value)} %"


@pytest.mark.parametrize(
    ("n_bytes", "shown"),
    [
        (0, "0 B"), (999, "999 B"), (1_000, "1.0 kB"), (9_940, "9.9 kB"), (9_960, "10 kB"), (123_456, "123 kB"),
        (999_600, "1.0 MB"), (4e9, "4.0 GB"), (4e11, "400 GB"), (2.5e12, "2.5 TB"), (4e15, "4,000 TB"),
    ],
)  # fmt: skip
def test_sizes(n_bytes, shown):
    assert format_bytes(n_bytes) == shown


def test_numbers():
    assert number(0.12345) == "0.1235"
    assert number(-2, 1) == "-2.0"
    assert [number(value) for value in (np.nan, np.inf, -np.inf)] == ["–"] * 3


def test_sentences():
    assert sentence("the score is low.") == "The score is low."
    assert sentence("k = 2 is the largest.") == "k = 2 is the largest."
    assert sentence("kept") == "Kept"
    assert sentence("") == ""


@pytest.mark.parametrize(
    ("ks", "shown"),
    [
        ((2,), "2"),
        ((2, 3), "2, 3"),
        ((2, 3, 4), "2..4"),
        ((2, 3, 5), "2, 3, 5"),
        (tuple(range(2, 25, 2)), "2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24"),
        (tuple(range(2, 41, 2)), "2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, ... 40"),
    ],
)
def test_candidates(ks, shown):
    assert format_ks(ks) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0.2, "a second"),
        (1, "1 s"),
        (119.4, "119 s"),
        (120, "2 min"),
        (3599, "60 min"),
        (7199, "120 min"),
        (7200, "2.0 h"),
        (9000, "2.5 h"),
    ],
)
def test_durations(seconds, shown):
    assert format_seconds(seconds) == shown


def test_lists_of_names():
    assert shorten(("a", "b")) == "a, b"
    assert shorten(("a", "b", "c"), most=3) == "a, b, c"
    assert shorten(("a", "b", "c", "d"), most=3) == "a, b, c, ... (4 in all)"
    assert shorten(tuple("abcdefghijklm")) == "a, b, c, d, e, f, g, h, i, j, k, l, ... (13 in all)"
    assert listed(["a"], "is", "are") == "'a' is"
    assert listed(["a", "b"], "is", "are") == "'a', 'b' are"


def test_errors_in_one_line():
    assert one_line(ValueError("one\n  two\tthree")) == "one two three"
    assert one_line(ValueError()) == "ValueError"
    assert one_line(FileNotFoundError(2, "no such file", "x.csv")) == "x.csv: no such file"
    assert one_line(OSError("gone")) == "gone"


def test_messages_stay_short_whatever_the_names():
    assert quoted("x" * 99) == repr("x" * 57 + "...")
    assert quoted(7) == "7"
    assert few(["a", "b", "c"], 2) == "a, b, ... (3 in all)"
    assert listed(["a"], "is", "are") == "'a' is"
    assert listed([f"c{at}" for at in range(99)], "is", "are").endswith("'c7', ... (99 in all) are")
    assert shorten(("a\nb",)) == r"a\nb"


def test_the_nearest_spelling():
    assert did_you_mean(["luck", "gpa"], ["micro", "gap"]) == " Did you mean 'gap'?"
    assert did_you_mean(["-b"], ["-B", "--ks"]) == " Did you mean '-B'?"
    assert did_you_mean(["CITY"], ["city"]) == " Did you mean 'city'?"
    assert did_you_mean(["city"], ["CITY"]) == " Did you mean 'CITY'?"
    assert did_you_mean(["luck"], ["micro"]) == ""
    assert did_you_mean([], []) == ""
