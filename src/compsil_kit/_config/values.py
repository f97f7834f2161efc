"""Parse single settings from strings, and validate their values.

Errors from validators name the setting. Errors from parsers do not, so callers prepend the name.
"""

from __future__ import annotations

import errno
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from compsil_kit._method.clusterers import resolve_clusterer
from compsil_kit._method.metrics import resolve_metric
from compsil_kit._method.subsample import make_seeds
from compsil_kit._types import ClustererName, ComparedCriterion
from compsil_kit._util.checks import check_choice, check_integer, check_real, describe, is_integer
from compsil_kit._util.system import check_regular

AUTO = "auto"
# Larger numbers are rejected before seeds or labels exhaust memory.
MAX_SUBSAMPLES = 1_000_000
MAX_KS = 1_000
MAX_STARTS = 1_000
NONE_WORDS = ("", "none", "null")
QUOTED = r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*\""""
# A quoted name, an unclosed quote and everything after it, or the characters before the next comma.
_NAME = re.compile(rf"""(?:^|,)\s*((?:{QUOTED}|['"].*)?[^,]*)""", re.DOTALL)
_RANGE = re.compile(r"range\((-?\d+), ?(-?\d+)(?:, ?(-?\d+))?\)")


def _convert(kind: Callable[[str], Any], rule: str, text: str) -> Any:
    try:
        return kind(text.strip())
    except ValueError as error:
        raise ValueError(f"must be {rule}; got {describe(text)}.") from error


parse_integer: Callable[[str], int] = partial(_convert, int, "an integer")
parse_number: Callable[[str], float] = partial(_convert, float, "a number")


def parse_optional(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return a parser that maps "none", "null" and the empty string to None."""
    return lambda text: None if text.strip().lower() in NONE_WORDS else parse(text)


def parse_integer_or_auto(text: str) -> int | Literal["auto"]:
    return "auto" if text.strip() == "auto" else parse_integer(text)


def parse_integers(text: str) -> range | list[int]:
    """Parse ``2:10`` (both ends included), ``2:20:2``, ``2,3,5``, ``[2, 3, 5]`` or ``range(2, 11)``."""
    inner = text.strip() if text.strip().startswith("range") else text.strip().strip("[]()")
    try:
        if match := _RANGE.fullmatch(inner):
            return range(*(int(part) for part in match.groups() if part is not None))
        if ":" not in inner:
            return [int(part) for part in inner.split(",") if part.strip()]
        first, last, *step = (int(part) for part in inner.split(":"))
        if step and step[0] < 1:
            raise ValueError("negative step")
        return range(first, last + 1, *step)
    except (ValueError, TypeError) as error:
        raise ValueError(f"must look like 2:10, 2:20:2 or 2,3,5; got {describe(text)}.") from error


def parse_seeds(text: str) -> int | range | list[int]:
    return int(text) if text.strip().lstrip("-").isdigit() else parse_integers(text)


def parse_switch(text: str) -> bool:
    """Parse true or false, yes or no, on or off, 1 or 0; an empty string means false."""
    word = text.strip().lower()
    if word in ("true", "yes", "on", "1"):
        return True
    if word in ("false", "no", "off", "0", *NONE_WORDS):
        return False
    raise ValueError(f"must be true or false; got {describe(text)}.")


def parse_sample_size(text: str) -> str | int | float:
    word = text.strip().replace(",", "")
    if word in ("", "auto", "paper"):
        return word or "auto"
    try:
        return int(word)
    except ValueError:
        return float(_convert(float, "auto, paper, a number of rows, or a fraction such as 0.5", word))


def parse_names(text: str) -> list[str]:
    """Parse names separated by commas (names with commas in quotes), or a JSON list."""
    if not text.strip().startswith("["):
        return [unquote(name) for name in split_list(text) if name]
    try:
        return [str(word) for word in json.loads(text.replace("'", '"') if '"' not in text else text)]
    except (ValueError, RecursionError) as error:
        raise ValueError(f"must be names separated by commas, or a JSON list; got {describe(text)}.") from error


def split_list(text: str) -> list[str]:
    """Split a string at commas outside quotes; the quotes are kept."""
    return [name.strip() for name in _NAME.findall(text)]


def unquote(word: str) -> str:
    r"""Remove the quotes around a word, and replace the escaped quotes \' and \" inside it."""
    return re.sub(r"""\\(['"])""", r"\1", word[1:-1]) if re.fullmatch(QUOTED, word, re.DOTALL) else word


def quote(name: str) -> str:
    """Quote a name for :func:`parse_names` if it needs quotes."""
    if re.fullmatch(r"[^\s,;#'\"()\[\]{}]+", name):
        return name
    mark = "'" if '"' in name else '"'
    return mark + name.replace(mark, rf"\{mark}") + mark


def optional(validate: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a validator that also accepts None."""
    return lambda value: None if value is None else validate(value)


def validate_ks(ks: Any) -> tuple[int, ...]:
    """Return the candidate values of k in ascending order without duplicates."""
    if is_integer(ks):
        ks = [ks]
    flat = not isinstance(ks, np.ndarray) or ks.ndim == 1
    if isinstance(ks, str | bytes | dict) or not isinstance(ks, Iterable) or not flat:
        raise TypeError(f"ks must be integers of at least 2, such as range(2, 11); got {describe(ks)}.")
    # Take only one more than allowed, because the iterator may be infinite.
    counts = list(islice(ks, MAX_KS + 1))
    if not counts:
        raise ValueError("ks must contain at least one integer of at least 2, but it is empty.")
    distinct = {check_integer("ks", k, minimum=2) for k in counts}
    if len(counts) > MAX_KS:
        raise ValueError(
            f"ks must contain at most {MAX_KS:,} candidates. Pass fewer, for example range(2, 21), or a larger step."
        )
    return tuple(sorted(distinct))


def validate_clusterer(clusterer: Any) -> Any:
    if isinstance(clusterer, str):
        return check_choice("clusterer", clusterer, get_args(ClustererName))
    resolve_clusterer(clusterer, resolve_metric("euclidean"))
    return clusterer


def validate_metric(metric: Any) -> Any:
    resolve_metric(metric)
    return metric


def validate_integer_or_auto(name: str, maximum: int, meaning: str, value: Any) -> int | str:
    if isinstance(value, str) and value != AUTO:
        raise TypeError(f"{name} must be an integer of at least 1, or 'auto' for {meaning}; got {describe(value)}.")
    return value if isinstance(value, str) else check_integer(name, value, minimum=1, maximum=maximum)


def validate_sample_size(sample_size: Any) -> str | int | float:
    if isinstance(sample_size, str) and sample_size in (AUTO, "paper"):
        return sample_size
    if is_integer(sample_size):
        return check_integer("sample_size", sample_size, minimum=3)
    if isinstance(sample_size, float | np.floating):
        return check_real("sample_size as a fraction", sample_size, low=0.0, high=1.0)
    error = ValueError if isinstance(sample_size, str) else TypeError
    raise error(
        "sample_size must be 'auto', 'paper', a number of rows, or a fraction of the rows in (0, 1]; "
        f"got {describe(sample_size)}."
    )


def validate_random_state(random_state: Any) -> int | tuple[int, ...] | None:
    """Return the seed or seeds; the number of seeds is validated in :class:`SelectionConfig`."""
    several = hasattr(random_state, "__len__") and not isinstance(random_state, str | bytes | Mapping)
    n_seeds = len(random_state) if several else 1
    if n_seeds > MAX_SUBSAMPLES:
        raise ValueError(
            "random_state as a sequence must contain one seed per subsample, "
            f"{MAX_SUBSAMPLES:,} at most; got {n_seeds:,}."
        )
    seeds = make_seeds(random_state, n_seeds, 0)
    if several:
        return seeds
    return None if random_state is None else int(random_state)


def validate_n_jobs(n_jobs: Any) -> int | str | None:
    if isinstance(n_jobs, str) and n_jobs == AUTO:
        return AUTO
    if n_jobs is None or (is_integer(n_jobs) and n_jobs != 0 and abs(n_jobs) < 10**6):
        return None if n_jobs is None else int(n_jobs)
    error = ValueError if is_integer(n_jobs) else TypeError
    raise error(f"n_jobs must be None, a number of workers, -1 for all cores, or 'auto'; got {describe(n_jobs)}.")


def validate_progress(progress: Any) -> Any:
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
    # The program may change its working directory, and writing through a link must not replace the link.
    path = Path(checkpoint).resolve()
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "checkpoint must be a file, not a folder", str(path))
    check_regular(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "the folder for the checkpoint does not exist", str(path.parent))
    return path


def validate_criteria(criteria: Any) -> tuple[str, ...]:
    """Return the names of the criteria in display order."""
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
