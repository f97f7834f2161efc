"""The fingerprint of a selection, which identifies the data, settings and versions that determine its result."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Mapping
from hashlib import blake2b
from importlib.metadata import version
from types import CodeType, FunctionType, MethodType
from typing import Any

import numpy as np
from scipy import sparse

from compsil_kit._data.dataset import Dataset
from compsil_kit._data.matrix import DIGEST_BYTES, content_digest
from compsil_kit._data.sources.table import OUT_OF_CORE
from compsil_kit._method.clusterers import Clusterer
from compsil_kit._method.subsample import SHUFFLE, draw_version
from compsil_kit._result.trials import current_versions
from compsil_kit._util.imports import has
from compsil_kit.plan import Plan

Fingerprint = dict[str, Any]

_MAX_CHARACTERS = 80
_MAX_DIFFERENCES = 3
_PARAMETER = "clusterer's "
_PLAIN = bool | int | float | complex | str | bytes | None


def fingerprint(plan: Plan, data: Dataset) -> Fingerprint:
    """Return everything that determines the trial for a seed, as plain data."""
    # With an adaptive number of subsamples, earlier trials and the choice settings determine the candidates of a trial.
    how = {name: describe(value) for name, value in plan.config.choice.items()}
    adaptive = {"n_subsamples": "auto", "n_calibration": plan.n_calibration, "seeds": _digest(str(plan.seeds)), **how}
    # Version of the method that draws rows. Files without this entry were written before version 2 was added.
    draw = draw_version(plan.n_rows, plan.sample_size)
    metric = plan.config.resolved_metric
    return {
        "data": data.digest,
        "rows": plan.n_rows,
        "features": plan.n_features,
        "dtype": plan.dtype,
        "ks": list(plan.ks),
        "sample_size": plan.sample_size,
        "n_starts": plan.n_starts,
        **({} if draw == SHUFFLE else {"draw of rows": f"version {draw}"}),
        **({"rows for stability": plan.n_common} if plan.n_common else {}),
        **(adaptive if plan.adaptive else {}),
        **_of_clusterer(plan.config.resolved_clusterer),
        "metric": metric.name if metric.function is None else describe(metric.function),
        "on_failure": plan.on_failure,
        **_versions(),
    }


def differences(there: Mapping[str, Any], here: Mapping[str, Any]) -> list[str]:
    """Return the differences between two fingerprints, one phrase each."""
    # Earlier releases always used one initialisation, and did not store the number.
    there, here = {"n_starts": 1, **there}, {"n_starts": 1, **here}
    names = [name for name in {**here, **there} if there.get(name) != here.get(name)]
    if "clusterer" in names:
        # Parameters of different clusterers cannot be compared.
        names = [name for name in names if not name.startswith(_PARAMETER)]
    found = [_phrase(name, there, here) for name in names[:_MAX_DIFFERENCES]]
    return found if len(names) <= _MAX_DIFFERENCES else [*found, f"and {len(names) - _MAX_DIFFERENCES} more"]


def _phrase(name: str, there: Mapping[str, Any], here: Mapping[str, Any]) -> str:
    if name == "data":
        places = [str(each.get("data")).startswith(OUT_OF_CORE) for each in (there, here)]
        was, is_now = ("out of core" if outside else "in memory" for outside in places)
        return "the contents of X differ" if was == is_now else f"X was {was} and is now {is_now}"
    if name == "seeds":
        return "random_state gives different seeds"
    was, is_now = (_shown(each.get(name, "not given")) for each in (there, here))
    return f"{_shown(name)} was {was} and is now {is_now}"


def _shown(value: Any) -> str:
    try:
        text = value if isinstance(value, str) else json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        # A manipulated file may contain anything.
        text = type(value).__name__
    return text if len(text) <= _MAX_CHARACTERS else text[: _MAX_CHARACTERS - 3] + "..."


def _of_clusterer(clusterer: Clusterer) -> Fingerprint:
    if clusterer.function is not None:
        return {"clusterer": describe(clusterer.function)}
    # The omitted parameters differ between clusterings.
    params = {
        name: describe(value)
        for name, value in clusterer.estimator.get_params(deep=False).items()
        if name not in (clusterer.count_parameter, "random_state")
    }
    name = clusterer.name if clusterer.by_name else _qualified(type(clusterer.estimator))
    return {"clusterer": name, **{f"{_PARAMETER}{name}": text for name, text in params.items()}}


def _versions() -> dict[str, str]:
    """Return the versions of the numerical libraries, including Numba: compiled kernels round differently."""
    known = {name: number for name, number in current_versions().items() if name != "python"}
    return {**known, "numba": version("numba") if has("numba") else "not installed"}


def describe(value: Any, seen: frozenset[int] = frozenset()) -> str:
    """Return a string that is the same for equal values in every process; for unknown objects, the name of the type."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, _PLAIN):
        return repr(value)
    if id(value) in seen:
        return "itself"
    seen = seen | {id(value)}
    if isinstance(value, list | tuple):
        return f"[{', '.join(describe(item, seen) for item in value)}]"
    if isinstance(value, set | frozenset):
        return f"{{{', '.join(sorted(describe(item, seen) for item in value))}}}"
    if isinstance(value, Mapping):
        return f"{{{', '.join(sorted(f'{describe(k, seen)}: {describe(v, seen)}' for k, v in value.items()))}}}"
    return _describe_object(value, seen)


def _describe_object(value: Any, seen: frozenset[int]) -> str:
    if isinstance(value, np.ndarray):
        return describe(value.tolist(), seen) if value.dtype.hasobject else f"array {content_digest(value)}"
    if sparse.issparse(value):
        return f"sparse {content_digest(value.tocsr())}"
    if isinstance(value, type):
        return _qualified(value)
    if hasattr(value, "get_params"):
        return f"{_qualified(type(value))} {describe(value.get_params(deep=False), seen)}"
    return _describe_function(value, seen) if callable(value) else _qualified(type(value))


def _describe_function(function: Any, seen: frozenset[int]) -> str:
    """Return the name of a function and a digest of its code, defaults and captured plain values."""
    if not isinstance(function, FunctionType):
        # Functions compiled by Numba or wrapped by a cache have an attribute with the original function.
        function = getattr(function, "py_func", getattr(function, "__wrapped__", function))
    if isinstance(function, functools.partial):
        parts = (function.func, function.args, function.keywords)
        return f"partial of {describe(function.func, seen)} [{_digest(describe(parts, seen))}]"
    if isinstance(function, MethodType):
        return f"{describe(function.__func__, seen)} of {_describe_holder(function.__self__, seen)}"
    if not isinstance(function, FunctionType):
        return _qualified(function) if hasattr(function, "__qualname__") else _describe_holder(function, seen)
    captured = []
    for cell in function.__closure__ or ():
        try:
            value = cell.cell_contents
        except ValueError:
            # The variable is not assigned yet.
            value = "nothing"
        captured.append(_captured(value, seen))
    given = describe((function.__defaults__, function.__kwdefaults__), seen)
    return f"{_qualified(function)} [{_digest(_describe_code(function.__code__), given, *captured)}]"


def _describe_holder(thing: Any, seen: frozenset[int]) -> str:
    """Describe a callable object by the code of its ``__call__`` method and its plain attributes."""
    held = [f"{name}={_captured(value, seen)}" for name, value in sorted(getattr(thing, "__dict__", {}).items())]
    call = vars(type(thing)).get("__call__")
    code = _describe_code(call.__code__) if isinstance(call, FunctionType) else ""
    return f"{_qualified(type(thing))} [{_digest(code, *held)}]"


def _captured(value: Any, seen: frozenset[int]) -> str:
    """Describe a captured value; use only the type of a mutable container, because the function may change it."""
    lasting = isinstance(value, _PLAIN | tuple | np.generic | np.ndarray) or callable(value)
    return describe(value, seen) if lasting else _qualified(type(value))


def _describe_code(code: CodeType) -> str:
    constants = [_describe_code(item) if isinstance(item, CodeType) else describe(item) for item in code.co_consts]
    # Bytecode depends on the Python version.
    names = (sys.version_info[:2], code.co_names, code.co_varnames, code.co_freevars)
    return _digest(code.co_code.hex(), describe(names), *constants)


def _digest(*texts: str) -> str:
    return blake2b("\n".join(texts).encode("utf-8", "surrogatepass"), digest_size=DIGEST_BYTES).hexdigest()


def _qualified(thing: Callable[..., Any]) -> str:
    """Return the module and name, and the package version unless it is already in the fingerprint."""
    module = getattr(thing, "__module__", None) or "builtins"
    root = module.partition(".")[0]
    number = getattr(sys.modules.get(root), "__version__", None)
    known = number is None or root in ("numpy", "scipy", "sklearn", "compsil_kit")
    return f"{module}.{thing.__qualname__}" + ("" if known else f" ({root} {number})")
