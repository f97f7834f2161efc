"""From text to the values of keywords: every reader, what it takes, and what it says of what it does not."""

import pytest

from compsil_kit._settings import reading


def test_whole_numbers():
    assert reading.read_integer(" 12 ") == 12
    assert reading.read_integer("-3") == -3
    for text in ("", "2.5", "two", "1e3"):
        with pytest.raises(ValueError, match=r"^must be a whole number; got '.*'\.$"):
            reading.read_integer(text)


def test_numbers():
    assert reading.read_number(" 2.5 ") == 2.5
    assert isinstance(reading.read_number("2"), float)
    for text in ("", "2,5", "wide"):
        with pytest.raises(ValueError, match=r"^must be a number; got '.*'\.$"):
            reading.read_number(text)


@pytest.mark.parametrize("text", ["", "  ", "none", "None", "NULL", " null "])
def test_nothing_is_none_where_none_is_possible(text):
    assert reading.read_optional(reading.read_integer)(text) is None


def test_something_is_read_where_none_is_possible():
    assert reading.read_optional(reading.read_integer)("7") == 7
    with pytest.raises(ValueError, match="must be a whole number; got 'nothing'"):
        reading.read_optional(reading.read_integer)("nothing")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2:4", [2, 3, 4]),
        ("2:4:1", [2, 3, 4]),
        ("2:8:3", [2, 5, 8]),
        ("2:9:3", [2, 5, 8]),
        ("3", [3]),
        ("2,7,5", [2, 7, 5]),
        (" 2 : 4 ", [2, 3, 4]),
        ("2, 3,", [2, 3]),
        ("[2, 3, 5]", [2, 3, 5]),
        ("(2, 3)", [2, 3]),
        ("range(2, 5)", [2, 3, 4]),
        ("range(2,9,3)", [2, 5, 8]),
        (" range(2, 5) ", [2, 3, 4]),
        (" [2, 3] ", [2, 3]),
        ("", []),
    ],
)
def test_candidate_counts(text, expected):
    assert list(reading.read_counts(text)) == expected


@pytest.mark.parametrize(
    "text", ["two", "2:", ":4", "2:8:0", "8:2:-1", "2:3:4:5", "2;3", "range(2)", "2.5", "range(x, 3)"]
)
def test_what_is_no_list_of_counts(text):
    with pytest.raises(ValueError, match=r"^must look like 2:10, 2:20:2 or 2,3,5; got '.*'\.$"):
        reading.read_counts(text)


def test_seeds():
    assert reading.read_seeds("42") == 42
    assert reading.read_seeds(" -1 ") == -1
    assert list(reading.read_seeds("42:44")) == [42, 43, 44]
    assert reading.read_seeds("4,2") == [4, 2]
    with pytest.raises(ValueError, match="must look like"):
        reading.read_seeds("luck")


@pytest.mark.parametrize(
    ("read", "text", "expected"),
    [
        (reading.read_workers, " auto ", "auto"),
        (reading.read_workers, " -1 ", -1),
        (reading.read_workers, "None", None),
        (reading.read_starts, " auto ", "auto"),
        (reading.read_starts, " ", "auto"),
        (reading.read_starts, "3", 3),
        (reading.read_switch, " Yes ", True),
        (reading.read_switch, "ON", True),
        (reading.read_switch, "1", True),
        (reading.read_switch, "true", True),
        (reading.read_switch, "False", False),
        (reading.read_switch, "no", False),
        (reading.read_switch, "off", False),
        (reading.read_switch, "0", False),
        (reading.read_switch, " none ", False),
    ],
)
def test_words_with_a_meaning_of_their_own(read, text, expected):
    found = read(text)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("auto", "auto"),
        (" auto ", "auto"),
        ("", "auto"),
        (" paper ", "paper"),
        ("500", 500),
        ("20,000", 20000),
        ("0.5", 0.5),
        (" 1.0 ", 1.0),
    ],
)
def test_sizes_of_subsamples(text, expected):
    found = reading.read_size(text)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(("text", "expected"), [("auto", "auto"), (" auto ", "auto"), ("40", 40)])
def test_numbers_of_subsamples(text, expected):
    assert reading.read_subsamples(text) == expected


@pytest.mark.parametrize("text", ["", "many", "Auto"])
def test_what_is_no_number_of_subsamples(text):
    with pytest.raises(ValueError, match=r"^must be a whole number; got"):
        reading.read_subsamples(text)


def test_what_is_no_size():
    with pytest.raises(
        ValueError, match=r"^must be auto, paper, a number of rows, or a fraction such as 0.5; got 'many'\.$"
    ):
        reading.read_size("many")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a, b ,c", ["a", "b", "c"]),
        ("net income", ["net income"]),
        ("a,,b,", ["a", "b"]),
        ('["a, b", "c"]', ["a, b", "c"]),
        ("['a, b', 'c']", ["a, b", "c"]),
        ('["it\'s", "b"]', ["it's", "b"]),
        ("[1, 2]", ["1", "2"]),
        (" ['a'] ", ["a"]),
        ("""a,"net income, EUR",'it\\'s'""", ["a", "net income, EUR", "it's"]),
        ("it's,b", ["it's", "b"]),
    ],
)
def test_names(text, expected):
    assert reading.read_names(text) == expected


def test_quotes():
    assert reading.unquote('"net income"') == "net income"
    assert reading.unquote(r"'it\'s'") == "it's"
    assert reading.unquote(r'"C:\new.html"') == r"C:\new.html"
    assert reading.unquote("'a' + 'b'") == "'a' + 'b'"
    assert reading.unquote("plain") == "plain"


def test_lists():
    assert reading.split_list("""a, "x, y",'z'""") == ["a", '"x, y"', "'z'"]
    assert reading.split_list("a,") == ["a", ""]
    assert reading.split_list('a,"x, ') == ["a", '"x,']
    assert reading.split_list("") == [""]


@pytest.mark.parametrize("name", ["a", "net income, EUR", 'say "x"', "it's", "[x]", "2020"])
def test_a_quoted_name_is_read_as_it_is(name):
    assert reading.read_names(f"b,{reading.quote(name)}") == ["b", name]


def test_names_are_quoted_where_they_need_it_and_by_the_mark_they_lack():
    assert [reading.quote(name) for name in ("a", "a b", 'say "x"', "a#b")] == ["a", '"a b"', "'say \"x\"'", '"a#b"']


def test_what_is_no_list_of_names():
    with pytest.raises(ValueError, match=r"^must be names with commas between them, or a JSON list; got '\[a, b'\.$"):
        reading.read_names("[a, b")


def test_criteria():
    assert reading.read_criteria(" all ") == "all"
    assert reading.read_criteria("gap, elbow") == ["gap", "elbow"]


def test_long_text_is_cut_where_it_is_shown():
    assert reading.shown("x" * 60) == repr("x" * 60)
    assert reading.shown("x" * 61) == repr("x" * 57 + "...")
