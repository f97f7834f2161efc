"""How a line is taken apart: as a user would read it."""

import pytest
from IPython.core.error import UsageError

from compsil_jupyter.magic_line import did_you_mean, make_parser, parse_line, split, user_names


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("df --ks 2:10 -B 30", ["df", "--ks", "2:10", "-B", "30"]),
        ('df[df.city == "Oslo S"] -q', ['df[df.city == "Oslo S"]', "-q"]),
        ("df.iloc[:, :-1]", ["df.iloc[:, :-1]"]),
        ("df.query(\"a > 1 and b == 'x)'\") -q", ["df.query(\"a > 1 and b == 'x)'\")", "-q"]),
        ("f(lambda row: row[0] + 1, {1: 2})  x", ["f(lambda row: row[0] + 1, {1: 2})", "x"]),
        ("'df [0]' -q", ["'df [0]'", "-q"]),
        (r'df["a \" ] b"] -q', [r'df["a \" ] b"]', "-q"]),
        ('--columns a,"net income",b', ["--columns", 'a,"net income",b']),
        ("--columns a, b -q", ["--columns", "a, b", "-q"]),
        ("--columns a, -q", ["--columns", "a,", "-q"]),
        ("df # all of it", ["df", ""]),
        ("df -q # all of it", ["df", "-q", ""]),
        ("df a#b", ["df", "a#b"]),
        ("df['#'] #", ["df['#']", ""]),
        ("df) x", ["df)", "x"]),
        ("df[a b", ["df[a b"]),
        ("x 'net inc", ["x", "'net inc"]),
        ("df ", ["df", ""]),
        ("", [""]),
    ],
)
def test_words(line, words):
    assert split(line) == words


@pytest.mark.parametrize(
    ("line", "in_cell", "parsed"),
    [
        ("df", False, ("select", ["df"], {})),
        ("df [0] -B 5", False, ("select", ["df [0]"], {"n_subsamples": 5})),
        ("compare df", False, ("compare", ["df"], {})),
        ("report df out.html", False, ("report", ["df", "out.html"], {})),
        ("", True, ("select", [""], {})),
        ("report out.html", True, ("report", ["", "out.html"], {})),
    ],
)
def test_a_line_is_a_command_its_data_and_options(line, in_cell, parsed):
    assert parse_line(line, {}, in_cell=in_cell) == parsed


@pytest.mark.parametrize(
    ("line", "in_cell", "told"),
    [
        ("", False, "DATA is missing. Usage: %compsil select DATA [options]"),
        ("report df", False, "OUT.html is missing. Usage: %compsil report DATA OUT.html [options]"),
        ("report", True, "OUT.html is missing. Usage: %%compsil report OUT.html [options]"),
        ("df", True, "unexpected argument 'df'. The last line of a %%compsil cell is the data."),
    ],
)
def test_a_line_with_too_few_or_too_many_words_is_told(line, in_cell, told):
    with pytest.raises(UsageError) as error:
        parse_line(line, {}, in_cell=in_cell)
    assert str(error.value) == told


@pytest.mark.parametrize("ks", ["2,kmax", "2, kmax", "2:kmax:3"])
def test_variables_among_the_ks(ks):
    _, _, options = parse_line(f"df --ks {ks}", {"kmax": 5}, in_cell=False)
    assert list(options["ks"]) == [2, 5]


def test_options_are_grouped_by_the_commands_that_take_them():
    shown = make_parser({}).format_help()
    assert shown.count("\noptions:\n") == 1
    assert "\noptions of compare:\n" in shown
    assert "-o NAME, --output NAME" in shown


def test_names_that_ipython_defines_are_not_the_users():
    assert user_names(["In", "Out", "exit", "quit", "open", "get_ipython", "_", "_i1", "df", "i_n"]) == ["df", "i_n"]


def test_the_nearest_spelling():
    assert did_you_mean(["micro", "gpa"], ["micro", "gap"]) == " Did you mean 'gap'?"
    assert did_you_mean(["-b"], ["-B", "--ks"]) == " Did you mean '-B'?"
    assert did_you_mean(["ou", "_idx"], ["Out", "_idy"]) == ""
    assert did_you_mean(["df"], ["df"]) == ""


@pytest.mark.parametrize("line", ["df --n-sub 5", "df --rul lcb", "df --n-subsample 5"])
def test_half_an_option_is_none(line):
    """What is an abbreviation today is ambiguous when the next option comes."""
    with pytest.raises(UsageError, match=r"Did you mean|unrecognized|unknown"):
        parse_line(line, {}, in_cell=False)
