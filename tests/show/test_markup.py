"""Whatever a value is, it gets into HTML as text."""

from dataclasses import replace

import pytest

from compsil_kit import select_k
from compsil_kit._result.trials import Failure
from compsil_kit._show.markup import cells, safe
from compsil_kit._show.report import render

ATTACK = "<img src=x onerror=alert(1)>"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (ATTACK, "&lt;img src=x onerror=alert(1)&gt;"),
        ("a\"b'c", "a&quot;b&#x27;c"),
        (3, "3"),
        ("bell\x07 and \x1b[31mred\x00", "bell\\x07 and \\x1b[31mred\\x00"),
        ("two\nlines", "two\nlines"),
    ],
)
def test_values_are_escaped(value, expected):
    assert safe(value) == expected


def test_cells():
    assert cells((1, "<b>")) == "<td>1</td><td>&lt;b&gt;</td>"
    assert cells(["k"], "th", 'color:"red"') == '<th style="color:&quot;red&quot;">k</th>'


@pytest.mark.parametrize("field", ["k", "subsample", "seed", "cause"])
def test_failures_in_the_report_are_text_whatever_they_hold(blobs, field):
    failure = replace(Failure(3, 1, 7, "cause"), **{field: ATTACK})
    page = render(replace(select_k(blobs, ks=[2, 3], n_subsamples=2), failures=(failure,)))
    assert ATTACK not in page
    assert "&lt;img src=x" in page
