"""Every mistake on a %compsil line gets one line, with the nearest right spelling."""

import pytest
from sklearn.cluster import KMeans

MISTAKES = {
    "%compsil": "which data? For instance: %compsil df --ks 2:10. %compsil? shows all options.",
    "%compsil ;": "which data? For instance: %compsil df --ks 2:10. %compsil? shows all options.",
    "%compsil --ks 2:3": "which data? For instance: %compsil df",
    "%compsil dff": "name 'dff' is not defined. Did you mean 'df'?",
    "%compsil nothing_like_it": "name 'nothing_like_it' is not defined.",
    "%compsil df[df.z > 1]": "the data 'df[df.z > 1]' gives AttributeError: 'DataFrame' object has no attribute 'z'",
    "%compsil df['z']": "the data \"df['z']\" gives KeyError: 'z'",
    "%compsil df[": "a closing ] is missing in: df[",
    "%compsil df['a": "a closing ' is missing in: df['a",
    "%compsil df ks 2:5": "the data must be one Python expression; got 'df ks 2:5'. Did you mean '--ks'?",
    "%compsil df df": "the data must be one Python expression; got 'df df'. %compsil? shows how to say it.",
    "%compsil -df": "unknown option '-df'. Data that starts with a minus needs brackets: (-df).",
    "%compsil df --kss 2:4": "unknown option '--kss'. Did you mean '--ks'?",
    "%compsil df --n_subsamples 4": "unknown option '--n_subsamples'. Did you mean '--n-subsamples'?",
    "%compsil df -b 4": "unknown option '-b'. Did you mean '-B'?",
    "%compsil df --xyzzy": "unknown option '--xyzzy'. %compsil? lists the options.",
    "%compsil df --criteria all": "unknown option '--criteria'. It belongs to %compsil compare, not to select.",
    "%compsil compare df --rule max": "unknown option '--rule'. It belongs to %compsil select, not to compare.",
    "%compsil df --clusterer kmean": "--clusterer: 'kmean' is unknown. Did you mean 'kmeans'?",
    "%compsil df --clusterer estimatr": "--clusterer must be one of kmeans, minibatch-kmeans, bisecting-kmeans, gmm, "
    "agglomerative, spectral, birch, kmedoids, clara, or the name of a variable; got 'estimatr'. "
    "Did you mean 'estimator'?",
    "%compsil df --scale standart": "--scale: 'standart' is unknown. Did you mean 'standard'?",
    "%compsil df --metric euclid": "--metric: 'euclid' is unknown. Did you mean 'euclidean'?",
    "%compsil df --rule min": "--rule must be one of max, lcb, or the name of a variable; got 'min'.",
    "%compsil compare df --criteria mico,gap": "--criteria: 'mico' is unknown. Did you mean 'micro'?",
    "%compsil df --ks 2:kmx": "name 'kmx' is not defined. Did you mean 'kmax'?",
    "%compsil df --ks 2:name": "--ks: 'name' must hold an integer; it holds 'text'.",
    "%compsil df --ks range(2,5)": "--ks: must look like 2:10, 2:20:2 or 2,3,5; got 'range(2,5)'",
    "%compsil df --ks 1:4": "--ks: ks must be an integer of at least 2; got 1.",
    "%compsil df -B many": "--n-subsamples must be an integer, or the name of a variable; got 'many'.",
    "%compsil df -B kmx": "--n-subsamples must be an integer, or the name of a variable; got 'kmx'. "
    "Did you mean 'kmax'?",
    "%compsil df --z wide": "--z must be a number, or the name of a variable; got 'wide'.",
    "%compsil df --sample-size half": "--sample-size must be auto, a number of rows, a fraction such as 0.5, or the "
    "name of a variable; got 'half'.",
    "%compsil df --rule": "--rule: expected one argument",
    "%compsil df -o 1x": "--output: must be a name to store under, such as result; got '1x'.",
    "%compsil df -o class": "--output: must be a name to store under, such as result; got 'class'.",
    "%compsil df --columns a,cty": "columns: 'cty' not in the data, whose columns are a, b, net income, EUR, city. "
    "Did you mean 'city'?",
    "%compsil df --columns city": "columns: 'city' not numeric. Leave out, or encode as numbers first "
    "(pandas.get_dummies turns categories into 0/1 columns).",
    "%compsil df -B 0": "n_subsamples must be an integer of at least 1; got 0.",
    "%compsil df -B name": "n_subsamples must be an integer of at least 1; got 'text'.",
    "%compsil df --ks 2:999": "ks must be smaller than the number of rows, 240; got k=241.",
    "%compsil name": "X must have two dimensions, rows and columns; got a value of type str. Pass an array or a table.",
    "%compsil comapre df": "unknown sub-command 'comapre'. Did you mean 'compare'?",
    "%compsil reprt df out.html --compare": "unknown sub-command 'reprt'. Did you mean 'report'?",
    "%compsil compare": "which data? For instance: %compsil compare df",
    "%compsil explore --ks 2:3": "which data? For instance: %compsil explore df",
    "%compsil report df": "report needs data and a file, such as: %compsil report df out.html",
    "%compsil report df out.txt": "OUT must name a .html file; got 'out.txt'.",
    "%compsil report df file/out.html": "file: File exists",
    "%%compsil\nx = df": "the last line of a %%compsil cell must be the data: an expression, such as df.",
    "%%compsil df\nX": "the data of %%compsil is the last line of the cell; 'df' is too much.",
    "%%compsil report\nX": "report needs a file, such as: %%compsil report out.html",
    "%compsil X --clusterer fails": "clustering into k=2 failed on subsample 0 (seed ",
    "%compsil X --clusterer fails --on-failure skip": "No k of 2..4 can be selected: each failed on more than",
}


@pytest.mark.parametrize("line", MISTAKES, ids=lambda line: line.replace("\n", " / "))
def test_mistakes_get_one_line(shell, tmp_path, capsys, line):
    def fails(X, k, seed):
        raise RuntimeError("out of luck")

    (tmp_path / "file").touch()
    shell.push({"kmax": 4, "name": "text", "fails": fails, "estimator": KMeans()})
    done = shell.run_cell(line)
    output = capsys.readouterr()
    assert type(done.error_in_exec).__name__ == "UsageError"
    assert output.out == ""
    assert output.err.startswith("UsageError: " + MISTAKES[line])
    assert output.err.count("\n") == 1
    if "fails" not in line:
        assert output.err == f"UsageError: {MISTAKES[line]}\n"


def test_a_refused_selection_leaves_variables_and_reports_alone(shell, tmp_path):
    (tmp_path / "out.html").write_text("old")
    shell.push({"kept": "old"})
    shell.run_cell("%compsil report df out.html --ks 2:999 -o kept")
    assert (tmp_path / "out.html").read_text() == "old"
    assert shell.user_ns["kept"] == "old"
