"""Checks of single keywords that need no data, and of those that depend on each other."""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from compsil_kit._method.clusterers import NAMED, resolve_clusterer
from compsil_kit._method.metrics import resolve_metric
from compsil_kit._method.plan import MOST, most_subsamples
from compsil_kit._method.selection import LIKELY
from compsil_kit._method.subsample import make_seeds
from compsil_kit._util.atomic import check_regular
from compsil_kit._util.checks import check_choice, check_integer, describe, is_integer

# What a comparison can put side by side, in the order in which it is shown.
CRITERIA = (
    "composite", "micro", "macro", "full-micro", "full-macro", "calinski-harabasz", "davies-bouldin", "elbow", "gap",
)  # fmt: skip
ON_FAILURE = ("raise", "skip")
# As many workers as there are cores, or as few as fit into memory.
AUTO = "auto"

Check = Callable[[Any], Any]


def integer(name: str, *, minimum: int, maximum: int | None = None) -> Check:
    """Return a check for whole numbers within bounds."""
    return lambda value: check_integer(name, value, minimum=minimum, maximum=maximum)


def choice(name: str, allowed: Sequence[str]) -> Check:
    """Return a check for one of several words."""
    return lambda value: check_choice(name, value, allowed)


def optional(check: Check) -> Check:
    """Return a check that also takes None."""
    return lambda value: None if value is None else check(value)


def check_clusterer(clusterer: Any) -> Any:
    """Return the clusterer if it is a known name, an estimator that can be told k, or a function."""
    if isinstance(clusterer, str):
        # By name only: building one would import the package that it comes from.
        return check_choice("clusterer", clusterer, tuple(NAMED))
    resolve_clusterer(clusterer, resolve_metric("euclidean"))
    return clusterer


def check_metric(metric: Any) -> Any:
    """Return the metric if it is a known name or a function."""
    resolve_metric(metric)
    return metric


def check_random_state(random_state: Any) -> Any:
    """Return the seed or seeds if they can be used; how many there must be is checked with the other keywords."""
    n_seeds = len(random_state) if _is_many(random_state) else 1
    if n_seeds > MOST:
        raise ValueError(
            f"random_state as a sequence must hold one seed per subsample, {MOST:,} at most; got {n_seeds:,}."
        )
    make_seeds(random_state, n_seeds, 0)
    return random_state


def _is_many(random_state: Any) -> bool:
    return hasattr(random_state, "__len__") and not isinstance(random_state, str | bytes | Mapping)


def check_n_jobs(n_jobs: Any) -> int | str | None:
    """Return the number of workers if joblib understands it, or ``"auto"``."""
    if isinstance(n_jobs, str) and n_jobs == AUTO:
        return AUTO
    if n_jobs is None or (is_integer(n_jobs) and n_jobs != 0 and abs(n_jobs) < 10**6):
        return None if n_jobs is None else int(n_jobs)
    error = ValueError if is_integer(n_jobs) else TypeError
    raise error(f"n_jobs must be None, a number of workers, or -1 for all cores, or 'auto'; got {describe(n_jobs)}.")


def check_progress(progress: Any) -> Any:
    """Return the value if it is None, a bool, or a function of (done, total)."""
    if progress is None or isinstance(progress, bool) or callable(progress):
        return progress
    raise TypeError(
        f"progress must be True, False, None (automatic), or a function of (done, total); got {describe(progress)}."
    )


def check_checkpoint(checkpoint: Any) -> Path | None:
    """Return where to keep finished subsamples, or say why nothing could be kept there."""
    if checkpoint is None:
        return None
    if not isinstance(checkpoint, str | PathLike):
        raise TypeError(f"checkpoint must be the path of a file, or None; got {describe(checkpoint)}.")
    # Absolute, as the program may change its folder; and a link stays one, when what it leads to is replaced.
    path = Path(checkpoint).resolve()
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "checkpoint must be a file; this is a folder", str(path))
    check_regular(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder for the checkpoint", str(path.parent))
    return path


def check_criteria(criteria: Any) -> tuple[str, ...]:
    """Return the names of the criteria asked for, in the order of ``CRITERIA``."""
    given = [criteria] if isinstance(criteria, str) else criteria
    if not isinstance(given, Sequence) or not given:
        raise TypeError(f"criteria must be 'all' or a list of names; got {describe(criteria)}.")
    if list(given) == ["all"]:
        return CRITERIA
    wrong = [name for name in given if name not in CRITERIA]
    if wrong:
        raise ValueError(f"criteria must be among {', '.join(CRITERIA)}; got {describe(wrong[0])}.")
    return tuple(name for name in CRITERIA if name in given)


def check_fixed(values: Mapping[str, Any], what: str) -> None:
    """Refuse as many subsamples as it takes where their number must be known before."""
    given = values.get("n_subsamples")
    if isinstance(given, str) and given == AUTO:
        raise ValueError(f"n_subsamples must be a whole number for {what}; got 'auto'. Pass a number, for instance 30.")


def check_together(values: Mapping[str, Any]) -> None:
    """Refuse keywords that are right by themselves but not with each other."""
    resolve_clusterer(values["clusterer"], resolve_metric(values["metric"]))
    if _is_many(values["random_state"]):
        make_seeds(values["random_state"], most_subsamples(values["n_subsamples"]), values["n_calibration"])
    if values["rule"] == "lcb" and values["criterion"] == LIKELY:
        raise ValueError("rule must be 'max' with criterion='likely': a confidence has no lower bound of its own.")
    if values["rule"] == "lcb":
        check_integer("n_subsamples with rule='lcb'", most_subsamples(values["n_subsamples"]), minimum=2)
    if values["checkpoint"] is not None and values["random_state"] is None:
        raise ValueError(
            "checkpoint needs the same seeds in every run, and random_state=None draws new ones each time: nothing "
            "could be continued. Pass an integer as random_state."
        )
