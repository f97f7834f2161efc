"""The options of the command line: wrong ones are told before any data are read."""

import shlex

import pytest

from compsil_kit.cli.main import COMMANDS, main
from compsil_kit.cli.options import HELP, add_options, make_parser, options_of, report_path, shorten_middle


CRITERIA = "--criteria: criteria must be among composite, micro, macro"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "the following arguments are required: COMMAND"),
        ("choose", "invalid choice: 'choose'"),
        ("select", "the following arguments are required: FILE"),
        ("compare", "the following arguments are required: FILE"),
        ("report x.csv", "the following arguments are required: OUT.html"),
        ("compare x.csv --rule max", "unrecognized arguments: --rule max"),
        ("compare x.csv --checkpoint x.json", "unrecognized arguments: --checkpoint x.json"),
        ("report x.csv out.html --plot x.png", "unrecognized arguments: --plot x.png"),
        ("select x.csv --checkpoint missing/kept.json", "missing: no such folder for the checkpoint\n"),
        ("select x.csv --ks two", "argument --ks: must look like 2:10"),
        ("select x.csv -B 0", "argument -B/--n-subsamples: n_subsamples must be"),
        ("select x.csv --metric precomputed", "--metric: invalid choice: 'precomputed'"),
        ("compare x.csv --n-references 1", "--n-references: n_references must be an integer of at least 2; got 1"),
        ("select x.csv --clusterer kmean", "--clusterer: unknown value 'kmean'. Did you mean 'kmeans'?"),
        ("compare x.csv --criteria micro,gpa", "unknown value 'micro,gpa'. Did you mean 'gap'?"),
        ("select x.csv --rule ' lbc '", "--rule: unknown value ' lbc '. Did you mean 'lcb'?"),
        # Known words get no suggestion.
        ("compare x.csv --criteria luck", CRITERIA),
        ("compare x.csv --criteria 'micro, luck'", CRITERIA),
    ],
)
def test_usage_errors(line, message, capsys):
    with pytest.raises(SystemExit) as end:
        main(shlex.split(line))
    assert end.value.code == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.startswith("compsil-kit: error: ")
    assert err.endswith(" --help'.\n")


def test_help_and_version(capsys):
    for words in (["--help"], *([name, "--help"] for name in COMMANDS), ["--version"]):
        with pytest.raises(SystemExit) as exit_:
            main(words)
        assert exit_.value.code == 0
        out = capsys.readouterr().out
        assert "compsil-kit" in out
        assert ("Exit codes: 0 success, 1 the selection failed" in out) is (words[0] in COMMANDS)
        if words[0] in COMMANDS:
            assert f"\n{HELP[words[0]][0].upper()}{HELP[words[0]][1:]}.\n" in out


@pytest.mark.parametrize(
    ("command", "titles", "options"),
    [
        ("select", ["data", "method", "choice", "output"], ["-q", "--quiet", "--plot", "--exclude", "--no-header"]),
        ("compare", ["data", "method", "criteria", "output"], ["--n-references", "--plot", "--quiet"]),
        ("report", ["data", "method", "choice", "output"], ["out", "--compare", "--json"]),
        ("demo", ["output"], ["--quiet", "--plot", "--json"]),
        ("warmup", [], []),
    ],
)
def test_options_stand_under_their_titles(command, titles, options):
    (choices,) = (
        action for action in make_parser(COMMANDS)._actions if action.dest == "==SUPPRESS==" or action.choices
    )
    parser = choices.choices[command]
    groups = {group.title: group._group_actions for group in parser._action_groups if group._group_actions}
    assert [title for title in groups if title not in ("options", "positional arguments")] == titles
    known = {
        word for actions in groups.values() for action in actions for word in (action.dest, *action.option_strings)
    }
    assert set(options) <= known
    assert ("--plot" in known) is (command in ("select", "compare", "demo"))
    assert ("out" in known) is ("--compare" in known) is (command == "report")
    if "output" in groups:
        assert {action.dest for action in groups["output"]} == {"quiet", "json"} | (
            {"compare"} if command == "report" else {"plot"}
        )


def test_an_option_says_what_may_be_written():
    options, seen = options_of("select"), {}
    add_options(lambda *flags, **told: seen.update({told["dest"]: (flags, told)}), options)
    assert seen["n_subsamples"][0] == ("-B", "--n-subsamples")
    assert ": braycurtis, " in seen["metric"][1]["help"]
    assert ", yule (default: euclidean)" in seen["metric"][1]["help"]
    assert "precomputed" not in seen["metric"][1]["help"]
    assert "kmedoids" not in seen["clusterer"][1]["help"]
    assert seen["rule"][1]["metavar"] == "{max,lcb}"
    assert seen["n_jobs"][1]["default"] == "auto"
    # With a reader of its own an option has no default, and its reader is told which it is.
    add_options(lambda *flags, **told: seen.update({told["dest"]: (flags, told)}), options, lambda *words: words)
    assert seen["rule"][1]["type"]("best") == ("rule", "best")
    assert "default" not in seen["rule"][1]


def test_a_long_message_keeps_its_beginning_and_its_end():
    assert shorten_middle("short") == "short"
    long = shorten_middle("--plot must be " + "x" * 2000 + ". Do this.")
    assert len(long) < 500
    assert long.startswith("--plot must be x")
    assert long.endswith("x. Do this.")
    assert shorten_middle("x" * 500) == "x" * 500
    assert shorten_middle("a" * 250 + "b" * 51 + "c" * 200) == "a" * 250 + " ... " + "c" * 200


def test_a_report_is_a_page_and_its_folder_is_made(tmp_path):
    for name in ("a.html", "b.HTM", "new/folder/c.html"):
        assert report_path(str(tmp_path / name)) == tmp_path / name
    assert (tmp_path / "new" / "folder").is_dir()
    for name in ("a.pdf", "html", "a.html.txt"):
        with pytest.raises(ValueError, match=r"OUT must name a \.html file; got "):
            report_path(tmp_path / "other" / name)
    assert not (tmp_path / "other").exists()
