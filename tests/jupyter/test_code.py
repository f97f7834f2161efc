"""Generated code reproduces the displayed result when executed, and never assigns to a name used by the data."""

import ast

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sessions import KS, QUICK, Gate, cluster, compare, finish, finished, kmeans, open_session, start
from sklearn.cluster import KMeans
from waiting import PATIENCE

import compsil_pandas  # noqa: F401  (the code uses the accessor)
from compsil_jupyter.code import generate_code
from compsil_jupyter.shown import MAX_ROWS


class OwnKMeans(KMeans):
    """An estimator in a module without package."""


def execute(code, **names):
    """Run generated code as a user would, and return its namespace."""
    exec(compile(code, "generated", "exec"), names)  # executing the code is the test
    return names


def assigned(code):
    """Return the names that generated code assigns to."""
    targets = [target for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Assign) for target in node.targets]
    return {target.id for target in targets}


def check(session, expression="data", k=None, **names):
    """Execute the code generated for a session and compare the results; return the code and its namespace."""
    if session.result is None:
        finish(session)
    code = generate_code(session, expression, k)
    space = execute(code, **{"data": session.data, **names})
    np.testing.assert_array_equal(space["result"].scores, session.result.scores)
    return code, space


@pytest.mark.parametrize("scale", ["standard", None])
def test_code_for_a_frame_reproduces_the_result_and_labels(points, scale, capsys):
    session = open_session(points, columns=["a", "c"], scale=scale, ks=(2, 3, 4), n_subsamples=5, random_state=3)
    session.read(rule="lcb", z=1.5, transform="linear")
    code, space = check(session, k=3)
    assert code.count("random_state=3") == 2
    np.testing.assert_array_equal(space["result"].lcb, session.result.lcb)
    np.testing.assert_array_equal(space["labels"].to_numpy(), cluster(session, 3).labels)
    assert "k = " in capsys.readouterr().out


@pytest.mark.parametrize(
    "settings",
    [
        {"ks": (2, 4, 6)},
        {"scale": "robust", "columns": [0, 2], "clusterer": "gmm", "metric": "manhattan"},
        {"random_state": (5, 9, 7, 2**32 - 1), "sample_size": 0.5},
        {"random_state": None},
        {"n_calibration": 2, "on_failure": "skip", "n_jobs": 2},
        {"n_subsamples": np.int64(2), "random_state": np.int64(3)},
        {"clusterer": KMeans(n_init=2)},
        {"clusterer": OwnKMeans(n_init=2)},
        {"clusterer": kmeans},
    ],
)
def test_code_for_an_array_reproduces_the_result(blobs, settings):
    session = open_session(blobs, **{"ks": (2, 3), "n_subsamples": 4, **settings})
    code, _ = check(session, k=2, kmeans=kmeans)
    assert "np.int64" not in code
    assert "passed to the explorer" not in code


@pytest.mark.parametrize(
    "kind",
    [lambda X: pl.DataFrame(X, schema=["a", "b", "c"]), lambda X: pd.Series(X[:, 0], name="a"),
     lambda X: pd.DataFrame(X, columns=['say "hi"', "naïve\\path", ("two", "levels")])],
    ids=["polars", "series", "unusual names"],
)  # fmt: skip
def test_code_for_other_tables_reproduces_the_result(blobs, kind):
    data = kind(blobs)
    columns = list(data.columns[:2]) if isinstance(data, pd.DataFrame) else None
    code, _ = check(open_session(data, columns=columns, **QUICK))
    assert ("naïve" in code) == (columns is not None)


def test_code_for_a_sparse_matrix_reproduces_the_comparison(blobs):
    session = finished(sparse.csr_matrix(np.maximum(blobs, 0)), **QUICK)
    comparison = compare(session)
    code, space = check(session, k=3)
    assert space["comparison"].choices == comparison.choices
    assert "compsil_pandas" not in code


def test_a_comment_marks_anonymous_functions(points):
    session = open_session(points, ks=(2, 3), n_subsamples=2, clusterer=lambda X, k, seed: kmeans(X, k, seed))
    code, _ = check(session, clusterer=session.settings["clusterer"])
    comment, selection = code.splitlines()[2:4]
    assert comment == "# clusterer is the function passed to the explorer."
    assert selection.startswith("result = data.compsil.select_k(")


@pytest.mark.parametrize("first", [4, 5, 6])
def test_code_uses_only_the_first_subsamples(session, first):
    finish(session)
    session.read(first=first)
    code, _ = check(session)
    assert ("reweigh" in code) == (first < 6)


def test_a_comment_marks_stopped_runs(points):
    gate = Gate(after=2 * len(KS))
    session = open_session(points, **QUICK, clusterer=gate)
    start(session, gate)
    session.stop()
    gate.go.set()
    session.wait(PATIENCE)
    assert "# The explorer shows only 2 of the 6 subsamples." in generate_code(session, "df")


@pytest.mark.parametrize("expression", ["df[df.a > 0]", 'df.query("a > 0")', "df if len(df) else df", None, "$part"])
def test_code_uses_the_data_expression_or_a_placeholder(points, expression):
    data = points if expression == "df if len(df) else df" else points[points.a > 0]
    code, space = check(open_session(data, **QUICK), expression, k=3, df=points)
    known = expression not in (None, "$part")
    assert ("# Replace 'data' with the data passed to the explorer." in code) != known
    assert not known or expression in code
    assert assigned(code) == {"result", "labels"}
    assert space["df"] is points


@pytest.mark.parametrize("name", ["result", "labels", "comparison"])
def test_code_never_assigns_to_a_name_used_by_the_data(session, points, name):
    finish(session)
    compare(session)
    code = generate_code(session, name, k=3)
    assert name not in assigned(code)
    space = execute(code, **{name: points})
    assert space[name] is points
    assert f"{name}_" in space


def test_only_settings_that_differ_from_the_defaults_are_written(points):
    session = open_session(points, scale="standard")
    assert generate_code(session, "df").splitlines()[-2] == "result = df.compsil.select_k()"
    session.change(n_subsamples=50, clusterer="gmm")
    session.read(z=2.0)
    assert 'select_k(clusterer="gmm", n_subsamples=50)' in generate_code(session, "df")
    session.read(rule="lcb")
    assert 'select_k(clusterer="gmm", n_subsamples=50, rule="lcb", z=2.0)' in generate_code(session, "df")
    session.change(n_subsamples=30, clusterer="kmeans", n_starts=3)
    session.read(rule="max", criterion="stable")
    assert 'select_k(n_starts=3, criterion="stable")' in generate_code(session, "df")


def test_code_keeps_n_starts_after_the_criterion_changes(session, points):
    session.read(criterion="stable")
    finish(session)
    assert "n_starts" not in generate_code(session, "df")
    session.read(criterion="composite")
    code, space = check(session, k=3)
    # The cluster method does not accept n_starts.
    assert code.count("n_starts=5") == 1
    np.testing.assert_array_equal(space["result"].confidence, session.result.confidence)


def test_code_keeps_the_single_initialisation_of_the_run(session, points):
    finish(session)
    session.read(criterion="likely")
    _, space = check(session)
    assert space["result"].plan.n_starts == 1


@pytest.mark.parametrize("seed", [7, None])
def test_code_reproduces_an_adaptive_number_of_subsamples(points, seed):
    session = open_session(points[::5], ks=(2, 3), n_subsamples="auto", random_state=seed)
    result = finish(session)
    compare(session)
    space = execute(generate_code(session, "df"), df=points[::5])
    assert space["result"].n_subsamples == result.n_subsamples
    assert space["result"].best_score == pytest.approx(result.best_score, rel=0, abs=1e-12)
    assert space["comparison"].plan.n_subsamples == result.n_subsamples


def test_code_reproduces_the_displayed_result_and_clusters(session):
    assert "# The displayed clusters." in generate_code(session, "df", k=2)
    finish(session)
    assert "# The displayed clusters." in generate_code(session, "df", k=2)
    assert "clusters" not in generate_code(session, "df")
    session.change(ks=(2, 3))
    assert "ks=range(2, 6)" in generate_code(session, "df")
    X = np.random.default_rng(0).normal(size=(MAX_ROWS + 500, 2))
    large = finished(X, ks=(2,), n_subsamples=1, sample_size=200)
    assert "# Cluster all rows; the explorer shows a sample." in generate_code(large, "X", k=2)
