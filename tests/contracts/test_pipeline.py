"""Trace real calls to check the path to the kernel and the functions that run once per call."""

from __future__ import annotations

import re
import sys
import threading
import traceback
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from compsil_kit import CompositeSilhouette, compare, select_k
from compsil_kit._method import kernel_numba
from compsil_kit._run import workers

ROOT = Path(__file__).parents[2]
# Enough rows to use the compiled kernel.
X = make_blobs(2500, 3, centers=3, random_state=0)[0]
FEW = {"ks": [2, 3], "n_subsamples": 2}
MAX_HOPS = 7


def name_of(frame):
    return f"{frame.f_globals.get('__name__', '')}.{frame.f_code.co_name}"


def functions_of_package():
    """Return the package's functions on the stack, outermost first."""
    names = [name_of(frame) for frame, _ in traceback.walk_stack(sys._getframe(2))]
    return [name for name in reversed(names) if name.startswith("compsil_kit")]


def trace_kernel(monkeypatch):
    """Return the call path from ``select_k`` to the kernel, including the start of the worker thread."""
    before, paths = [], []

    class Thread(threading.Thread):
        def start(self):
            before.append(functions_of_package())
            super().start()

    kernel = kernel_numba.accumulate_direct

    def watched(*args, **kwargs):
        paths.append([*before[0], *functions_of_package(), f"{kernel.__module__}.{kernel.__name__}"])
        return kernel(*args, **kwargs)

    monkeypatch.setattr(workers, "Thread", Thread)
    monkeypatch.setattr(kernel_numba, "accumulate_direct", watched)
    select_k(X, **FEW)
    assert len({tuple(path) for path in paths}) == 1
    return paths[0]


def test_the_call_path_to_the_kernel_is_short_and_documented(monkeypatch):
    path = trace_kernel(monkeypatch)
    assert path[0] == "compsil_kit.select.select_k"
    assert len(path) - 1 <= MAX_HOPS, path
    page = (ROOT / "docs" / "architecture.md").read_text()
    (written,) = re.findall(r"<!-- traced -->\n```text\n(.*?)```", page, re.DOTALL)
    lines = [f"{at}  {name}" for at, name in enumerate(path)]
    assert written.splitlines() == lines, "docs/architecture.md needs:\n" + "\n".join(lines)


def count_calls(call):
    """Count the calls to the package's functions in all threads, by function name."""
    counts = Counter()

    def profile(frame, event, _):
        if event == "call" and name_of(frame).startswith("compsil_kit"):
            counts[frame.f_code.co_name] += 1

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return counts


@pytest.mark.parametrize(
    "call",
    [
        lambda: select_k(X, **FEW),
        lambda: select_k(X, **FEW, criterion="stable", n_jobs=2),
        lambda: CompositeSilhouette(**FEW).fit(X),
        lambda: compare(X, **FEW, criteria=["composite", "elbow"]),
    ],
    ids=["select_k", "stable", "estimator", "compare"],
)
def test_resolving_opening_and_validating_run_once_per_call(call):
    counts = count_calls(call)
    once = ("resolve_metric", "resolve_clusterer", "open_source", "_check_finite", "make_plan", "load")
    assert {name: counts[name] for name in once} == dict.fromkeys(once, 1)


def test_the_data_are_not_modified():
    data = np.ascontiguousarray(X)
    data.setflags(write=False)
    select_k(data, **FEW)
