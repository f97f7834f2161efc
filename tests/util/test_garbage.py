"""The garbage collector rests for a while, and afterwards is as it was."""

import gc

import pytest

from compsil_kit._util.garbage import collector_at_rest


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


def made_at_rest():
    """Return the youngest generation that holds an object which was made while the collector rested."""
    with collector_at_rest():
        made = [object()]
    return next(generation for generation in range(3) if any(each is made for each in gc.get_objects(generation)))


def test_what_was_made_meanwhile_is_old():
    assert made_at_rest() == 2
    assert gc.get_freeze_count() == 0


def test_what_somebody_has_frozen_stays_so():
    gc.freeze()
    try:
        before = gc.get_freeze_count()
        assert made_at_rest() == 0
        # Some of them may have ended meanwhile.
        assert gc.get_freeze_count() > before // 2
    finally:
        gc.unfreeze()
