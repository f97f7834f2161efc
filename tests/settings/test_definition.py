"""The definition of a keyword: it is frozen, its help is one line, and it may have another default for people."""

from dataclasses import FrozenInstanceError

import pytest

from compsil_kit._settings.definition import Keyword


def test_a_definition_cannot_be_changed():
    """All surfaces share it, and a change in one would be felt in the others."""
    keyword = Keyword("int, default=3", 3, int, "A number.")
    with pytest.raises(FrozenInstanceError):
        keyword.default = 4


def test_a_help_text_is_one_line():
    made = Keyword("int", 3, int, "Number of ``things``, at 5 %. More of it here.", spelling="a number")
    assert made.help == "number of things, at 5 %%: a number (default: 3)"
    assert Keyword("int", None, int, "Number of things.").help == "number of things"
    assert Keyword("float", 2.0, float, "Width.").help == "width (default: 2)"
    assert Keyword("ints", range(2, 5), list, "Numbers.").help == "numbers (default: 2:4)"


def test_a_default_where_somebody_waits():
    plain = Keyword("int, default=3", 3, int, "Number of things.")
    assert plain.where_somebody_waits() is plain
    other = Keyword("int or str, default=None", None, str, "Number of things.", interactive="many")
    shown = other.where_somebody_waits()
    assert (shown.default, shown.type) == ("many", 'int or str, default="many"')
    assert shown.help == "number of things (default: many)"
    assert other.default is None
