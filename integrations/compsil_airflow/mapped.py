"""Divide a selection among mapped tasks: plan it, run batches of subsamples, and combine their results.

Every step loads the data itself; only seeds and silhouettes are passed through XCom.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from compsil_airflow.compat import Context, DependencyMixin, TaskGroup
from compsil_airflow.errors import data_errors
from compsil_airflow.operator import SelectKOperator
from compsil_airflow.results import publish

if TYPE_CHECKING:
    from compsil_airflow.types import Template

# The XCom key under which the first step pushes the preparation of the table.
PREPARATION = "preparation"
# Parameters that the first step validates and the last step uses.
VALIDATED = (
    "labels_path",
    "labels_keep",
    "report_path",
    "min_probability",
    "min_confidence",
    "fallback_k",
    "on_unsure",
)
# Parameters for the last step only; do_xcom_push is included because the other steps must push their return values.
RESULTS = (*VALIDATED, "report_url", "outlets", "do_xcom_push")


class PlanBatchesOperator(SelectKOperator):
    """Draw the seeds of the subsamples and divide them into batches."""

    template_fields: Sequence[str] = (*SelectKOperator.template_fields, "n_batches")

    def __init__(self, *, n_batches: int | Template, **kwargs: Any) -> None:
        """Store the arguments without validating them (templates are not rendered yet)."""
        super().__init__(**kwargs)
        self.n_batches: Any = n_batches

    def _resume_note(self) -> str:
        return "The next attempt repeats the planning."

    def _run(self, context: Context) -> list[dict[str, Any]]:
        """Load the data, plan the selection, and return the batches."""
        from compsil_kit import plan_batches
        from compsil_kit.config import settings_of

        self._parse_parameters()
        _, table = self._load(context)
        config = self._selection
        # Each task passes n_jobs to run_batch.
        keywords = {name: getattr(config, name) for name in settings_of(type(config)) if name != "n_jobs"}
        with data_errors():
            batches = plan_batches(table, n_batches=self.n_batches, **keywords)
        self.log.info("%s batches of about %s subsamples", len(batches), len(batches[0]["indices"]))
        assert table.preparation is not None
        # Push it only once, because many column names would make every batch large. The JSON round trip turns tuples
        # into lists.
        preparation = json.loads(json.dumps(asdict(table.preparation)))
        context["ti"].xcom_push(key=PREPARATION, value=preparation)
        return batches


class RunBatchOperator(SelectKOperator):
    """Run the subsamples of one batch, as a mapped task."""

    template_fields: Sequence[str] = (*SelectKOperator.template_fields, "batch")

    def __init__(self, *, batch: Any, **kwargs: Any) -> None:
        """Store the arguments without validating them (templates are not rendered yet)."""
        super().__init__(**kwargs)
        self.batch = batch

    def _resume_note(self) -> str:
        return "The next attempt runs this batch again; the other batches are not affected."

    def _run(self, context: Context) -> dict[str, Any]:
        """Run the batch and return it with the silhouettes of its subsamples."""
        from compsil_kit import run_batch

        self._parse_parameters()
        _, table = self._load(context)
        first, last = self.batch["indices"][0], self.batch["indices"][-1]
        # map_index_template uses this to name the mapped task in the Airflow UI.
        context["subsamples"] = f"subsamples {first} to {last}"
        self.log.info("Running subsamples %s to %s", first, last)
        config = self._selection
        with data_errors():
            return run_batch(table, self.batch, clusterer=config.clusterer, metric=config.metric, n_jobs=config.n_jobs)


class CombineBatchesOperator(SelectKOperator):
    """Select k from the finished batches; write the same files, XComs and asset events as SelectKOperator."""

    template_fields: Sequence[str] = (*SelectKOperator.template_fields, "batches", "preparation")

    def __init__(self, *, batches: Any, preparation: Any, **kwargs: Any) -> None:
        """Store the arguments without validating them (templates are not rendered yet)."""
        super().__init__(**kwargs)
        self.batches, self.preparation = batches, preparation

    def _resume_note(self) -> str:
        return "All batches are finished; the next attempt only combines them."

    def _run(self, context: Context) -> int:
        """Combine the batches and return k*; the data are loaded only if labels are written."""
        from compsil_kit import combine_batches

        self._parse_parameters()
        # Batches contain every setting except functions.
        transform = self._selection.transform
        keywords: Any = {"transform": transform} if callable(transform) else {}
        with data_errors():
            # Slicing avoids iterating over the lazy sequence, which requests one XCom too many; Airflow logs that as an
            # error.
            result = combine_batches(list(self.batches[:]), preparation=self.preparation, **keywords)
        self._used = list(self.preparation["columns"])
        data = None if self._labels_place is None else self._load(context)
        return publish(self, result, data, context)


def _method_of_group(name: str) -> Any:
    return lambda selection, *args, **kwargs: getattr(selection.task_group, name)(*args, **kwargs)


class MappedSelection(DependencyMixin):
    """The steps of a mapped selection as a single unit, as in ``upstream >> selection >> downstream``.

    Attributes
    ----------
    task_group : TaskGroup
        The task group that contains the steps.
    combine : CombineBatchesOperator
        The last step, which returns k*.
    output : XComArg
        k*, to pass to other tasks.
    """

    def __init__(self, task_group: Any, combine: CombineBatchesOperator) -> None:
        """Store the task group and its last step."""
        self.task_group, self.combine, self.output = task_group, combine, combine.output

    # Airflow uses these members to order tasks; all of them are delegated to the task group.
    roots = property(lambda self: list(self.task_group.roots))
    leaves = property(lambda self: list(self.task_group.leaves))
    set_upstream, set_downstream, update_relative = map(
        _method_of_group, ("set_upstream", "set_downstream", "update_relative")
    )


def select_k_mapped(task_id: str = "select_k", *, n_batches: int | Template = 8, **kwargs: Any) -> MappedSelection:
    """Divide the subsamples of a selection among mapped tasks.

    Creates a task group with three steps: ``plan``, one mapped ``batch`` task per batch of subsamples, and ``combine``,
    which returns k*. The result is bit-for-bit identical to the result of :class:`SelectKOperator`, and a failed batch
    is retried without rerunning the other batches. Every step loads the data, so the data and their row order must not
    change between steps (queries need an ``ORDER BY``). A batch fails if its data differ from the planned data.

    Parameters
    ----------
    task_id : str, default="select_k"
        The name of the task group.
    n_batches : int, default=8
        Number of mapped tasks among which the subsamples are divided.
    **kwargs
        As in :class:`SelectKOperator`, except for ``checkpoint``, because XCom stores the finished batches.
        BaseOperator arguments such as ``retries`` and ``pool`` apply to all three steps, ``outlets`` and
        ``do_xcom_push`` only to the last step, and ``map_index_template`` only to the mapped tasks.

    Returns
    -------
    MappedSelection
        The task group; ``.output`` is k*, and ``>>`` and ``<<`` apply to the whole group.

    Examples
    --------
    ::

        select = select_k_mapped("select_k", data="/data/features.parquet", ks="2:20", n_batches=16)
        extract >> select
        cluster(k=select.output)
    """
    if "checkpoint" in kwargs:
        raise TypeError(
            "select_k_mapped does not support checkpoint, because XCom stores the finished batches. Omit the argument."
        )
    results = {name: kwargs.pop(name) for name in RESULTS if name in kwargs}
    validated = {name: value for name, value in results.items() if name in VALIDATED}
    label = kwargs.pop("map_index_template", "{{ subsamples }}")
    parent = {"parent_group": group} if (group := kwargs.pop("task_group", None)) is not None else {}
    # Outside a with statement, the group also needs its DAG.
    with kwargs.pop("dag", None) or nullcontext(), TaskGroup(group_id=task_id, **parent) as steps:
        plan = PlanBatchesOperator(task_id="plan", n_batches=n_batches, **kwargs, **validated)
        batch = RunBatchOperator.partial(task_id="batch", map_index_template=label, **kwargs)
        finished = batch.expand(batch=plan.output)
        combine = CombineBatchesOperator(
            task_id="combine", batches=finished.output, preparation=plan.output[PREPARATION], **kwargs, **results
        )
    return MappedSelection(steps, combine)
