"""Results as plain data for strict JSON, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from compsil_kit.data.dataset import Preparation
from compsil_kit.method.plan import Plan
from compsil_kit.method.weights import TRANSFORMS, transform_name
from compsil_kit.result.trials import Failure, Saved, Trial, Trials
from compsil_kit.util.checks import check_integer

if TYPE_CHECKING:
    from compsil_kit.result.result import SelectionResult

FORMAT = "compsil-kit/selection"
VERSION = 1


def to_dict(result: SelectionResult) -> dict[str, Any]:
    """Return the result as dicts, lists, strings and finite numbers; what is undefined is None."""
    custom = not isinstance(result.transform, str) or result.saved is not None
    return {
        "format": FORMAT,
        "version": VERSION,
        "best_k": None if result.best_index is None else result.best_k,
        "best_score": None if result.best_index is None else result.best_score,
        "partial": result.partial,
        "transform": transform_name(result.transform),
        "rule": result.rule,
        "z": result.z,
        "ks": list(result.ks),
        "scores": _plain(result.scores),
        "sem": _plain(result.sem),
        "lcb": _plain(result.lcb),
        "probability": _plain(result.probability),
        "choices": dict(result.choices),
        "n_failed": [int(n) for n in result.n_failed],
        "warnings": result.warnings,
        "trials": _trials_out(result.trials),
        "calibration": _trials_out(result.calibration),
        "weights": _plain(result.weights) if custom else None,
        "failures": [asdict(failure) for failure in result.failures],
        "plan": plan_out(result.plan),
        "preparation": preparation_out(result.preparation),
        "versions": dict(result.versions),
    }


def from_dict(cls: type[SelectionResult], data: Mapping[str, Any]) -> SelectionResult:
    """Rebuild a result; what can be derived from its trials is derived again."""
    if not isinstance(data, Mapping) or data.get("format") != FORMAT:
        raise ValueError(f"data must be what SelectionResult.to_dict returned, with format {FORMAT!r}.")
    if data.get("version") != VERSION:
        raise ValueError(
            f"data has version {data.get('version')!r} of {FORMAT}; this release reads version {VERSION}. "
            "Read it with the release that wrote it."
        )
    try:
        plan = plan_in(data["plan"])
        saved = data["weights"]
        custom = saved is not None or data["transform"] not in TRANSFORMS
        return cls(
            plan=plan,
            trials=_trials_in(data["trials"], len(plan.ks)),
            calibration=_trials_in(data["calibration"], len(plan.ks)),
            transform=data["transform"],
            rule=data["rule"],
            z=float(data["z"]),
            failures=tuple(Failure(**failure) for failure in data["failures"]),
            versions=dict(data["versions"]),
            preparation=preparation_in(data["preparation"]),
            saved=Saved(_array(saved, len(plan.ks)), _array(data["probability"], len(plan.ks))[:, 0])
            if custom
            else None,
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"data is not a complete {FORMAT}: {error}") from error


def plan_out(plan: Plan) -> dict[str, Any]:
    """Return a plan as plain data."""
    return _lists(asdict(plan))


def plan_in(data: Mapping[str, Any]) -> Plan:
    """Rebuild a plan."""
    values: dict[str, Any] = {field.name: data[field.name] for field in fields(Plan)}
    return Plan(**{**values, "ks": tuple(values["ks"]), "seeds": tuple(values["seeds"])})


def preparation_out(preparation: Preparation | None) -> dict[str, Any] | None:
    """Return what is known of a table as plain data."""
    return None if preparation is None else _lists(asdict(preparation))


def preparation_in(data: Mapping[str, Any] | None) -> Preparation | None:
    """Rebuild what is known of a table."""
    if data is None:
        return None
    values: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in data.items()}
    return Preparation(**values)


def trial_out(trial: Trial, seed: int) -> dict[str, Any]:
    """Return one trial as plain data. It goes by its seed: the place of a subsample depends on how many there are."""
    return {
        "seed": seed,
        "micro": _plain(np.array(trial.micro)),
        "macro": _plain(np.array(trial.macro)),
        "failures": [{"k": failure.k, "cause": failure.cause} for failure in trial.failures],
    }


def trial_in(data: Mapping[str, Any], index: int, ks: Sequence[int]) -> Trial:
    """Rebuild a trial as that of subsample ``index``; data that cannot be one of these ks are an error."""
    seed = check_integer("the seed of a trial", data["seed"], minimum=0)
    failures = tuple(Failure(failure["k"], index, seed, str(failure["cause"])) for failure in data["failures"])
    failed = {failure.k for failure in failures}
    for values in (data["micro"], data["macro"]):
        # Without a failure there is a number, and with one there is none.
        if [value is None for value in values] != [k in failed for k in ks]:
            raise ValueError("the values of a trial do not fit its ks and failures.")
    micro, macro = (tuple(_array(data[name], len(ks))[:, 0].tolist()) for name in ("micro", "macro"))
    return Trial(index, micro, macro, failures)


def _lists(data: dict[str, Any]) -> dict[str, Any]:
    """Return the mapping with lists in the place of tuples, as JSON will have it."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in data.items()}


def _trials_out(trials: Trials) -> dict[str, Any]:
    return {
        "subsamples": list(trials.subsamples),
        "micro": _plain(trials.micro),
        "macro": _plain(trials.macro),
    }


def _trials_in(data: Mapping[str, Any], n_ks: int) -> Trials:
    micro, macro = _array(data["micro"], n_ks), _array(data["macro"], n_ks)
    if micro.shape != macro.shape or micro.shape[1] != len(data["subsamples"]):
        raise ValueError("data is not a consistent selection: micro, macro and subsamples differ in size.")
    return Trials(tuple(data["subsamples"]), micro, macro)


def _array(values: Any, n_ks: int) -> NDArray[np.float64]:
    # None becomes NaN in a float array.
    return np.array(values, dtype=np.float64).reshape(n_ks, -1)


def _plain(values: NDArray[np.float64]) -> Any:
    """Return an array as nested lists of floats, None where it is not finite."""
    if values.ndim > 1:
        return [_plain(row) for row in values]
    return [float(value) if np.isfinite(value) else None for value in values]
