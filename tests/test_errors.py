"""The exceptions: what they are to others, what they say, and what they carry."""

import pickle

import pytest

from compsil_kit import ClusteringError, Interrupted, SelectionError


@pytest.mark.parametrize("kind", [ClusteringError, SelectionError])
def test_failures_are_runtime_errors_that_may_carry_a_result(kind):
    error = kind("no luck")
    assert isinstance(error, RuntimeError)
    assert isinstance(error, ValueError)
    assert error.result is None
    error.result = "finished part"
    assert kind("another").result is None


def test_an_interrupt_is_a_keyboard_interrupt_with_numbers():
    stop = Interrupted(3, 6, "subsamples", "the finished part is in .result.")
    assert isinstance(stop, KeyboardInterrupt)
    assert not isinstance(stop, Exception)
    assert (stop.done, stop.total, stop.unit, stop.result) == (3, 6, "subsamples", None)
    assert stop.summary == "stopped after 3 of 6 subsamples"
    assert str(stop) == "stopped after 3 of 6 subsamples; the finished part is in .result."


def test_an_interrupt_without_a_place_says_how_far_it_got():
    assert str(Interrupted(1, 4, "groups")) == "stopped after 1 of 4 groups"
    assert str(Interrupted()) == "stopped after 0 of 0 subsamples"


def test_failures_travel_between_processes():
    assert str(pickle.loads(pickle.dumps(ClusteringError("k=3 failed")))) == "k=3 failed"
