"""Write results, plans and trials as plain data for strict JSON, and validate such data when reading."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from compsil_kit._data.dataset import Preparation
from compsil_kit._method.selection import CRITERIA, RULES, TRANSFORMS, transform_name
from compsil_kit._method.structure import Structure
from compsil_kit._method.subsample import SEED_LIMIT
from compsil_kit._result.trials import NUMBERS, SINGLE, Array, Failure, Saved, Trial, Trials
from compsil_kit._util import schema
from compsil_kit._util.checks import describe
from compsil_kit.plan import Plan

if TYPE_CHECKING:
    from compsil_kit.result import SelectionResult

Dumped = TypeVar("Dumped", Preparation, Structure)

FORMAT = "compsil-kit/selection"
VERSION = 1
# Key of a packed trial.
PACKED = "numbers"

# Silhouettes lie in [-1, 1], up to rounding.
_SILHOUETTE = schema.optional(schema.real(-1.0 - 1e-9, 1.0 + 1e-9))
_WEIGHT = schema.optional(schema.real(-1e-9, 1.0 + 1e-9))
# These may be missing even if the clustering succeeded.
_MAY_LACK = ("agreement", "within", "small")
_SEED = schema.integer(0, SEED_LIMIT - 1)
CHOICE_CHECKS = {
    "transform": schema.text,
    "rule": schema.choice(RULES),
    "z": schema.real(0.0, 1e6),
    "criterion": schema.choice(CRITERIA),
}
# The shapes of the last entries depend on the plan, so they are validated after the plan.
_SELECTION = {
    **CHOICE_CHECKS,
    "versions": schema.mapping_of(schema.text),
    **dict.fromkeys(("trials", "calibration", "weights", "preparation", "structure"), schema.anything),
}


def dump_result(result: SelectionResult) -> dict[str, Any]:
    """Return the result as dicts, lists, strings and finite numbers, with None for undefined values."""
    custom = not isinstance(result.transform, str) or result._saved is not None
    chosen = result._best_index is not None
    return schema.signed(
        {
            "format": FORMAT,
            "version": VERSION,
            "best_k": result.best_k if chosen else None,
            "best_score": result.best_score if chosen else None,
            "partial": result.partial,
            "transform": transform_name(result.transform),
            **{name: getattr(result, name) for name in ("rule", "z", "criterion")},
            "ks": list(result.ks),
            **{name: plain(getattr(result, name)) for name in ("scores", "sem", "lcb", "stability")},
            "probability": plain(result.selection_probability),
            "confidence": plain(result.confidence),
            "confidence_none": plain(np.array([result.confidence_none]))[0],
            "choices": dict(result.choices),
            "n_failed": result.n_failed.tolist(),
            "warnings": result.warnings,
            "trials": _dump_trials(result.trials, result.plan),
            "calibration": _dump_trials(result.calibration, result.plan),
            "weights": plain(result.weights) if custom else None,
            "failures": [asdict(failure) for failure in result.failures],
            "plan": result.plan.to_dict(),
            "preparation": dump(result.preparation),
            "structure": dump(result.structure),
            "versions": dict(result.versions),
        }
    )


def load_result(data: Mapping[str, Any]) -> dict[str, Any]:
    """Validate data written by ``dump_result``, and return the fields of the result."""
    if not isinstance(data, Mapping) or data.get("format") != FORMAT:
        raise ValueError(f"data must be the return value of SelectionResult.to_dict, with format {FORMAT!r}.")
    if data.get("version") != VERSION:
        raise ValueError(
            f"data has version {describe(data.get('version'))} of {FORMAT}; this release reads version {VERSION}. "
            "Load the data with the release that wrote them."
        )
    schema.check_digest(data, "data")
    plan = Plan.from_dict(data.get("plan"), "data.plan")
    n_ks = len(plan.ks)
    failure = {
        "k": schema.choice(plan.ks),
        "subsample": schema.integer(0, len(plan.seeds) - 1),
        "seed": _SEED,
        "cause": schema.text,
    }
    check = schema.record({**_SELECTION, "failures": schema.list_of(schema.record(failure))})
    # Files written by earlier releases contain neither a criterion nor a structure test.
    found = check({"criterion": "composite", "structure": None, **data}, "data")
    trials, calibration = (_load_trials(found[name], plan, f"data.{name}") for name in ("trials", "calibration"))
    n = plan.n_subsamples
    if max(trials.subsamples, default=-1) >= n or min(calibration.subsamples, default=n) < n:
        raise ValueError(
            "data.trials must contain only scored subsamples, and data.calibration only calibration subsamples."
        )
    saved = None
    if found["weights"] is not None or found["transform"] not in TRANSFORMS:
        rows = schema.list_of(schema.list_of(_WEIGHT, len(trials.subsamples)), n_ks)
        weights = rows(found["weights"], "data.weights")
        probability = schema.list_of(_WEIGHT, n_ks)(data.get("probability"), "data.probability")
        saved = Saved(_array(weights, n_ks), np.array(probability, dtype=np.float64))
    return {
        **{name: found[name] for name in (*CHOICE_CHECKS, "versions")},
        "plan": plan,
        "trials": trials,
        "calibration": calibration,
        "failures": tuple(Failure(**failure) for failure in found["failures"]),
        "preparation": rebuild(Preparation, found["preparation"], "data.preparation"),
        "structure": rebuild(Structure, found["structure"], "data.structure"),
        "_saved": saved,
    }


def dump(value: Preparation | Structure | None) -> dict[str, Any] | None:
    """Return a dataclass as plain data, with lists instead of tuples; return None for None."""
    if value is None:
        return None
    return {name: list(entry) if isinstance(entry, tuple) else entry for name, entry in asdict(value).items()}


def rebuild(cls: type[Dumped], data: Any, where: str) -> Dumped | None:
    """Validate data written by ``dump``, and rebuild the dataclass; return None for None."""
    if data is None:
        return None
    found = schema.record(schema.checks_of(cls))(data, where)
    values: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in found.items()}
    return cls(**values)


def dump_trial(trial: Trial, plan: Plan) -> dict[str, Any]:
    """Return a trial as plain data, identified by its seed because its index depends on the number of subsamples."""
    failed = {failure.k for failure in trial.failures}
    dropped = [k for k, value in zip(plan.ks, trial.micro, strict=True) if np.isnan(value) and k not in failed]
    return {
        "seed": plan.seeds[trial.index],
        "after": plan.before(trial.index),
        **{name: plain(np.array(getattr(trial, name))) for name in _stored(plan)},
        "failures": [{"k": failure.k, "cause": failure.cause} for failure in trial.failures],
        **({"left_out": dropped} if dropped else {}),
    }


def load_trial(data: Any, index: int, ks: Sequence[int], where: str = "trial") -> Trial:
    """Validate a trial against the candidates, and rebuild the trial with the specified index."""
    schema.record({})(data, where)
    names = [name for name in NUMBERS if name in ("micro", "macro") or name in data]
    fields = {
        "seed": _SEED,
        "after": schema.optional(_SEED),
        "failures": schema.list_of(schema.record({"k": schema.choice(ks), "cause": schema.text})),
        "left_out": schema.list_of(schema.choice(ks)),
        **dict.fromkeys(names, schema.list_of(_SILHOUETTE, len(ks))),
    }
    found = schema.record(fields)({"after": None, "left_out": [], **data}, where)
    missing = {failure["k"] for failure in found["failures"]} | set(found["left_out"])
    for name in names:
        # A number must be missing if and only if the clustering failed or its k was dropped.
        if name not in _MAY_LACK and [value is None for value in found[name]] != [k in missing for k in ks]:
            raise ValueError(f"{where}.{name} must be null for exactly those values of k that failed or were left out.")
    failures = tuple(Failure(f["k"], index, found["seed"], f["cause"]) for f in found["failures"])
    numbers: dict[str, Any] = {name: tuple(_array(found[name], len(ks))[:, 0].tolist()) for name in names}
    return Trial(index, failures=failures, **numbers)


def pack_trial(trial: Trial, plan: Plan) -> dict[str, Any]:
    """Return a trial with base64-encoded numbers, a third of the plain size; the plan supplies the seeds."""
    numbers = [np.array(getattr(trial, name), dtype).tobytes() for name, dtype in _packed(plan).items()]
    failures = dump_trial(trial, plan)["failures"]
    bits = np.packbits(np.array(trial.small) == 1.0).tobytes()
    text = b64encode(b"".join([*numbers, bits])).decode()
    return {PACKED: text, **({"failures": failures} if failures else {})}


def unpack_trial(record: Any, index: int, plan: Plan) -> Any:
    """Return a packed trial in the format of ``dump_trial``; return other records unchanged."""
    if not isinstance(record, Mapping) or PACKED not in record:
        return record
    raw, found = b64decode(record[PACKED], validate=True), {}
    for name, dtype in _packed(plan).items():
        size = dtype.itemsize * len(plan.ks)
        found[name], raw = plain(np.frombuffer(raw[:size], dtype)), raw[size:]
    bits = np.unpackbits(np.frombuffer(raw, np.uint8)).tolist()
    if len(raw) != -(-len(plan.ks) // 8):
        raise ValueError("the trial must contain one value per k.")
    found["small"] = [None if micro is None else float(bit) for micro, bit in zip(found["micro"], bits, strict=False)]
    own = {"seed": plan.seeds[index], "after": plan.before(index), "failures": [], **found}
    return {**own, **{name: value for name, value in record.items() if name != PACKED}}


def read_trial(record: Any, index: int, plan: Plan) -> Trial:
    """Rebuild the trial of subsample ``index`` from a packed or plain record; raise if the seeds do not match."""
    found = unpack_trial(record, index, plan)
    if found["seed"] != plan.seeds[index] or found.get("after") not in (None, plan.before(index)):
        raise ValueError("the trial belongs to a different subsample.")
    return load_trial(found, index, plan.ks)


def _stored(plan: Plan) -> list[str]:
    """Return the names of the stored values; with one initialisation, omit the ``best_`` values."""
    return [name for name in NUMBERS if plan.n_starts > 1 or not name.startswith("best_")]


def _packed(plan: Plan) -> dict[str, np.dtype[Any]]:
    """Return the dtypes of the packed numbers; "small" is packed as bits."""
    return {name: np.dtype("<f4" if name in SINGLE else "<f8") for name in _stored(plan) if name != "small"}


def _dump_trials(trials: Trials, plan: Plan) -> dict[str, Any]:
    return {"subsamples": list(trials.subsamples), **{name: plain(getattr(trials, name)) for name in _stored(plan)}}


def _load_trials(data: Any, plan: Plan, where: str) -> Trials:
    schema.record(dict.fromkeys(("subsamples", "micro", "macro"), schema.anything))(data, where)
    subsamples = schema.list_of(schema.integer(0, len(plan.seeds) - 1))(data["subsamples"], f"{where}.subsamples")
    if subsamples != sorted(set(subsamples)):
        raise ValueError(f"{where}.subsamples must be ascending and unique.")
    rows = schema.list_of(schema.list_of(_SILHOUETTE, len(subsamples)), len(plan.ks))
    names = [name for name in NUMBERS if name in data]
    arrays = {name: _array(rows(data[name], f"{where}.{name}"), len(plan.ks)) for name in names}
    for name in names:
        if name not in _MAY_LACK and not np.array_equal(np.isnan(arrays[name]), np.isnan(arrays["micro"])):
            raise ValueError(f"{where}.micro and {name} must have the same missing values.")
    return Trials(tuple(subsamples), **arrays)


def _array(values: Any, n_ks: int) -> Array:
    # NumPy converts None to NaN in a float array.
    return np.array(values, dtype=np.float64).reshape(n_ks, -1)


def plain(values: Array) -> Any:
    """Return nested lists of floats, with None for values that are not finite."""
    if values.ndim > 1:
        return [plain(row) for row in values]
    return [float(value) if np.isfinite(value) else None for value in values]
