"""The trials of a selection, in the order of the subsamples."""

from compsil_kit.result.trials import Trial, Trials


def test_trials_are_put_in_order():
    trials = Trials.collect([Trial(2, (0.2,), (0.1,)), Trial(0, (0.5,), (0.4,))], n_ks=1)
    assert trials.subsamples == (0, 2)
    assert trials.micro.tolist() == [[0.5, 0.2]]
