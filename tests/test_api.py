"""The three functions: what each computes, and that none computes more."""

import numpy as np
import pytest
from small_runs import SETTINGS, X, same, split

from compsil_kit import Plan, SelectionResult, plan_selection, select_k, stream


def forbidden(X, k, seed):
    raise AssertionError("work was done")


def test_select_k_is_the_last_of_the_stream():
    result = select_k(X, **SETTINGS)
    assert isinstance(result, SelectionResult)
    *_, last = stream(X, **SETTINGS)
    assert same(result, last)
    assert result.best_k == last.best_k == 3


def test_every_keyword_reaches_the_result():
    given = {
        "ks": [2, 4], "clusterer": split, "n_subsamples": 3, "sample_size": 0.5, "metric": "manhattan",
        "random_state": 7, "n_calibration": 2, "transform": "step", "rule": "lcb", "z": 2.0,
    }  # fmt: skip
    result = select_k(X, **given)
    plan = result.plan
    assert (plan.ks, plan.clusterer, plan.n_subsamples, plan.sample_size) == ((2, 4), "split", 3, 45)
    assert (plan.metric, plan.n_calibration, plan.seeds) == (
        "manhattan",
        2,
        plan_selection(X, random_state=7, n_subsamples=3, n_calibration=2).seeds,
    )
    assert (result.transform, result.rule, result.z) == ("step", "lcb", 2.0)


def test_a_plan_is_what_select_k_computes_and_computes_nothing():
    plan = plan_selection(X, clusterer=forbidden, ks=(2, 3), n_subsamples=4, random_state=3)
    assert isinstance(plan, Plan)
    assert (plan.clusterer, plan.n_rows, plan.n_features) == ("forbidden", 90, 2)
    assert plan == select_k(X, clusterer=_named("forbidden"), ks=(2, 3), n_subsamples=4, random_state=3).plan


def _named(name):
    def clusterer(X, k, seed):
        return split(X, k, seed)

    clusterer.__name__ = name
    return clusterer


def test_a_stream_computes_nothing_before_it_is_asked():
    results = stream(X, **SETTINGS, clusterer=forbidden)
    results.close()


def test_the_data_are_positional_and_everything_else_has_a_name():
    with pytest.raises(TypeError, match="positional"):
        select_k(X, (2, 3))
    with pytest.raises(TypeError, match="positional"):
        stream(X, (2, 3))
    with pytest.raises(TypeError, match="positional"):
        plan_selection(X, (2, 3))


@pytest.mark.parametrize(
    ("function", "name", "value"),
    [
        (plan_selection, "checkpoint", None),
        (stream, "progress", False),
    ],
)
def test_a_keyword_without_an_effect_is_refused(function, name, value):
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'"):
        function(X, **SETTINGS, **{name: value})


def test_the_same_call_gives_the_same_result():
    first, second = select_k(X, **SETTINGS), select_k(X, **SETTINGS)
    assert first.to_dict() == second.to_dict()
    assert not np.array_equal(first.micro, select_k(X, **SETTINGS, random_state=43).micro)
