"""A plan of as many subsamples as it takes, cut to those there were."""

from compsil_kit._method.plan import Plan
from compsil_kit._result.trials import Failure, Trial
from compsil_kit._result.trimming import trimmed

PLAN = Plan(100, 2, (2, 3), 5, 2, 50, tuple(range(10, 17)), "kmeans", "euclidean", "float64", adaptive="composite")


def test_seeds_and_numbers_move_up():
    trials = [
        Trial(5, (0.1, 0.2), (0.3, 0.4)),
        Trial(0, (0.5, 0.6), (0.7, 0.8)),
        Trial(1, (0.5, 0.6), (0.7, 0.8), (Failure(2, 1, 11, "no"),)),
        Trial(6, (0.1, 0.2), (0.3, 0.4), (Failure(3, 6, 16, "no"),)),
    ]
    plan, kept = trimmed(PLAN, trials)
    assert (plan.n_subsamples, plan.n_calibration, plan.seeds) == (2, 2, (10, 11, 15, 16))
    assert plan.adaptive == "composite"
    assert [trial.index for trial in kept] == [2, 0, 1, 3]
    assert [failure.subsample for trial in kept for failure in trial.failures] == [1, 3]
    assert [trial.micro for trial in kept] == [trial.micro for trial in trials]


def test_nothing_is_left_out_where_all_were_needed():
    trials = [Trial(index, (0.1, 0.2), (0.3, 0.4)) for index in range(7)]
    plan, kept = trimmed(PLAN, trials)
    assert plan == PLAN
    assert [trial.index for trial in kept] == list(range(7))
