"""Turn discrepancies into weights and composites (method, steps 4 to 7). Subsamples are the last axis of all arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compsil_kit._types import Transform
from compsil_kit._util.checks import describe

Array = NDArray[np.float64]

EPSILON = 1e-12

# Map the normalised discrepancy to the weight of micro, in [0, 1]. The discrepancy lies in [-1, 1] unless its maximum
# was estimated on calibration subsamples, hence the clipping.
TRANSFORMS: dict[str, Callable[[Array], Array]] = {
    "tanh": lambda x: (1.0 + np.tanh(x)) / 2.0,
    "linear": lambda x: (1.0 + np.clip(x, -1.0, 1.0)) / 2.0,
    "sigmoid": lambda x: 1.0 / (1.0 + np.exp(-x)),
    "step": lambda x: np.where(x > 0, 1.0, 0.0),
}


def check_transform(transform: Any) -> Transform:
    """Return a valid transform: a known name, or a function that passes a trial call."""
    if isinstance(transform, str) and transform in TRANSFORMS:
        return transform  # type: ignore[return-value]  # one of the words
    if callable(transform):
        # An unsuitable function fails here, before any clustering.
        _custom(transform, np.linspace(-1.0, 1.0, 6).reshape(2, 3))
        return transform  # type: ignore[no-any-return]
    names = ", ".join(repr(name) for name in TRANSFORMS)
    error = ValueError if isinstance(transform, str) else TypeError
    raise error(
        f"transform must be one of {names}, or a function from normalised discrepancies in [-1, 1] to weights "
        f"in [0, 1]; got {describe(transform)}."
    )


def transform_name(transform: Transform) -> str:
    """Return the name of a transform for display and files."""
    return transform if isinstance(transform, str) else getattr(transform, "__name__", type(transform).__name__)


def largest_discrepancy(micro: Array, macro: Array) -> Array:
    """Return the largest absolute discrepancy over the subsamples (step 5); NaN where all of them failed."""
    return np.fmax.reduce(np.abs(micro - macro), axis=-1, keepdims=True, initial=np.nan)


def weigh(micro: Array, macro: Array, transform: Transform, largest: Array | None = None) -> Array:
    """Return the weight of micro in every subsample (steps 4 to 6), NaN where the clustering failed.

    ``largest`` is the largest discrepancy per k; by default that of these subsamples.
    """
    if largest is None:
        largest = largest_discrepancy(micro, macro)
    normalised = (micro - macro) / (largest + EPSILON)
    weights = TRANSFORMS[transform](normalised) if isinstance(transform, str) else _custom(transform, normalised)
    weights = np.where(largest == 0.0, 0.5, weights)
    return np.where(np.isnan(micro), np.nan, weights)


def _custom(transform: Callable[[Array], Any], normalised: Array) -> Array:
    name = transform_name(transform)
    inputs = np.clip(np.where(np.isfinite(normalised), normalised, 0.0), -1.0, 1.0)
    try:
        weights = np.asarray(transform(inputs), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"transform {name!r} must map an array of discrepancies to an array of weights in [0, 1]: {error}"
        ) from error
    if weights.shape != normalised.shape:
        raise ValueError(
            f"transform {name!r} must return one weight per discrepancy, an array of shape {normalised.shape}; "
            f"got shape {weights.shape}."
        )
    if not np.all((weights >= 0.0) & (weights <= 1.0)):
        raise ValueError(f"transform {name!r} must return weights in [0, 1]; some are outside this range or NaN.")
    return weights


def combine(micro: Array, macro: Array, weights: Array) -> Array:
    """Return the composite of every subsample (step 7)."""
    return weights * micro + (1.0 - weights) * macro
