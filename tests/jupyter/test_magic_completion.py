"""Tab completion of %compsil, through IPython's own completer."""

import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest
from IPython.core.completer import provisionalcompleter

from compsil_jupyter.magic_line import complete as words_after
from compsil_kit._data.scaling import SCALERS
from compsil_kit._method.clusterers import NAMED
from compsil_kit._method.metrics import NAMES


@pytest.fixture
def complete(shell):
    shell.push({"flat": np.arange(4), "dog": 3, "Y": np.eye(3), "words": "text", "kmax": 8})
    shell.push({"odd": pd.DataFrame({2020: [1.0], 'say "x"': [2.0], "back": [3.0]})})

    def run(line):
        with provisionalcompleter():
            found = list(shell.Completer.completions(line, len(line)))
        return line[found[0].start :] if found else "", [each.text for each in found]

    return run


def test_data_and_sub_commands(complete):
    for start in ("%compsil ", "r = %compsil ", "    %compsil ", "%%compsil ", "compsil ", "a, b = %compsil "):
        assert complete(start)[1] == ["X", "Y", "df", "odd", "select", "compare", "explore", "report"]
    assert complete("%compsil co")[1] == ["compare"]
    # Another variable may lead to data, so it comes too, behind the data.
    assert complete("%compsil d")[1] == ["df", "dog"]
    # IPython's own variables, such as exit, are hidden.
    assert complete("%compsil e")[1] == ["explore"]
    assert complete("%compsil compare ")[1] == ["X", "Y", "df", "odd"]
    assert complete("%compsil --ks 2:4 o")[1] == ["odd"]


def test_python_completes_inside_expressions(complete):
    assert [word.lstrip(".") for word in complete("%compsil df.colu")[1]] == ["columns"]
    assert complete("%compsil df[df.a > d")[0] == "d"
    assert "dog" in complete("%compsil df[df.a > d")[1]


def test_options(complete):
    assert complete("%compsil df --cl") == ("--cl", ["--clusterer"])
    assert complete("%compsil df --n")[1] == ["--n-subsamples", "--n-starts", "--n-calibration", "--n-jobs"]
    assert complete("%compsil compare df --n")[1] == ["--n-subsamples", "--n-jobs", "--n-repeats", "--n-references"]
    assert complete("%compsil report df out.html --com")[1] == ["--compare"]
    assert "--compare" not in complete("%compsil df --com")[1]
    left = complete("%compsil df --ks 2:4 -B 3 ")[1]
    assert "--clusterer" in left
    assert "--ks" not in left
    assert "--n-subsamples" not in left


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("--clusterer", list(NAMED)),
        ("--scale", ["auto", *SCALERS, "none"]),
        ("--rule", ["max", "lcb"]),
        ("--transform", ["tanh", "linear", "sigmoid", "step"]),
        ("--metric", list(NAMES)),
        ("--missing", ["raise", "drop"]),
        ("--on-failure", ["raise", "skip"]),
        ("--sample-size", ["auto", "paper"]),
    ],
)
def test_values(complete, option, words):
    assert complete(f"%compsil df {option} ")[1] == words
    assert complete(f"%compsil df {option}=")[1] == words
    start = words[0][:3]
    assert complete(f"%compsil df {option} {start}") == (start, [word for word in words if word.startswith(start)])


def test_variables_as_values(complete):
    assert complete("%compsil df --ks 2:k") == ("k", ["kmax"])
    assert complete("%compsil df -B k")[1] == ["kmax"]
    assert complete("%compsil df --clusterer k")[1] == ["kmeans", "kmedoids", "kmax"]
    assert complete("%compsil compare df --criteria micro,g")[1] == ["gap"]


def test_columns_of_the_data(complete):
    assert complete("%compsil df --columns ")[1] == ["a", "b", '"net income, EUR"', "city"]
    assert complete("%compsil compare df[df.a > 1] --ks 2:3 --columns a,") == ("", ["b", '"net income, EUR"', "city"])
    assert complete("%compsil df --columns a,n") == ("n", ['"net income, EUR"'])
    assert complete('%compsil df --columns a,"net inc') == ('"net inc', ['"net income, EUR"'])
    assert complete('%compsil df --columns a,"net ') == ('"net ', ['"net income, EUR"'])
    assert complete("%compsil odd --columns ")[1] == ["2020", "'say \"x\"'", "back"]
    assert complete("%compsil X --columns ")[1] == ["0", "1"]
    assert "a" not in complete("%compsil no_such --columns ")[1]


def test_columns_of_other_tables(shell, complete):
    shell.push({"p": polars.DataFrame({"left": [1.0], "right": [2.0]}), "q": pyarrow.table({"left": [1.0]})})
    assert complete("%compsil p --columns ")[1] == ["left", "right"]
    assert complete("%compsil q --columns ")[1] == ["left"]
    assert {"p", "q"} <= set(complete("%compsil ")[1])


def test_what_is_completed_can_be_run(shell, complete):
    (word,) = complete('%compsil df --columns "net')[1]
    done = shell.run_cell(f"%compsil df --columns {word}")
    assert done.result.preparation.columns == ("net income, EUR",)


def test_other_lines_are_left_alone(shell, complete):
    assert "df" in complete("d")[1]
    assert "select" not in complete("print(")[1]
    # A variable of that name is no magic.
    shell.push({"compsil": 1})
    assert "explore" not in complete("compsil ")[1]
    del shell.user_ns["compsil"]
    shell.automagic = False
    assert "explore" not in complete("compsil ")[1]
    assert "explore" in complete("%compsil ")[1]


def test_what_is_no_table_has_no_columns():
    for value in (3, "text", None, np.arange(4)):
        assert words_after("dog --columns ", {"dog": value}) == ("", [])
    assert words_after("dog --columns ", {"dog": np.eye(2)}) == ("", ["0", "1"])
    assert words_after("'dog[:5]' --columns ", {"dog": np.eye(2)}) == ("", ["0", "1"])
    assert words_after("5 --columns ", {"dog": np.eye(2)}) == ("", [])
