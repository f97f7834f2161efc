"""Trials as short text, for batches that travel through a scheduler: the bytes of their numbers in base64."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any

import numpy as np

from compsil_kit._method.plan import Plan
from compsil_kit._result.serialization import plain_numbers, trial_in, trial_names, trial_out
from compsil_kit._result.trials import SINGLE, Trial

NUMBERS = "numbers"


def pack_trial(trial: Trial, plan: Plan) -> dict[str, Any]:
    """Return a trial as plain data in a third of the room of digits.

    The seeds of the plan tell which subsample it is, so they are left out here, and so are failures if there are none.
    """
    numbers = [np.array(getattr(trial, name), _bytes_of(name)).tobytes() for name in _whole(plan)]
    failures = trial_out(trial, plan)["failures"]
    bits = np.packbits(np.array(trial.small) == 1.0).tobytes()
    text = b64encode(b"".join([*numbers, bits])).decode()
    return {NUMBERS: text, **({"failures": failures} if failures else {})}


def read_trial(record: Any, index: int, plan: Plan) -> Trial:
    """Rebuild the trial of subsample ``index``, packed or as a checkpoint keeps it; that of another is an error."""
    found = unpack_trial(record, index, plan)
    if found["seed"] != plan.seeds[index] or found.get("after") not in (None, plan.before(index)):
        raise ValueError("the trial is that of another subsample.")
    return trial_in(found, index, plan.ks)


def unpack_trial(record: Any, index: int, plan: Plan) -> Any:
    """Return the trial of subsample ``index`` as ``trial_in`` takes it; what is not packed is returned as it is."""
    if not isinstance(record, Mapping) or NUMBERS not in record:
        return record
    raw, found = b64decode(record[NUMBERS], validate=True), {}
    for name in _whole(plan):
        size = np.dtype(_bytes_of(name)).itemsize * len(plan.ks)
        found[name], raw = plain_numbers(np.frombuffer(raw[:size], _bytes_of(name))), raw[size:]
    bits = np.unpackbits(np.frombuffer(raw, np.uint8)).tolist()
    if len(raw) != -(-len(plan.ks) // 8):
        raise ValueError("the trial has more numbers than there are ks, or fewer.")
    found["small"] = [None if micro is None else float(bit) for micro, bit in zip(found["micro"], bits, strict=False)]
    others = {name: value for name, value in record.items() if name != NUMBERS}
    return {"seed": plan.seeds[index], "after": plan.before(index), "failures": [], **found, **others}


def _whole(plan: Plan) -> list[str]:
    """Return the names of what is packed as numbers; of what is but yes or no, bits are enough."""
    return [name for name in trial_names(plan) if name != "small"]


def _bytes_of(name: str) -> str:
    return "<f4" if name in SINGLE else "<f8"
