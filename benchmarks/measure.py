"""Alternating timings, and peak memory, for the benchmarks."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

Work = Callable[[], object]


def best_times(tasks: Mapping[str, Work], rounds: int) -> dict[str, float]:
    """Run the tasks alternately for several rounds, and return the best time for each task in seconds.

    Alternating exposes all tasks to the same load on the machine; taking the minimum excludes temporary load.
    """
    best = dict.fromkeys(tasks, float("inf"))
    for _ in range(rounds):
        for name, work in tasks.items():
            start = time.perf_counter()
            work()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def extra_peak_mib(setup: str, work: str) -> float:
    """Return how much the peak resident memory of a new process increases during the work, in MiB."""
    script = f"""
import pathlib
def level(name):
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1024
{setup}
pathlib.Path("/proc/self/clear_refs").write_text("5")
before = level("VmRSS")
{work}
print(level("VmHWM") - before)
"""
    return fresh_process(script, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")


def fresh_process(script: str, **environment: str) -> float:
    """Return the number that a script prints in a new process."""
    run = subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, **environment}, capture_output=True, text=True, check=True
    )
    return float(run.stdout)


def machine() -> str:
    """Return the processor model and the number of cores."""
    model = "unknown processor"
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = cpuinfo.read_text().splitlines()
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), model)
    return f"{model}, {os.cpu_count()} cores"
