"""Formatting of numbers, percentages, durations, lists and errors."""

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
    printable,
    quoted,
    sentence,
    shorten,
    whole_percent,
)

CASES = [
    (percent, [
        (0.0, "0 %"), (1e-9, "<1 %"), (0.005, "<1 %"), (0.0051, "1 %"), (0.0149, "1 %"), (0.9449, "94 %"),
        (0.946, "95 %"), (0.9949, "99 %"), (0.995, ">99 %"), (1.0, "100 %"), (np.nan, "–"),
    ]),
    (whole_percent, [(0.0149, 1), (0.946, 95), (np.float64(0.5), 50)]),
    (format_bytes, [
        (0, "0 B"), (999, "999 B"), (1_000, "1.0 kB"), (9_940, "9.9 kB"), (9_960, "10 kB"), (123_456, "123 kB"),
        (999_600, "1.0 MB"), (4e9, "4.0 GB"), (4e11, "400 GB"), (2.5e12, "2.5 TB"), (4e15, "4,000 TB"),
    ]),
    (number, [(0.12345, "0.1235"), (np.nan, "–"), (-np.inf, "–")]),
    (sentence, [("the score is low.", "The score is low."), ("k = 2 is best.", "k = 2 is best."), ("", "")]),
    (format_ks, [
        ((2,), "2"), ((2, 3), "2, 3"), ((2, 3, 4), "2..4"), ((2, 3, 5), "2, 3, 5"),
        (tuple(range(2, 25, 2)), "2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24"),
        (tuple(range(2, 41, 2)), "2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, ... 40"),
    ]),
    (format_seconds, [
        (0.2, "a second"), (1, "1 s"), (119.4, "119 s"), (120, "2 min"), (7200, "2.0 h"), (9000, "2.5 h"),
    ]),
    (shorten, [
        (("a", "b\nc"), r"a, b\nc"), (("x" * 99,), "x" * 57 + "..."),
        (tuple("abcdefghijklm"), "a, b, c, d, e, f, g, h, i, j, k, l, ... (13 in all)"),
    ]),
    (few, [(list("abcdefgh"), "a, b, c, d, e, f, g, h"), (range(9), "0, 1, 2, 3, 4, 5, 6, 7, ... (9 in all)")]),
    (quoted, [("x" * 99, "'" + "x" * 57 + "...'"), (7, "7")]),
    (one_line, [
        (ValueError("one\n  two\tthree"), "one two three"), (ValueError(), "ValueError"), (OSError("gone"), "gone"),
        (FileNotFoundError(2, "no such file", "x.csv"), "x.csv: no such file"),
    ]),
    (printable, [("a\n\x1b[1m\r\t", "a\n\\x1b[1m\\r\\t")]),
]  # fmt: skip


@pytest.mark.parametrize(("function", "cases"), CASES, ids=lambda value: getattr(value, "__name__", ""))
def test_format_functions(function, cases):
    for value, shown in cases:
        assert function(value) == shown, value


def test_format_functions_with_further_arguments():
    assert number(-2, 1) == "-2.0"
    assert listed(["a"], "is", "are") == "'a' is"
    assert listed(["a", "b"], "is", "are") == "'a', 'b' are"


def test_did_you_mean_suggests_the_most_similar_name():
    assert did_you_mean(["luck", "gpa"], ["micro", "gap"]) == " Did you mean 'gap'?"
    assert did_you_mean(["-b"], ["-B", "--ks"]) == " Did you mean '-B'?"
    assert did_you_mean(["CITY"], ["city"]) == " Did you mean 'city'?"
    assert did_you_mean(["luck"], ["micro"]) == did_you_mean([], []) == ""
