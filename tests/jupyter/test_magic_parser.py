"""How a line is taken apart: as a user would read it."""

import pytest

from compsil_jupyter.magic.parser import did_you_mean, split


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


def test_the_nearest_spelling():
    assert did_you_mean(["micro", "gpa"], ["micro", "gap"]) == " Did you mean 'gap'?"
    assert did_you_mean(["-b"], ["-B", "--ks"]) == " Did you mean '-B'?"
    assert did_you_mean(["ou", "_idx"], ["Out", "_idy"]) == ""
    assert did_you_mean(["df"], ["df"]) == ""
