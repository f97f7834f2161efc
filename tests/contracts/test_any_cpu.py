"""Results do not depend on the CPU; they are the same with other BLAS, NumPy and Numba kernels."""

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from numpy._core._multiarray_umath import __cpu_dispatch__ as WIDE
from numpy._core._multiarray_umath import __cpu_features__ as HAS

ANSWERS = Path(__file__).parents[1] / "answers.py"
ROUNDED = ("structures", "selections", "interfaces")
# Kernels with fused multiply-add; with them, scikit-learn decides ties in the same way.
FUSED = {"Haswell": "FMA3", "Zen": "FMA3", "SkylakeX": "AVX512_SKX"}
NARROW = " ".join(name for name in WIDE if HAS[name])
KERNELS = {
    **{f"OpenBLAS {name}": ({"OPENBLAS_CORETYPE": name}, True) for name, needs in FUSED.items() if HAS.get(needs)},
    "narrow NumPy": ({"NPY_DISABLE_CPU_FEATURES": NARROW}, True),
    "one thread": ({"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}, True),
}
if HAS.get("SSE42"):
    # These kernels exist only on x86.
    without_avx512 = " ".join(name for name in NARROW.split() if name != "X86_V3")
    KERNELS |= {
        "OpenBLAS Nehalem": ({"OPENBLAS_CORETYPE": "Nehalem"}, False),
        "NumPy without AVX512": ({"NPY_DISABLE_CPU_FEATURES": without_avx512}, True),
        "numba for an old CPU": ({"NUMBA_CPU_NAME": "nehalem", "NUMBA_CPU_FEATURES": ""}, True),
    }


@cache
def answers(**environment):
    """Return the answers, by part, from a process with these environment variables."""
    command = [sys.executable, ANSWERS, *ROUNDED, "on_grids"]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def differences(first, second):
    return [name for name in first if first[name] != second[name]]


@pytest.mark.parametrize("name", KERNELS)
def test_answers_are_the_same_under_other_kernels(name):
    environment, fused = KERNELS[name]
    here, there = answers(), answers(**environment)
    assert min(len(here[part]) for part in ROUNDED) > 20
    assert [(part, name) for part in ROUNDED for name in differences(here[part], there[part])] == []
    # Without fused multiply-add, scikit-learn's labels, and hence ours, differ for rows equidistant from two centres.
    if fused and os.environ.get("OPENBLAS_CORETYPE") != "Nehalem":
        assert differences(here["on_grids"], there["on_grids"]) == []
