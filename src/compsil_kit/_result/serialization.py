"""Results as plain data for strict JSON, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, get_type_hints

import numpy as np
from numpy.typing import NDArray

from compsil_kit._data.dataset import Preparation
from compsil_kit._method.plan import Plan
from compsil_kit._method.selection import CRITERIA, RULES
from compsil_kit._method.structure import REFERENCES, Structure
from compsil_kit._method.subsample import SEED_LIMIT
from compsil_kit._method.weights import TRANSFORMS, transform_name
from compsil_kit._result.trials import NUMBERS, Failure, Saved, Trial, Trials
from compsil_kit._util import schema
from compsil_kit._util.checks import describe
from compsil_kit._util.schema import check_digest, signed

if TYPE_CHECKING:
    from compsil_kit.result import SelectionResult

FORMAT = "compsil-kit/selection"
VERSION = 1


# Silhouettes lie in [-1, 1], but for rounding.
_SILHOUETTE = schema.optional(schema.real(-1.0 - 1e-9, 1.0 + 1e-9))
_WEIGHT = schema.optional(schema.real(-1e-9, 1.0 + 1e-9))
# What may be unknown of a clustering that did not fail.
_MAY_LACK = ("agreement", "within", "small")
_SEED = schema.integer(0, SEED_LIMIT - 1)
_COUNT = schema.integer(0)
_PLAN = {name: hint.__metadata__[0] for name, hint in get_type_hints(Plan, include_extras=True).items()}
_PREPARATION = {
    "columns": schema.list_of(schema.text),
    "left_out": schema.list_of(schema.text),
    "scale": schema.optional(schema.text),
    "n_dropped": _COUNT,
    "notes": schema.list_of(schema.text),
}
_P_VALUE = schema.real(0.0, 1.0)
_STRUCTURE = {
    "p_value": _P_VALUE,
    "p_values": schema.record(dict.fromkeys(REFERENCES, _P_VALUE)),
    "statistic": schema.real(-1e300, 1e300),
    "n_null": schema.integer(1),
    "n_rows": schema.integer(2),
}
_TRIALS = dict.fromkeys(("subsamples", "micro", "macro"), schema.anything)
_SELECTION = {
    "transform": schema.text,
    "rule": schema.choice(RULES),
    "z": schema.real(0.0, 1e6),
    "criterion": schema.choice(CRITERIA),
    "trials": schema.anything,
    "calibration": schema.anything,
    "weights": schema.anything,
    "preparation": schema.anything,
    "structure": schema.anything,
    "versions": schema.mapping_of(schema.text),
}


def to_dict(result: SelectionResult) -> dict[str, Any]:
    """Return the result as dicts, lists, strings and finite numbers; what is undefined is None."""
    custom = not isinstance(result.transform, str) or result._saved is not None
    return signed(
        {
            "format": FORMAT,
            "version": VERSION,
            "best_k": None if result._best_index is None else result.best_k,
            "best_score": None if result._best_index is None else result.best_score,
            "partial": result.partial,
            "transform": transform_name(result.transform),
            "rule": result.rule,
            "z": result.z,
            "criterion": result.criterion,
            "ks": list(result.ks),
            "scores": plain_numbers(result.scores),
            "sem": plain_numbers(result.sem),
            "lcb": plain_numbers(result.lcb),
            "stability": plain_numbers(result.stability),
            "probability": plain_numbers(result.selection_probability),
            "confidence": plain_numbers(result.confidence),
            "confidence_none": plain_numbers(np.array([result.confidence_none]))[0],
            "choices": dict(result.choices),
            "n_failed": [int(n) for n in result.n_failed],
            "warnings": result.warnings,
            "trials": _trials_out(result.trials, result.plan),
            "calibration": _trials_out(result.calibration, result.plan),
            "weights": plain_numbers(result.weights) if custom else None,
            "failures": [asdict(failure) for failure in result.failures],
            "plan": plan_out(result.plan),
            "preparation": preparation_out(result.preparation),
            "structure": structure_out(result.structure),
            "versions": dict(result.versions),
        }
    )


def from_dict(data: Mapping[str, Any]) -> dict[str, Any]:
    """Validate the data of ``to_dict`` and return the fields of the result."""
    if not isinstance(data, Mapping) or data.get("format") != FORMAT:
        raise ValueError(f"data must be what SelectionResult.to_dict returned, with format {FORMAT!r}.")
    if data.get("version") != VERSION:
        raise ValueError(
            f"data has version {describe(data.get('version'))} of {FORMAT}; this release reads version {VERSION}. "
            "Read it with the release that wrote it."
        )
    check_digest(data, "data")
    plan = plan_in(data.get("plan"), "data.plan")
    n_ks, n_all = len(plan.ks), len(plan.seeds)
    found = schema.record({**_SELECTION, "failures": schema.list_of(_failure(plan))})(
        _with_defaults(data, criterion="composite", structure=None), "data"
    )
    trials, calibration = (_trials_in(found[name], plan, f"data.{name}") for name in ("trials", "calibration"))
    scored = [index for index in trials.subsamples if index < plan.n_subsamples]
    if len(scored) != len(trials.subsamples) or any(index < plan.n_subsamples for index in calibration.subsamples):
        raise ValueError("data.trials must hold scored subsamples, and data.calibration the others.")
    saved = None
    if found["weights"] is not None or found["transform"] not in TRANSFORMS:
        rows = schema.list_of(schema.list_of(_WEIGHT, len(trials.subsamples)), n_ks)
        weights = rows(found["weights"], "data.weights")
        probability = schema.list_of(_WEIGHT, n_ks)(data.get("probability"), "data.probability")
        saved = Saved(_array(weights, n_ks), _array(probability, n_ks)[:, 0])
    failures = tuple(Failure(**failure) for failure in found["failures"] if failure["subsample"] < n_all)
    return {
        **{name: found[name] for name in ("transform", "rule", "z", "criterion", "versions")},
        "plan": plan,
        "trials": trials,
        "calibration": calibration,
        "failures": failures,
        "preparation": preparation_in(found["preparation"], "data.preparation"),
        "structure": structure_in(found["structure"], "data.structure"),
        "_saved": saved,
    }


def _failure(plan: Plan) -> schema.Check:
    return schema.record(
        {
            "k": schema.choice(plan.ks),
            "subsample": schema.integer(0, len(plan.seeds) - 1),
            "seed": _SEED,
            "cause": schema.text,
        }
    )


def plan_out(plan: Plan) -> dict[str, Any]:
    """Return a plan as plain data."""
    # What was read to get at the data says nothing about the result, which is the same as in memory.
    return _lists({name: value for name, value in asdict(plan).items() if name != "scanned_bytes"})


def plan_in(data: Any, where: str = "plan") -> Plan:
    """Rebuild a plan; one that cannot have been made is refused."""
    found = schema.record(_PLAN)(_with_defaults(data, n_starts=1, structure=False, adaptive="", scanned_bytes=0), where)
    plan = Plan(**{**found, "ks": tuple(found["ks"]), "seeds": tuple(found["seeds"])})
    if not plan.ks or list(plan.ks) != sorted(set(plan.ks)):
        raise ValueError(f"{where}.ks must be ascending and hold at least one candidate.")
    if len(plan.seeds) != plan.n_subsamples + plan.n_calibration:
        raise ValueError(f"{where}.seeds must hold one seed per subsample.")
    if not plan.ks[-1] < plan.sample_size <= plan.n_rows:
        raise ValueError(f"{where}.sample_size must lie between the largest k and the number of rows.")
    return plan


def preparation_out(preparation: Preparation | None) -> dict[str, Any] | None:
    """Return what is known of a table as plain data."""
    return None if preparation is None else _lists(asdict(preparation))


def preparation_in(data: Any, where: str = "preparation") -> Preparation | None:
    """Rebuild what is known of a table."""
    if data is None:
        return None
    found = schema.record(_PREPARATION)(data, where)
    values: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in found.items()}
    return Preparation(**values)


def structure_out(structure: Structure | None) -> dict[str, Any] | None:
    """Return the outcome of the test for clusters as plain data."""
    return None if structure is None else asdict(structure)


def structure_in(data: Any, where: str = "structure") -> Structure | None:
    """Rebuild the outcome of the test for clusters."""
    return None if data is None else Structure(**schema.record(_STRUCTURE)(data, where))


def trial_out(trial: Trial, plan: Plan) -> dict[str, Any]:
    """Return one trial as plain data. It goes by its seed: the place of a subsample depends on how many there are."""
    failed = {failure.k for failure in trial.failures}
    left_out = [k for k, value in zip(plan.ks, trial.micro, strict=True) if np.isnan(value) and k not in failed]
    return {
        "seed": plan.seeds[trial.index],
        "after": plan.before(trial.index),
        **{name: plain_numbers(np.array(getattr(trial, name))) for name in trial_names(plan)},
        "failures": [{"k": failure.k, "cause": failure.cause} for failure in trial.failures],
        **({"left_out": left_out} if left_out else {}),
    }


def trial_names(plan: Plan) -> list[str]:
    """Return the names of the numbers to write; those of the best start are those of the only one."""
    return [name for name in NUMBERS if plan.n_starts > 1 or not name.startswith("best_")]


def trial_in(data: Any, index: int, ks: Sequence[int], where: str = "trial") -> Trial:
    """Rebuild a trial as that of subsample ``index``; data that cannot be one of these ks are an error."""
    values = schema.list_of(_SILHOUETTE, len(ks))
    failure = schema.record({"k": schema.choice(ks), "cause": schema.text})
    fields = {"seed": _SEED, "after": schema.optional(_SEED), "failures": schema.list_of(failure)}
    fields["left_out"] = schema.list_of(schema.choice(ks))
    names = [name for name in NUMBERS if isinstance(data, Mapping) and (name in data or name in ("micro", "macro"))]
    found = schema.record({**fields, **dict.fromkeys(names, values)})(
        _with_defaults(data, after=None, left_out=[]), where
    )
    failed = {failure["k"] for failure in found["failures"]} | set(found["left_out"])
    for name in names:
        # Without a failure there is a number, and with one there is none.
        if name not in _MAY_LACK and [value is None for value in found[name]] != [k in failed for k in ks]:
            raise ValueError(f"{where}.{name} does not fit its ks and failures.")
    numbers: dict[str, Any] = {name: tuple(_array(found[name], len(ks))[:, 0].tolist()) for name in names}
    failures = tuple(Failure(f["k"], index, found["seed"], f["cause"]) for f in found["failures"])
    return Trial(index, failures=failures, **numbers)


def _with_defaults(data: Any, **defaults: Any) -> Any:
    """Return the data with what files of earlier releases do not have."""
    return {**defaults, **data} if isinstance(data, Mapping) else data


def _lists(data: dict[str, Any]) -> dict[str, Any]:
    """Return the mapping with lists in the place of tuples, as JSON will have it."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in data.items()}


def _trials_out(trials: Trials, plan: Plan) -> dict[str, Any]:
    return {
        "subsamples": list(trials.subsamples),
        **{name: plain_numbers(getattr(trials, name)) for name in trial_names(plan)},
    }


def _trials_in(data: Any, plan: Plan, where: str) -> Trials:
    schema.record(_TRIALS)(data, where)
    subsamples = schema.list_of(schema.integer(0, len(plan.seeds) - 1))(data["subsamples"], f"{where}.subsamples")
    if subsamples != sorted(set(subsamples)):
        raise ValueError(f"{where}.subsamples must be ascending, each once.")
    values = schema.list_of(schema.list_of(_SILHOUETTE, len(subsamples)), len(plan.ks))
    arrays = {
        name: _array(values(data[name], f"{where}.{name}"), len(plan.ks))
        for name in NUMBERS
        if name in data or name in ("micro", "macro")
    }
    for name in arrays:
        if name not in _MAY_LACK and not np.array_equal(np.isnan(arrays[name]), np.isnan(arrays["micro"])):
            raise ValueError(f"{where}.micro and {name} must lack the same values.")
    return Trials(tuple(subsamples), **arrays)


def _array(values: Any, n_ks: int) -> NDArray[np.float64]:
    # None becomes NaN in a float array.
    return np.array(values, dtype=np.float64).reshape(n_ks, -1)


def plain_numbers(values: NDArray[np.float64]) -> Any:
    """Return an array as nested lists of floats, None where it is not finite."""
    if values.ndim > 1:
        return [plain_numbers(row) for row in values]
    return [float(value) if np.isfinite(value) else None for value in values]
