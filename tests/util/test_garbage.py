"""The garbage collector rests for a while, and afterwards is as it was."""

import gc

import pytest

from compsil_kit.util.garbage import collector_at_rest


@pytest.fixture(autouse=True)
def _restored():
    yield
    gc.enable()


def test_it_rests_and_goes_on():
    with collector_at_rest():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_it_goes_on_after_an_error():
    with pytest.raises(KeyError), collector_at_rest():
        raise KeyError
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off():
    gc.disable()
    with collector_at_rest():
        pass
    assert not gc.isenabled()


def test_two_at_once():
    """Whichever ends first turns it on again; it is not left off."""
    one, other = collector_at_rest(), collector_at_rest()
    one.__enter__()
    other.__enter__()
    one.__exit__(None, None, None)
    other.__exit__(None, None, None)
    assert gc.isenabled()
