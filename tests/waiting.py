"""Wait for events with time limits that are long enough for a busy machine."""

import threading
import time

# Seconds after which a test fails: for one event, and for a whole notebook.
PATIENCE = 180
NOTEBOOK_PATIENCE = 900


def until(condition, what, process=None):
    """Poll until a condition holds, and return its value; fail if ``process`` ends first."""
    deadline = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert process is None or process.poll() is None, f"the process ended before {what}"
        assert time.monotonic() < deadline, f"timed out after {PATIENCE} s waiting until {what}"
        time.sleep(0.02)
    return found


def threads(name):
    """Return the running threads with this name."""
    return [thread for thread in threading.enumerate() if thread.name == name]


def join(found):
    """Wait until all threads have ended."""
    for thread in found:
        thread.join(PATIENCE)
        assert not thread.is_alive(), f"{thread.name} is still running"
