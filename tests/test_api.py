"""The three functions: what each computes, and that none computes more."""

import numpy as np
import pytest
from small_runs import SETTINGS, X, split

from compsil_kit import SelectionResult, plan_selection, select_k, stream


def forbidden(X, k, seed):
    raise AssertionError("work was done")


def test_select_k_repeats():
    result = select_k(X, **SETTINGS)
    assert isinstance(result, SelectionResult)
    assert result.best_k == 3
    assert result.to_dict() == select_k(X, **SETTINGS).to_dict()
    assert not np.array_equal(result.micro, select_k(X, **SETTINGS, random_state=43).micro)


def test_every_keyword_reaches_the_result():
    given = {
        "ks": [2, 4], "clusterer": split, "n_subsamples": 3, "sample_size": 0.5, "metric": "manhattan",
        "random_state": 7, "n_calibration": 2, "transform": "step", "rule": "lcb", "z": 2.0,
    }  # fmt: skip
    result = select_k(X, **given)
    plan, seeds = result.plan, plan_selection(X, random_state=7, n_subsamples=3, n_calibration=2).seeds
    assert (plan.ks, plan.clusterer, plan.n_subsamples, plan.sample_size) == ((2, 4), "split", 3, 45)
    assert (plan.metric, plan.n_calibration, plan.seeds) == ("manhattan", 2, seeds)
    assert (result.transform, result.rule, result.z) == ("step", "lcb", 2.0)


def test_plans_and_unused_streams_compute_nothing():
    def named(X, k, seed):
        return split(X, k, seed)

    named.__name__ = "forbidden"
    plan = plan_selection(X, clusterer=forbidden, ks=(2, 3), n_subsamples=4, random_state=3)
    assert (plan.clusterer, plan.n_rows, plan.n_features) == ("forbidden", 90, 2)
    assert plan == select_k(X, clusterer=named, ks=(2, 3), n_subsamples=4, random_state=3).plan
    stream(X, **SETTINGS, clusterer=forbidden).close()


@pytest.mark.parametrize("function", [select_k, stream, plan_selection])
def test_only_the_data_are_positional(function):
    with pytest.raises(TypeError, match="positional"):
        function(X, (2, 3))
