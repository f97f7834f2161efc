"""Python's garbage collector, held back while very many objects are made that stay."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_at_rest() -> Iterator[None]:
    """Hold the collector back; loading numba takes half the time without it.

    Numba makes hundreds of thousands of objects when it is loaded. Again and again the collector would look through
    them, and through those of all other libraries, in vain. It is turned on again only where it was on, so that threads
    may overlap. What was made meanwhile goes to the old objects, which are looked through seldom.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            # Somebody who has frozen objects, for processes to share, wants them to stay so.
            if not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()
            gc.enable()
