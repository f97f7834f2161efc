"""The garbage collector rests for a while, and afterwards is as it was."""

import gc

import pytest

from compsil_kit._util.imports import gc_paused


@pytest.fixture(autouse=True)
def _restored():
    yield
    gc.enable()


def test_it_rests_and_goes_on():
    with gc_paused():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_it_goes_on_after_an_error():
    with pytest.raises(KeyError), gc_paused():
        raise KeyError
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off():
    gc.disable()
    with gc_paused():
        pass
    assert not gc.isenabled()


def test_two_at_once():
    """Whichever ends first turns it on again; it is not left off."""
    one, other = gc_paused(), gc_paused()
    one.__enter__()
    other.__enter__()
    one.__exit__(None, None, None)
    other.__exit__(None, None, None)
    assert gc.isenabled()


def made_at_rest():
    """Return the youngest generation that holds an object which was made while the collector rested."""
    with gc_paused():
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
