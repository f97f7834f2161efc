"""Tests of the command-line options; invalid options are rejected before any data are read."""

import shlex

import pytest

from compsil_kit.cli.main import COMMANDS, main
from compsil_kit.cli.options import HELP, add_options, make_parser, options_of, report_path, shorten_middle


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
        ("select x.csv --checkpoint missing/kept.json", "missing: the folder for the checkpoint does not exist\n"),
        ("select x.csv --ks two", "argument --ks: must look like 2:10"),
        ("select x.csv --decimal ';'", "argument --decimal: invalid choice: ';'"),
        ("select x.csv --thousands ';'", "argument --thousands: invalid choice: ';'"),
        ("select x.csv -B 0", "argument -B/--n-subsamples: n_subsamples must be"),
        ("select x.csv --metric precomputed", "--metric: invalid choice: 'precomputed'"),
        ("compare x.csv --n-references 1", "--n-references: n_references must be an integer of at least 2; got 1"),
        ("select x.csv --clusterer kmean", "--clusterer: unknown value 'kmean'. Did you mean 'kmeans'?"),
        ("compare x.csv --criteria micro,gpa", "unknown value 'micro,gpa'. Did you mean 'gap'?"),
        ("select x.csv --rule ' lbc '", "--rule: unknown value ' lbc '. Did you mean 'lcb'?"),
        # Valid names get no suggestion.
        ("compare x.csv --criteria luck", "--criteria: criteria must be among composite, micro, macro"),
        ("compare x.csv --criteria 'micro, luck'", "--criteria: criteria must be among composite, micro"),
    ],
)
def test_invalid_options_raise_usage_errors(line, message, capsys):
    with pytest.raises(SystemExit) as end:
        main(shlex.split(line))
    assert end.value.code == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.startswith("compsil-kit: error: ")
    assert err.endswith(" --help'.\n")


def test_help_and_version_exit_with_status_0(capsys):
    for words in (["--help"], *([name, "--help"] for name in COMMANDS), ["--version"]):
        with pytest.raises(SystemExit) as exit_:
            main(words)
        assert exit_.value.code == 0
        out = capsys.readouterr().out
        assert "compsil-kit" in out
        assert ("Exit status: 0 success, 1 failure" in out) is (words[0] in COMMANDS)
        if words[0] in COMMANDS:
            assert f"\n{HELP[words[0]][0].upper()}{HELP[words[0]][1:]}.\n" in out


CSV = "columns scale missing exclude sep decimal thousands encoding header na_values"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("select", {"data": f"data {CSV}", "choice": "criterion transform rule z", "output": "quiet json plot"}),
        (
            "compare",
            {"data": f"data {CSV}", "criteria": "criteria n_repeats n_references", "output": "quiet json plot"},
        ),
        ("report", {"data": f"data out {CSV}", "choice": "criterion transform rule z", "output": "compare quiet json"}),
        ("demo", {"output": "quiet json plot"}),
        ("warmup", {}),
    ],
)
def test_help_lists_options_in_groups(command, expected):
    choices = next(action.choices for action in make_parser(COMMANDS)._actions if action.choices)
    groups = {group.title: group._group_actions for group in choices[command]._action_groups}
    found = {title: " ".join(action.dest for action in actions) for title, actions in groups.items() if actions}
    # The remaining options are the method settings.
    assert found.pop("method", "").startswith("ks clusterer ") is ("data" in expected)
    assert found == {"options": "help", **expected}


def test_add_options_passes_settings_to_the_parser():
    seen = {}
    for parse in ((), (lambda *words: words,)):
        add_options(
            lambda *flags, dest, **keywords: seen.setdefault(dest, []).append((flags, keywords)),
            options_of("select"),
            *parse,
        )
    metric = seen["metric"][0][1]["help"]
    assert ": braycurtis, " in metric
    assert ", yule (default: euclidean)" in metric
    assert "precomputed" not in metric
    assert "kmedoids" not in seen["clusterer"][0][1]["help"]
    assert seen["n_subsamples"][0][0] == ("-B", "--n-subsamples")
    assert seen["rule"][0][1]["metavar"] == "{max,lcb}"
    assert seen["n_jobs"][0][1]["default"] == "auto"
    # A parse function is called with the option name, and the option has no default.
    assert seen["rule"][1][1]["type"]("best") == ("rule", "best")
    assert "default" not in seen["rule"][1][1]


def test_a_long_message_is_shortened_in_the_middle():
    assert shorten_middle("x" * 500) == "x" * 500
    assert shorten_middle("a" * 250 + "b" * 51 + "c" * 200) == "a" * 250 + " ... " + "c" * 200


def test_report_path_requires_an_html_file_and_creates_its_folder(tmp_path):
    for name in ("a.html", "b.HTM", "new/folder/c.html"):
        assert report_path(str(tmp_path / name)) == tmp_path / name
    assert (tmp_path / "new" / "folder").is_dir()
    for name in ("a.pdf", "html", "a.html.txt"):
        with pytest.raises(ValueError, match=r"OUT must end in \.html; got "):
            report_path(tmp_path / "other" / name)
    assert not (tmp_path / "other").exists()
