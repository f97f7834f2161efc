"""The options of the command line: wrong ones are told before any data are read."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs

from compsil_kit.cli.main import COMMANDS, main
from compsil_kit.cli.options import brief, report_path


@pytest.fixture(scope="module")
def frame():
    X, y = make_blobs(300, 3, centers=3, cluster_std=0.6, random_state=3)
    return pd.DataFrame(X, columns=["a", "b", "c"]).assign(city=np.array(["Rome", "Oslo", "Lima"])[y], flag=y == 1)


@pytest.fixture
def csv(frame, tmp_path):
    path = tmp_path / "data.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["select"],
        ["choose"],
        ["select", "x.csv", "--ks", "two"],
        ["select", "x.csv", "--ks", "1:4"],
        ["select", "x.csv", "--rule", "best"],
        ["select", "x.csv", "-B", "0"],
        ["select", "x.csv", "--sample-size", "1.5"],
        ["select", "x.csv", "--sample-size", "many"],
        ["select", "x.csv", "--z", "-1"],
        ["compare"],
        ["compare", "x.csv", "--rule", "max"],
        ["compare", "x.csv", "--checkpoint", "x.json"],
        ["report", "x.csv"],
        ["report", "x.csv", "out.html", "--plot", "x.png"],
    ],
)
def test_usage_errors_leave_with_2(words, capsys):
    with pytest.raises(SystemExit) as exit_:
        main(words)
    assert exit_.value.code == 2
    assert "--help" in capsys.readouterr().err


def test_help_and_version(capsys):
    for words in (["--help"], *([name, "--help"] for name in COMMANDS), ["--version"]):
        with pytest.raises(SystemExit) as exit_:
            main(words)
        assert exit_.value.code == 0
        assert "compsil-kit" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--criteria", "luck"], "--criteria: criteria must be among composite, micro, macro"),
        (["--n-references", "1"], "--n-references: n_references must be an integer of at least 2; got 1"),
        (["--n-repeats", "0"], "--n-repeats: n_repeats must be an integer of at least 1; got 0"),
    ],
)
def test_mistakes_in_comparing(csv, capsys, words, message):
    with pytest.raises(SystemExit) as end:
        main(["compare", str(csv), *words])
    assert end.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["select", "x.csv", "--clusterer", "kmean"], "--clusterer: unknown value 'kmean'. Did you mean 'kmeans'?"),
        (["compare", "x.csv", "--criteria", "micro,gpa"], "unknown value 'micro,gpa'. Did you mean 'gap'?"),
        (["select", "x.csv", "--metric", "precomputed"], "--metric: invalid choice: 'precomputed'"),
    ],
)
def test_the_nearest_word_is_asked_for(words, message, capsys):
    with pytest.raises(SystemExit):
        main(words)
    assert message in capsys.readouterr().err


def test_a_long_message_keeps_its_beginning_and_its_end():
    assert brief("short") == "short"
    long = brief("--plot must be " + "x" * 2000 + ". Do this.")
    assert len(long) < 500
    assert long.startswith("--plot must be x")
    assert long.endswith("x. Do this.")


def test_a_report_is_a_page_and_its_folder_is_made(tmp_path):
    for name in ("a.html", "b.HTM", "new/folder/c.html"):
        assert report_path(str(tmp_path / name)) == tmp_path / name
    assert (tmp_path / "new" / "folder").is_dir()
    for name in ("a.pdf", "html", "a.html.txt"):
        with pytest.raises(ValueError, match=r"OUT must name a \.html file; got "):
            report_path(tmp_path / "other" / name)
    assert not (tmp_path / "other").exists()
