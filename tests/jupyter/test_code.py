"""The code that the explorer writes, executed: it gives the result shown and assigns to no name of the data."""

import ast

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sessions import KS, QUICK, Gate, finish, settings
from sklearn.cluster import KMeans
from waiting import PATIENCE

import compsil_pandas  # noqa: F401  (the code uses the accessor)
from compsil_jupyter.clusterings import MAX_ROWS
from compsil_jupyter.code import _literal, generate_code
from compsil_jupyter.session import Session


@pytest.fixture
def frame(blobs):
    return pd.DataFrame(blobs, columns=["a", "b", "c"])


@pytest.fixture
def session(frame):
    opened = Session(frame, QUICK)
    yield opened
    opened.close()
    opened.wait(PATIENCE)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("Ærø", '"Ærø"'),
        (["a", 2, None], '["a", 2, None]'),
        (np.mean, "mean"),
        (lambda X: X, "metric"),
        (KMeans(3, n_init=2), "KMeans(n_clusters=3, n_init=2)"),
        (0.5, "0.5"),
    ],
    ids=["text", "list", "function", "lambda", "estimator", "number"],
)
def test_values_as_python_writes_them(value, written):
    assert _literal(value, "metric") == written


def test_the_lines_before_the_selection(frame):
    session = Session(frame, settings(metric=lambda a, b: 0.0, n_subsamples=3))
    lines = generate_code(session, "df").splitlines()
    session.close()
    assert lines[:3] == [
        "import compsil_pandas  # adds the accessor df.compsil",
        "",
        "# metric is the function passed to the explorer.",
    ]
    assert lines[3].startswith("result = df.compsil.select_k(")


def execute(lines, **names):
    """Run generated code as a user would, and return what it leaves behind."""
    space = dict(names)
    exec(compile(lines, "generated", "exec"), space)  # the point of the test
    return space


def assigned(lines):
    """Return the names that generated code assigns to."""
    targets = [target for node in ast.walk(ast.parse(lines)) if isinstance(node, ast.Assign) for target in node.targets]
    return {target.id for target in targets}


class TestCode:
    @pytest.mark.parametrize("scale", ["standard", None])
    def test_of_a_frame_gives_the_same(self, frame, scale, capsys):
        session = Session(
            frame, settings(columns=["a", "c"], scale=scale, ks=(2, 3, 4), n_subsamples=5, random_state=3)
        )
        finish(session)
        session.read(rule="lcb", z=1.5, transform="linear")
        space = execute(generate_code(session, "df", k=3), df=frame)
        np.testing.assert_array_equal(space["result"].composite, session.result.composite)
        np.testing.assert_array_equal(space["result"].lcb, session.result.lcb)
        session.clusterings.prioritise(3)
        session.clusterings.wait(PATIENCE)
        np.testing.assert_array_equal(space["labels"].to_numpy(), session.clusterings.get(3).labels)
        assert "k = " in capsys.readouterr().out

    @pytest.mark.parametrize("given", [
        settings(ks=(2, 4, 6), n_subsamples=4),
        settings(scale="robust", columns=[0, 2], ks=(2, 3), n_subsamples=4, clusterer="gmm", metric="manhattan"),
        settings(ks=(2, 3), n_subsamples=3, random_state=(5, 9, 2**32 - 1), sample_size=0.5),
        settings(ks=(2, 3), n_subsamples=3, n_calibration=2, on_failure="skip", n_jobs=2),
    ])  # fmt: skip
    def test_of_an_array_gives_the_same(self, blobs, given):
        session = Session(blobs, given)
        finish(session)
        space = execute(generate_code(session, "X", k=2), X=blobs)
        np.testing.assert_array_equal(space["result"].composite, session.result.composite)

    def test_of_a_sparse_matrix(self, blobs):
        X = sparse.csr_matrix(np.maximum(blobs, 0))
        session = Session(X, QUICK)
        finish(session)
        session.compare()
        session.wait(PATIENCE)
        space = execute(generate_code(session, "X", k=3), X=X)
        np.testing.assert_array_equal(space["result"].composite, session.result.composite)
        assert space["comparison"].choices == session.comparison.choices

    def test_of_polars(self, frame):
        import polars as pl

        data = pl.DataFrame({name: frame[name].to_numpy() for name in frame})
        session = Session(data, QUICK)
        finish(session)
        space = execute(generate_code(session, "data"), data=data)
        np.testing.assert_array_equal(space["result"].composite, session.result.composite)

    def test_of_one_column(self, frame):
        session = Session(frame["a"], QUICK)
        finish(session)
        space = execute(generate_code(session, "s"), s=frame["a"])
        np.testing.assert_array_equal(space["result"].composite, session.result.composite)

    def test_of_an_estimator_imports_it(self, frame):
        session = Session(frame, settings(ks=(2, 3), n_subsamples=3, clusterer=KMeans(n_init=2)))
        finish(session)
        lines = generate_code(session, "df")
        assert "from sklearn.cluster import KMeans" in lines
        np.testing.assert_array_equal(execute(lines, df=frame)["result"].composite, session.result.composite)

    def test_of_the_first_subsamples(self, session, frame):
        finish(session)
        session.read(first=4)
        space = execute(generate_code(session, "df"), df=frame)
        np.testing.assert_array_equal(space["result"].composite, session.result.composite)

    @pytest.mark.parametrize(("fewer", "told"), [(1, True), (0, False)])
    def test_all_subsamples_are_not_called_the_first(self, session, fewer, told):
        finish(session)
        session.read(first=session.n_finished - fewer)
        assert ("reweigh" in generate_code(session, "df")) is told

    def test_says_that_a_run_is_not_finished(self, frame):
        gate = Gate(after=2 * len(KS))
        session = Session(frame, settings(ks=KS, n_subsamples=6, clusterer=gate))
        session.start()
        assert gate.reached.wait(PATIENCE)
        session.stop()
        gate.go.set()
        session.wait(PATIENCE)
        assert "# The explorer shows 2 of these 6 subsamples." in generate_code(session, "df")

    def test_awkward_column_names(self, frame):
        named = frame.set_axis(['say "hi"', "naïve\\path", ("two", "levels")], axis=1)
        session = Session(named, settings(columns=list(named.columns[:2]), ks=(2, 3), n_subsamples=2))
        finish(session)
        space = execute(generate_code(session, "df"), df=named)
        np.testing.assert_array_equal(space["result"].composite, session.result.composite)

    def test_of_data_without_a_name_says_where_to_put_it(self, session, frame):
        finish(session)
        lines = generate_code(session, None, k=3)
        assert "# Replace 'data' by the data passed to the explorer." in lines
        assert assigned(lines) == {"result", "labels"}
        np.testing.assert_array_equal(execute(lines, data=frame)["result"].composite, session.result.composite)

    @pytest.mark.parametrize("expression", ["df[df.a > 0]", 'df.query("a > 0")', "df if len(df) else df", "$part"])
    def test_keeps_the_expression_of_the_data(self, frame, expression):
        data = frame if expression == "df if len(df) else df" else frame[frame.a > 0]
        session = Session(data, QUICK, expression=expression)
        finish(session)
        lines = generate_code(session, expression)
        if expression == "$part":
            assert "Replace 'data'" in lines
            lines = lines.replace(" data.", " df[df.a > 0].")
        else:
            assert expression in lines
        space = execute(lines, df=frame)
        np.testing.assert_array_equal(space["result"].composite, session.result.composite)
        assert space["df"] is frame

    @pytest.mark.parametrize("name", ["result", "labels", "comparison"])
    def test_assigns_to_no_name_of_the_data(self, session, frame, name):
        finish(session)
        session.compare()
        session.wait(PATIENCE)
        lines = generate_code(session, name, k=3)
        assert name not in assigned(lines)
        space = execute(lines, **{name: frame})
        assert space[name] is frame
        assert f"{name}_" in space

    def test_writes_what_differs_from_the_defaults(self, frame):
        session = Session(frame, settings(scale="standard"))
        assert generate_code(session, "df").splitlines()[-2] == "result = df.compsil.select_k()"
        session.change(n_subsamples=50, clusterer="gmm")
        session.read(z=2.0)
        assert 'select_k(clusterer="gmm", n_subsamples=50)' in generate_code(session, "df")
        session.read(rule="lcb")
        assert 'select_k(clusterer="gmm", n_subsamples=50, rule="lcb", z=2.0)' in generate_code(session, "df")

    def test_writes_criterion_and_starts(self, frame):
        session = Session(frame, settings(scale="standard"))
        session.read(criterion="stable")
        assert 'select_k(criterion="stable")' in generate_code(session, "df")
        session.change(n_starts=3)
        assert 'select_k(n_starts=3, criterion="stable")' in generate_code(session, "df")

    def test_after_another_criterion_gives_the_same(self, session, frame):
        session.read(criterion="stable")
        finish(session)
        assert "n_starts" not in generate_code(session, "df")
        session.read(criterion="composite")
        lines = generate_code(session, "df", k=3)
        assert lines.count("n_starts=5") == 1
        space = execute(lines, df=frame)
        np.testing.assert_array_equal(space["result"].confidence, session.result.confidence)
        np.testing.assert_array_equal(space["result"].scores, session.result.scores)

    def test_of_one_start_under_a_criterion_of_several(self, session, frame):
        finish(session)
        session.read(criterion="likely")
        space = execute(generate_code(session, "df"), df=frame)
        assert space["result"].plan.n_starts == 1
        np.testing.assert_array_equal(space["result"].scores, session.result.scores)

    def test_of_random_seeds_has_the_seeds_that_were_drawn(self, frame):
        session = Session(frame, settings(ks=(2, 3), n_subsamples=3, random_state=None))
        finish(session)
        space = execute(generate_code(session, "df", k=2), df=frame)
        np.testing.assert_array_equal(space["result"].composite, session.result.composite)

    @pytest.mark.parametrize("seed", [7, None])
    def test_of_as_many_subsamples_as_it_takes(self, frame, seed):
        session = Session(frame, settings(ks=(2, 3, 4), n_subsamples="auto", random_state=seed))
        result = finish(session)
        found = execute(generate_code(session, "df"), df=frame)
        assert found["result"].n_subsamples == result.n_subsamples
        np.testing.assert_allclose(found["result"].best_score, result.best_score, rtol=0, atol=1e-12)
        session.compare()
        session.wait(PATIENCE)
        assert execute(generate_code(session, "df"), df=frame)["comparison"].plan.n_subsamples == result.n_subsamples

    def test_of_a_function_without_a_name(self, frame):
        nameless = lambda X, k, seed: KMeans(k, n_init=1, random_state=seed).fit_predict(X)  # noqa: E731
        session = Session(frame, settings(ks=(2, 3), n_subsamples=2, clusterer=nameless))
        finish(session)
        lines = generate_code(session, "df")
        assert "# clusterer is the function passed to the explorer." in lines
        space = execute(lines, df=frame, clusterer=nameless)
        np.testing.assert_array_equal(space["result"].composite, session.result.composite)

    def test_of_numbers_from_numpy(self, blobs):
        names = [np.int64(7), np.int64(8), np.int64(9)]
        given = settings(columns=names[:2], ks=(2, 3), n_subsamples=np.int64(2), random_state=np.int64(3))
        frame = pd.DataFrame(blobs, columns=names)
        session = Session(frame, given)
        finish(session)
        lines = generate_code(session, "df")
        assert "columns=[7, 8]" in lines
        assert "random_state=3" in lines
        np.testing.assert_array_equal(execute(lines, df=frame)["result"].composite, session.result.composite)

    def test_says_when_a_sample_is_shown(self):
        X = np.random.default_rng(0).normal(size=(MAX_ROWS + 500, 2))
        session = Session(X, settings(ks=(2,), n_subsamples=1, sample_size=200))
        finish(session)
        assert "# All rows; the explorer shows a sample." in generate_code(session, "X", k=2)

    def test_says_that_the_clusters_are_those_shown_where_all_rows_are(self, session):
        assert session.clusterings is None
        assert "# The displayed clusters." in generate_code(session, "df", k=2)
        finish(session)
        assert "# The displayed clusters." in generate_code(session, "df", k=2)
        assert "a sample" not in generate_code(session, "df", k=2)
        assert "clusters" not in generate_code(session, "df")

    def test_is_about_the_result_shown(self, session):
        finish(session)
        session.change(ks=(2, 3))
        assert "ks=range(2, 6)" in generate_code(session, "df")
        assert "ks=[2, 3]" not in generate_code(session, "df")
