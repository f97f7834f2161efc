"""Waiting for what happens, however long a busy machine takes for it; only what never happens ends at a time limit."""

import threading
import time

# Seconds after which a test fails that waits in vain: for one thing to happen, and for a whole notebook to run.
PATIENCE = 180
NOTEBOOK_PATIENCE = 900


def until(condition, what, process=None):
    """Look again until a condition holds, and return what it gave: for files and other things that tell nobody.

    If a process has to bring it about, its end is the end of the waiting.
    """
    deadline = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert process is None or process.poll() is None, f"the process ended before {what}"
        assert time.monotonic() < deadline, f"waited {PATIENCE} s in vain until {what}"
        time.sleep(0.02)
    return found


def threads(name):
    """Return the living threads of that name."""
    return [thread for thread in threading.enumerate() if thread.name == name]


def join(found):
    """Wait for the end of threads."""
    for thread in found:
        thread.join(PATIENCE)
        assert not thread.is_alive(), f"{thread.name} goes on"
