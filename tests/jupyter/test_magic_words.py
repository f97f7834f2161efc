"""How a line is split: as a user would read it."""

import pytest

from compsil_jupyter.magic.words import is_quoted, scan, split_commas, unquote


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
        ("df # all of it", ["df", ""]),
        ("df['#'] #", ["df['#']", ""]),
        ("df ", ["df", ""]),
        ("", [""]),
    ],
)
def test_words(line, words):
    assert scan(line) == (words, "")


@pytest.mark.parametrize(
    ("line", "last", "missing"),
    [("df[a", "df[a", "]"), ("f((a)", "f((a)", ")"), ("x 'net inc", "'net inc", "'"), ('df["a b', 'df["a b', '"')],
)
def test_what_is_missing(line, last, missing):
    words, found = scan(line)
    assert (words[-1], found) == (last, missing)


def test_quotes():
    assert is_quoted("'a b'")
    assert not is_quoted("'a' + 'b'")
    assert unquote('"net income"') == "net income"
    assert unquote(r"'it\'s'") == "it's"
    assert unquote(r'"C:\new.html"') == r"C:\new.html"
    assert unquote("plain") == "plain"


def test_commas():
    assert split_commas("""a,"x, y",'z'""") == ["a", '"x, y"', "'z'"]
    assert split_commas("a,") == ["a", ""]
