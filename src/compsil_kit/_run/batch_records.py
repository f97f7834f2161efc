"""Batches as plain data: what they contain, and how it is divided, validated and read."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, get_args

from compsil_kit._data.dataset import Preparation
from compsil_kit._result.records import CHOICE_CHECKS, dump, read_trial, rebuild
from compsil_kit._result.trials import Trial
from compsil_kit._run.fingerprint import differences
from compsil_kit._types import OnFailure
from compsil_kit._util import schema
from compsil_kit._util.checks import check_integer, describe
from compsil_kit._util.format import few
from compsil_kit.config import CHOICE, SelectionConfig, settings_of
from compsil_kit.plan import Plan

FORMAT = "compsil-kit/batch"
VERSION = 1
DIGEST = "digest of the preparation"
# A longer description of the table, with the names of many columns, is not part of every batch.
MAX_PREPARATION = 1000
# Batches of earlier releases have no choice.
DEFAULT_CHOICE = {name: setting.default for name, setting in settings_of(SelectionConfig).items() if name in CHOICE}

_PLANNED = {
    "plan": schema.anything,
    "fingerprint": schema.record(
        {"clusterer": schema.text, "metric": schema.text, "on_failure": schema.choice(get_args(OnFailure))}
    ),
    "preparation": schema.optional(schema.mapping_of(schema.anything)),
    "indices": schema.list_of(schema.anything),
    "choice": schema.record(CHOICE_CHECKS),
}
_FINISHED = {**_PLANNED, "trials": schema.anything, "versions": schema.mapping_of(schema.text)}

Batch = dict[str, Any]


def divide(n_items: int, n_batches: Any, batch_size: Any) -> list[range]:
    """Return consecutive ranges, ``n_batches`` of nearly equal length or each of ``batch_size``."""
    if (n_batches is None) == (batch_size is None):
        raise ValueError("pass either n_batches or batch_size.")
    if batch_size is not None:
        edges = [*range(0, n_items, check_integer("batch_size", batch_size, minimum=1)), n_items]
    else:
        n_parts = min(n_items, check_integer("n_batches", n_batches, minimum=1))
        edges = [n_items * part // n_parts for part in range(n_parts + 1)]
    return [range(low, high) for low, high in pairwise(edges)]


def read_plan(batch: Any, name: str) -> Plan:
    """Validate a batch and return its plan."""
    if not isinstance(batch, Mapping) or batch.get("format") != FORMAT:
        raise ValueError(f"{name} must be what plan_batches or run_batch returned, with format {FORMAT!r}.")
    if batch.get("version") != VERSION:
        raise ValueError(
            f"{name} has version {describe(batch.get('version'))} of {FORMAT}; this release reads version {VERSION}. "
            "Use one release for planning, running and combining."
        )
    schema.record(_FINISHED if "trials" in batch else _PLANNED)({"choice": DEFAULT_CHOICE, **batch}, name)
    plan = Plan.from_dict(batch["plan"], f"{name}.plan")
    schema.list_of(schema.integer(0, len(plan.seeds) - 1))(batch["indices"], f"{name}.indices")
    return plan


def check_planned(planned: Mapping[str, Any], here: Mapping[str, Any]) -> None:
    """Raise if a batch is run with other data or settings than it was planned for."""
    differing = differences(planned, here)
    if differing:
        raise ValueError(
            f"batch was planned for another selection: {'; '.join(differing)}. "
            "Pass the data and settings of plan_batches, or plan again."
        )


def passed_or_named(name: str, value: Any, planned: Mapping[str, Any], names: Any) -> Any:
    """Return the clusterer or the metric: as passed, or by its name in the batch."""
    if value is None and planned[name] not in names:
        raise ValueError(
            f"batch was planned with {name}={planned[name]}, which a batch cannot contain. Pass the same {name}= again."
        )
    return planned[name] if value is None else value


def read_trials(batches: Sequence[Mapping[str, Any]], plan: Plan) -> list[Trial]:
    """Return the trials of all batches; raise unless each subsample of the plan is in one of them."""
    trials: list[Trial] = []
    for at, batch in enumerate(batches):
        _check_finished(batch, batches[0], at)
        try:
            schema.check_digest(batch, "batch")
            records = zip(batch["indices"], batch["trials"], strict=True)
            trials += [read_trial(record, index, plan) for index, record in records]
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(
                f"batches[{at}] is damaged: its trials are not those of its subsamples. Run it again."
            ) from error
    counts = Counter(trial.index for trial in trials)
    doubled = sorted(index for index, count in counts.items() if count > 1)
    if doubled:
        raise ValueError(f"batches contain subsamples {few(doubled)} more than once. Pass each batch once.")
    missing = [index for index in range(len(plan.seeds)) if index not in counts]
    if missing:
        raise ValueError(
            f"batches are missing subsamples {few(missing)} of {len(plan.seeds)}. Pass all planned batches."
        )
    return trials


def _check_finished(batch: Mapping[str, Any], first: Mapping[str, Any], at: int) -> None:
    """Raise if a batch belongs to another plan than the first one, or has not been run."""
    differing = differences(batch["fingerprint"], first["fingerprint"])
    if not differing and json.dumps(batch["plan"]) != json.dumps(first["plan"]):
        differing = ["its plan has other seeds or numbers of subsamples"]
    if differing:
        raise ValueError(
            f"batches must belong to one selection; batches[{at}] differs from batches[0]: {'; '.join(differing)}."
        )
    if "trials" not in batch:
        raise ValueError(f"batches[{at}] has not been run: pass what run_batch returned for it.")


def shorten_preparation(preparation: Batch | None) -> Batch | None:
    """Return the preparation, or its digest if it is too long for every batch."""
    if preparation is None or len(json.dumps(preparation)) <= MAX_PREPARATION:
        return preparation
    return {"n_columns": len(preparation["columns"]), DIGEST: schema.digest(preparation)}


def restore_preparation(
    held: Mapping[str, Any] | None, passed: Preparation | Mapping[str, Any] | None
) -> Preparation | None:
    """Return the preparation in the batches, or the passed one if they contain its digest."""
    if held is None or DIGEST not in held:
        return rebuild(Preparation, held, "preparation")
    if passed is None:
        warnings.warn(
            f"the names of {held['n_columns']:,} columns are not part of batches, and are missing in the result; "
            "pass preparation=table.preparation of the prepared table to combine_batches.",
            RuntimeWarning,
            stacklevel=3,
        )
        return None
    plain = dump(passed) if isinstance(passed, Preparation) else dict(passed)
    if schema.digest(plain) != held[DIGEST]:
        raise ValueError("preparation must be that of the table for which the batches were planned; it differs.")
    return rebuild(Preparation, plain, "preparation")
