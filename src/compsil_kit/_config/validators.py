"""Validate single settings. Every error names the setting, the rule, the value and the fix."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any, get_args

import numpy as np

from compsil_kit._method.clusterers import resolve_clusterer
from compsil_kit._method.metrics import resolve_metric
from compsil_kit._method.subsample import make_seeds
from compsil_kit._types import ClustererName, ComparedCriterion
from compsil_kit._util.atomic import check_regular
from compsil_kit._util.checks import check_choice, check_integer, check_real, describe, is_integer

Validator = Callable[[Any], Any]
AUTO = "auto"
# Larger numbers can only be mistakes; they are rejected before seeds or labels fill the memory.
MAX_SUBSAMPLES = 1_000_000
MAX_KS = 1_000
MAX_STARTS = 1_000


def integer(name: str, *, minimum: int, maximum: int | None = None) -> Validator:
    """Return a validator for integers within bounds."""
    return lambda value: check_integer(name, value, minimum=minimum, maximum=maximum)


def choice(name: str, allowed: Sequence[str]) -> Validator:
    """Return a validator for one of several words."""
    return lambda value: check_choice(name, value, allowed)


def optional(validate: Validator) -> Validator:
    """Return a validator that also accepts None."""
    return lambda value: None if value is None else validate(value)


def validate_ks(ks: Any) -> tuple[int, ...]:
    """Return the candidate ks in ascending order without duplicates."""
    if is_integer(ks):
        ks = [ks]
    flat = not isinstance(ks, np.ndarray) or ks.ndim == 1
    if isinstance(ks, str | bytes | dict) or not isinstance(ks, Iterable) or not flat:
        raise TypeError(f"ks must be integers of at least 2, such as range(2, 11); got {describe(ks)}.")
    # One more than allowed shows that there are too many, however long the iterator is.
    counts = list(islice(ks, MAX_KS + 1))
    if not counts:
        raise ValueError("ks must contain at least one integer of at least 2; it is empty.")
    distinct = {check_integer("ks", k, minimum=2) for k in counts}
    if len(counts) > MAX_KS:
        raise ValueError(
            f"ks must contain at most {MAX_KS:,} candidates. Pass fewer, for example range(2, 21), or a larger step."
        )
    return tuple(sorted(distinct))


def validate_clusterer(clusterer: Any) -> Any:
    """Return the clusterer if it is a known name, an estimator with a number of clusters, or a function."""
    if isinstance(clusterer, str):
        return check_choice("clusterer", clusterer, get_args(ClustererName))
    resolve_clusterer(clusterer, resolve_metric("euclidean"))
    return clusterer


def validate_metric(metric: Any) -> Any:
    """Return the metric if it is a known name or a function."""
    resolve_metric(metric)
    return metric


def validate_n_subsamples(n_subsamples: Any) -> int | str:
    """Return the number of subsamples, or ``"auto"``."""
    if isinstance(n_subsamples, str) and n_subsamples == AUTO:
        return n_subsamples
    if isinstance(n_subsamples, str):
        raise TypeError(
            "n_subsamples must be an integer of at least 1, or 'auto' for an adaptive number; got "
            f"{describe(n_subsamples)}."
        )
    return check_integer("n_subsamples", n_subsamples, minimum=1, maximum=MAX_SUBSAMPLES)


def validate_sample_size(sample_size: Any) -> str | int | float:
    """Return the subsample size as rows, fraction, ``"auto"`` or ``"paper"``."""
    if isinstance(sample_size, str) and sample_size in (AUTO, "paper"):
        return sample_size
    if is_integer(sample_size):
        return check_integer("sample_size", sample_size, minimum=3)
    if isinstance(sample_size, float | np.floating):
        return check_real("sample_size as a fraction", sample_size, low=0.0, high=1.0)
    error = ValueError if isinstance(sample_size, str) else TypeError
    raise error(
        "sample_size must be 'auto', 'paper', an integer number of rows, or a fraction of the rows in (0, 1]; "
        f"got {describe(sample_size)}."
    )


def validate_n_starts(n_starts: Any) -> str | int:
    """Return the number of initialisations, or ``"auto"``."""
    if isinstance(n_starts, str) and n_starts == AUTO:
        return n_starts
    return check_integer("n_starts", n_starts, minimum=1, maximum=MAX_STARTS)


def validate_random_state(random_state: Any) -> int | tuple[int, ...] | None:
    """Return the seed or seeds; their number is validated with the other settings."""
    n_seeds = len(random_state) if is_sequence_of_seeds(random_state) else 1
    if n_seeds > MAX_SUBSAMPLES:
        raise ValueError(
            "random_state as a sequence must contain one seed per subsample, "
            f"{MAX_SUBSAMPLES:,} at most; got {n_seeds:,}."
        )
    seeds = make_seeds(random_state, n_seeds, 0)
    if random_state is None or is_integer(random_state):
        return None if random_state is None else int(random_state)
    return seeds


def is_sequence_of_seeds(random_state: Any) -> bool:
    """Tell one seed per subsample from a single one."""
    return hasattr(random_state, "__len__") and not isinstance(random_state, str | bytes | Mapping)


def validate_n_jobs(n_jobs: Any) -> int | str | None:
    """Return the number of workers if joblib accepts it, or ``"auto"``."""
    if isinstance(n_jobs, str) and n_jobs == AUTO:
        return AUTO
    if n_jobs is None or (is_integer(n_jobs) and n_jobs != 0 and abs(n_jobs) < 10**6):
        return None if n_jobs is None else int(n_jobs)
    error = ValueError if is_integer(n_jobs) else TypeError
    raise error(f"n_jobs must be None, a number of workers, -1 for all cores, or 'auto'; got {describe(n_jobs)}.")


def validate_progress(progress: Any) -> Any:
    """Return the value if it is None, a bool, or a function of (done, total)."""
    if progress is None or isinstance(progress, bool) or callable(progress):
        return progress
    raise TypeError(
        f"progress must be True, False, None (automatic), or a function of (done, total); got {describe(progress)}."
    )


def validate_checkpoint(checkpoint: Any) -> Path | None:
    """Return the absolute path of the checkpoint, or raise if no file can be written there."""
    if checkpoint is None:
        return None
    if not isinstance(checkpoint, str | PathLike):
        raise TypeError(f"checkpoint must be the path of a file, or None; got {describe(checkpoint)}.")
    # Absolute, because the program may change its working directory; resolved, so that a link stays a link
    # when its target is replaced.
    path = Path(checkpoint).resolve()
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "checkpoint must be a file; this is a folder", str(path))
    check_regular(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder for the checkpoint", str(path.parent))
    return path


def validate_criteria(criteria: Any) -> tuple[str, ...]:
    """Return the names of the criteria to compare, in display order."""
    known = get_args(ComparedCriterion)
    names = [criteria] if isinstance(criteria, str) else criteria
    if not isinstance(names, Sequence) or not names:
        raise TypeError(f"criteria must be 'all' or a list of names; got {describe(criteria)}.")
    if list(names) == ["all"]:
        return known
    wrong = [name for name in names if name not in known]
    if wrong:
        raise ValueError(f"criteria must be among {', '.join(known)}; got {describe(wrong[0])}.")
    return tuple(name for name in known if name in names)
