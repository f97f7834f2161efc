"""Tests of detecting the layout of text tables: separator, decimal mark, comments, header and width."""

import io
import re
from types import SimpleNamespace

import pytest

from compsil_kit._data.files import FileFormatError, detect
from compsil_kit._data.files.detect import CsvOptions, detect_header, detect_layout, detect_separator
from compsil_kit._data.files.numeric import MISSING_VALUES
from compsil_kit._data.files.rows import iterate_rows

ABSENT = "does not occur in the first line, which"
PAIRS = "the separator is ambiguous: pass --sep ',' for two columns or --sep ';' for decimal commas."


@pytest.mark.parametrize(
    ("text", "expected", "options"),
    [
        ("a,b\n1.5,2\n", "separator ',', decimal point, header in line 1", {}),
        ("a;b\n1,5;2\n", "separator ';', decimal comma, header in line 1", {}),
        ("a\tb\n1,5\t2\n", "separator tab, decimal comma, header in line 1", {}),
        ("a b\n1 2\n", "separator ' ', decimal comma, header in line 1", {"sep": "space", "decimal": ","}),
        ("1.5,2\n2.5,3\n", "separator ',', decimal point, no header", {}),
        ("a\n1\n", "one column, decimal point, header in line 1", {}),
        # A separator that the user passes need not occur in the file.
        ("1,5\n2,5\n", "one column, decimal comma, no header", {"sep": ";"}),
        ("x\n2\n", "one column, decimal point, header in line 1", {"sep": ";"}),
        ("a,b;c\n1,2\n", "separator ',', decimal point, header in line 1", {"sep": ","}),
        # Only pairs of integers could be single numbers with a decimal comma.
        ("1;2\n3;4\n5;7\n", "separator ';', decimal point, no header", {"header": False}),
        ("1.5,2\n3,4\n", "separator ',', decimal point, no header", {"header": False}),
        ("1,2,3\n4,5,6\n4,5,6\n4,4,4\n", "separator ',', decimal point, no header", {"header": False}),
        ("a,b\nx,1,2\n", "separator ',', decimal point, header in line 1, row names in the first column", {}),
        # One column of numbers with decimal commas.
        ("x\n7,5\n2,5\n", "one column, decimal comma, header in line 1", {}),
        ("x\n\n 7,5 \n2,5\n", "one column, decimal comma, header in line 1", {}),
        ("1,5\n7,5\n3\n", "one column, decimal comma, no header", {}),
        # Blank lines, comments and Excel's sep= line.
        ("\n \na,b\n1,2\n", "separator ',', decimal point, header in line 3", {}),
        ('# a, 5" wide; x\n\n#\na,b\n1,2\n# c,d\n', "separator ',', decimal point, header in line 4", {}),
        ("sep=;\na;b\n1;2\n", "separator ';', decimal point, header in line 2", {}),
        ('"sep=;"\n1.5;2\n2.5;3\n', "separator ';', decimal point, no header", {}),
        ("a;b\nsep=;\n", "separator ';', decimal point, header in line 1", {}),
        # The last comment line names the columns if it has as many cells and the table has no header.
        ("# x\n#a,b\n1.5,2\n2.5,3\n", "separator ',', decimal point, header in line 2", {}),
        ("#a,b\n2019,2020\n5,6\n", "separator ',', decimal point, header in line 1", {}),
        ("#a,b,c\n1.5,2\n2.5,3\n", "separator ',', decimal point, no header", {}),
        ("#a,b\nc,d\n1.5,2\n", "separator ',', decimal point, header in line 2", {}),
        ("#a,b\n1.5,2\n2.5,3\n", "separator ',', decimal point, no header", {"header": False}),
        ("#a,b\n?,1.5\n2.5,?\n3.5,4.5\n", "separator ',', decimal point, header in line 2", {}),
        ("#a,b\n?,1.5\n2.5,?\n3.5,4.5\n", "separator ',', decimal point, header in line 1", {"na_values": ["?"]}),
    ],
)
def test_detect_layout_describes_the_layout(text, expected, options):
    layout = detect_layout(text, CsvOptions(**options))
    assert str(layout).replace(", encoding utf-8", "") == expected
    plain = ("separator ',', decimal point, header in line 1", "one column, decimal point, header in line 1")
    assert layout.is_plain is (expected in plain)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        *((text, {}, "not a readable table: it is empty.") for text in ("", "\n \n", "# only\n# words\n", '"\n"')),
        ("# c\n# d\na,b\n1,2\n3,4,5\n", {}, "not a readable table: line 5 has 3 fields, but line 3 has 2."),
        ('# c\na,b\n1,2\n"3,4\n', {}, "not a readable table: line 4 opens a quote that is never closed. Fix"),
        ('# c\na,b\n"3,4\n' + "1,2\n" * 35_000, {}, "not a readable table: line 3 opens a quote"),
        ("a;b\n1.5,2\n2.5,3\n", {"sep": ","}, f"the separator ',' (--sep) {ABSENT} contains ';'."),
        ("a|b\n1;2\n", {"sep": "tab"}, f"the separator tab (--sep) {ABSENT} contains '|'."),
        ("a;b\n" + "1.5,2\n" * 9, {}, "line 1 has a different separator from the lines below it. Fix this line."),
        ("#x\n2019,2020,2021\n1,2,3\n4,5,6\n", {}, "cannot tell whether line 2 is a header. Pass --h"),
        ("1,2\n3,4\n5,7\n", {}, PAIRS),
        *(("x\n" + "".join(f"{row + first},{row % 3}\n" for row in range(5)), {}, PAIRS) for first in (0, 1)),
    ],
)  # fmt: skip
def test_unreadable_or_ambiguous_text_raises(text, options, message):
    with pytest.raises(FileFormatError, match="^" + re.escape(message)):
        detect_layout(text, CsvOptions(**options))


@pytest.mark.parametrize(
    ("text", "complete", "default_sep", "width"),
    [
        # The last line of a sample may be truncated, and a quote may be closed later; a single line is kept.
        ("a,b\n1,2\n3,4\n5", False, ",", 2),
        ('a,b,c\n1,2,3\n4,"5\n6', False, ",", 3),
        ("a,b\n5", False, ",", 2),
        ("a,b", False, ",", 2),
        ("a,b\tc,d\n1,2\t3,4\n5,6\t7,8\n", True, "\t", 2),
        ("a;b\n1;2\n", True, "\t", 2),
        ("a,b\n" + "1,2\n" * 1600 + "3", True, ",", 2),
    ],
)  # fmt: skip
def test_an_incomplete_sample_may_end_inside_a_row(text, complete, default_sep, width):
    layout = detect_layout(text, CsvOptions(), complete=complete, default_sep=default_sep)
    assert (layout.width, layout.header) == (width, 1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x\nfoo,1\nbar,2\nbaz,4\n", ","), ("1,-2\n3,-4\n5,-1\n", ","), ("x,y\n1,5\n2,5\n", ","), ("1,5\n7,5\n", ","),
        ("x\n1,5\nword\n", ","), ("x\n", ","), ("a|b\n1|2\n", "|"),
    ],
)  # fmt: skip
def test_detect_separator_finds_the_separator(text, expected):
    assert detect_separator(text) == expected


@pytest.mark.parametrize(("length", "n_lines", "kept"), [(3000, 20, 8), (1024, 20, 16), (1025, 20, 16), (1000, 9, 9)])
def test_clevercsv_gets_complete_lines_only(monkeypatch, length, n_lines, kept):
    """The sample for CleverCSV has at least 16,384 characters (if available) and at least 8 lines."""
    text = ("x," + "x" * (length - 4) + ";\n") * n_lines
    heads, dialect = [], SimpleNamespace(delimiter=",")
    monkeypatch.setattr("clevercsv.Detector.detect", lambda self, head, delimiters: heads.append(head) or dialect)
    detect_separator(text)
    assert heads == [text[: length * kept]]


@pytest.mark.parametrize(
    ("text", "detected", "expected"),
    [
        ("a,b;c\nx,y;z\nu,v;w\n", ";", ";"), ("a,b;c\nx,y;z\nu,v;w\n", ",", ","), ("x, y\nfoo\nbar; baz\n", "", ","),
        ("a\tb\n1,5\t2\n3\t4\n5\t6\n", ",", "',' or a tab? Pass, for example, --sep tab, and --decimal ',' if"),
        ("a;b\n1,5;2\n3;4\n5;6\n", "", "none or ';'? Pass, for example, --sep ';'"),
        # If several separators fit, the separator that gives the larger fraction of numbers is used.
        ("a,b;c\n1,2;x\n3,4;y\n", ";", ";"), ("a;b,1\nx;2,3\ny;4,5\n", ";", "';' or ','? Pass, for example, --sep ','"),
        # A separator that would give row names is not considered.
        ("a;b,c,d\n1;2;x,y,z\n", ",", ","),
    ],
)  # fmt: skip
def test_the_rows_may_contradict_the_separator_from_clevercsv(monkeypatch, text, detected, expected):
    def detect(_, __, delimiters):
        assert set(delimiters) == set(text) & set(",;\t|")
        return SimpleNamespace(delimiter=detected)

    monkeypatch.setattr("clevercsv.Detector.detect", detect)
    if len(expected) == 1:
        assert detect_separator(text) == expected
    else:
        with pytest.raises(FileFormatError, match=re.escape(f"the separator is ambiguous: {expected}")):
            detect_separator(text)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (("a,b", "1,4", "2,5"), True), (("a,b", "Rome,red", "Oslo,blue"), True), ((",b", "1,4", "2,5"), True),
        (("a,2020", "1,4", "2,5"), True), (("1.5,2.5", "1.5,3.5"), False), (("-1,2", "1,4", "2,5"), False),
        # Integers are names if they number the columns or are above decimals only; repeated integers are not names.
        (("0,1", "1,4", "2,5"), True), (("0", "1", "2"), None), (("7,7", "1,4", "2,5"), False),
        (("2019,2020", "1.5,3.5", "2.5,4.5"), True), (("2019,2020", "1e5,2.5", "1E5,3.5"), True),
        (("2019,2020", "1,4", "2,5"), None), (("a,1.5", "1,4", "2,5"), None), (("city,2020", "Rome,4", "Oslo,5"), None),
        # Only columns in which more than half of the cells are numbers count; missing cells are ignored.
        (("-7", "1", "x"), True), (("-7", "1", "2", "x"), False), (("-7", "1", "NA", ""), False),
        # The header may lack a name for row names, unless the last cells are empty.
        (("a,b", "Rome,1,4", "Oslo,2,5"), True), (("1.5,2.5", "Rome,1.5,3.5", "Oslo,2.5,4.5"), False),
        (("-7,b", "Rome,1,3", "Oslo,2,4"), None), (("-1.5,red", "1,Rome,", "2,Oslo,"), False),
        # At most 4,000 cells are examined, but at least eight rows.
        (("-1,2", *["1,4"] * 1001, *["x,y"] * 3000), False), (("-1,2", *["1,4"] * 999, *["x,y"] * 1001), True),
        ((",".join(["-1"] * 1000), *[",".join("1" * 1000)] * 5, *[",".join("x" * 1000)] * 9), False),
    ],
)  # fmt: skip
def test_detect_header_finds_names_and_numbers(lines, expected):
    rows = [(number, line.split(",")) for number, line in enumerate(lines, 1)]
    assert detect_header(rows, ".", MISSING_VALUES) is expected


def test_iterate_rows_splits_rows_like_pandas():
    text = 'a\r\n\r\n"x\ny",2\r \n"",\nb\x0bc\n'
    found = list(iterate_rows(io.StringIO(text, newline=""), ",", 5))
    assert found == [(5, ["a"]), (7, ["x\ny", "2"]), (10, ["", ""]), (11, ["b\x0bc"])]
    assert len(detect.parse_rows("1,2\n" * 401, ",")) == 400


@pytest.mark.parametrize(
    ("options", "message"),
    [
        *(({"sep": sep}, f"--sep must be one character such as ';' or '|', or the word tab or space; got {sep!r}.")
          for sep in ("", "a", "7", '"', "\r", "\n", ".", "+", "-", "::")),
        ({"thousands": ".", "decimal": "."}, "--thousands and --decimal must differ; both are '.'."),
        *(({"encoding": name}, "--encoding must be an encoding known to Python, such as utf-8, ")
          for name in ("klingon", "hex", "\udc80")),
    ],
)  # fmt: skip
def test_invalid_csv_options_raise(options, message):
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        CsvOptions(**options)


@pytest.mark.parametrize(("sep", "expected"), [("tab", "\t"), ("\\t", "\t"), ("space", " "), ("|", "|"), (None, None)])
def test_named_separators_become_characters(sep, expected):
    assert CsvOptions(sep=sep, thousands=",", decimal=".").sep == expected
