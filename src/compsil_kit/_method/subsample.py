"""Draw seeds and subsamples (method, "Subsamples and seeds"); an integer seed determines each subsample."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compsil_kit._util.checks import check_integer, describe, is_integer

# Minimum number of rows per cluster when the size is chosen automatically.
POINTS_PER_CLUSTER = 30
# Fraction of the rows to draw, by upper limit for the number of rows (method, "Subsample size").
FRACTIONS = ((2_000, 0.8), (20_000, 0.6), (math.inf, 0.4))
# Limit for the automatic size. The time grows with the square of the size, but more rows hardly change the choice.
MAX_AUTO_SIZE = 20_000
# Seeds of RandomState are below this limit.
SEED_LIMIT = 2**32
# Independent streams of seeds; the scored subsamples use stream 0.
CALIBRATION_STREAM, REPEAT_STREAM, REFERENCE_STREAM, STRUCTURE_STREAM, COMMON_STREAM = 1, 2, 3, 4, 5
# Ways to draw rows; part of fingerprints, because the rows drawn with a seed depend on it.
SHUFFLE, ONE_BY_ONE = 1, 2
# Up to this many rows, the draw is the same as in the authors' package.
MAX_SHUFFLED_ROWS = 50_000


def derive_seed(entropy: int, index: int, *, stream: int = 0) -> int:
    """Return the seed for subsample ``index``, which depends only on the arguments; each purpose has its own stream."""
    sequence = np.random.SeedSequence((entropy, index), spawn_key=(stream,) if stream else ())
    return int(sequence.generate_state(1)[0])


def make_seeds(random_state: Any, n_subsamples: int, n_calibration: int) -> tuple[int, ...]:
    """Return one seed per subsample, first for the scored subsamples, then for the calibration subsamples."""
    if random_state is None or is_integer(random_state):
        # Random seeds are stored in the plan, so that the run can be repeated.
        entropy = np.random.SeedSequence().generate_state(1)[0] if random_state is None else random_state
        entropy = _check_seed(entropy)
        scored = [derive_seed(entropy, b) for b in range(n_subsamples)]
        return (*scored, *(derive_seed(entropy, b, stream=CALIBRATION_STREAM) for b in range(n_calibration)))
    flat = not isinstance(random_state, np.ndarray) or random_state.ndim == 1
    if not isinstance(random_state, Sequence | np.ndarray) or isinstance(random_state, str | bytes) or not flat:
        raise TypeError(
            "random_state must be an integer, None, or a sequence with one integer per subsample; "
            f"got {describe(random_state)}."
        )
    wanted = n_subsamples + n_calibration
    if len(random_state) != wanted:
        raise ValueError(
            f"random_state must contain one seed per subsample if it is a sequence; {wanted} seeds are needed, "
            f"got {len(random_state)}. Pass as many seeds as subsamples, or a single integer."
        )
    return tuple(_check_seed(seed) for seed in random_state)


def _check_seed(seed: Any) -> int:
    rule = f"random_state must consist of integers from 0 to {SEED_LIMIT - 1}"
    if not is_integer(seed):
        raise TypeError(f"{rule}; got {describe(seed)}.")
    if not 0 <= seed < SEED_LIMIT:
        raise ValueError(f"{rule}; got {describe(int(seed))}.")
    return int(seed)


def subsample_rows(seed: int, n_rows: int, size: int) -> NDArray[np.int64]:
    """Return ``size`` row indices, drawn without replacement, in the order in which they are drawn.

    Up to ``MAX_SHUFFLED_ROWS`` rows, all indices are shuffled, as in ``sklearn.utils.resample(replace=False)`` and thus
    in the authors' package. With more rows, a shuffle would take longer than the subsample itself. Indices are then
    drawn one by one, and repeated indices are redrawn. This gives the same distribution, and the time does not depend
    on the number of rows.
    """
    random = np.random.RandomState(seed)
    if draw_version(n_rows, size) == SHUFFLE:
        rows = np.arange(n_rows)
        random.shuffle(rows)
        return rows[:size]
    drawn = np.empty(0, dtype=np.int64)
    while len(drawn) < size:
        drawn = np.concatenate([drawn, random.randint(n_rows, size=size, dtype=np.int64)])
        _, first = np.unique(drawn, return_index=True)
        drawn = drawn[np.sort(first)]
    return drawn[:size]


def common_rows(n_rows: int, size: int) -> NDArray[np.int64]:
    """Return the rows on which the clusterings of all subsamples are compared; they do not depend on the seed."""
    return subsample_rows(derive_seed(0, 0, stream=COMMON_STREAM), n_rows, size)


def draw_version(n_rows: int, size: int) -> int:
    """Return how to draw ``size`` rows; a shuffle is always efficient for more than half of the rows."""
    return SHUFFLE if n_rows <= MAX_SHUFFLED_ROWS or 2 * size > n_rows else ONE_BY_ONE


def resolve_sample_size(sample_size: str | int | float, n_rows: int, k_max: int) -> int:
    """Return the number of rows in a subsample (method, "Subsample size")."""
    if isinstance(sample_size, str):
        fraction = next(share for limit, share in FRACTIONS if n_rows <= limit)
        most = MAX_AUTO_SIZE if sample_size == "auto" else n_rows
        return min(n_rows, max(POINTS_PER_CLUSTER * k_max, min(most, math.floor(fraction * n_rows))))
    if isinstance(sample_size, float):
        return check_integer("sample_size in rows", math.floor(sample_size * n_rows), minimum=3)
    if sample_size > n_rows:
        raise ValueError(f"sample_size must be at most the number of rows, {n_rows}; got {sample_size}.")
    return sample_size
