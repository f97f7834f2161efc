"""A selection divided among mapped tasks: plan it, run batches of subsamples, combine what they return.

Data are passed by reference, so every step loads them itself; only seeds and silhouettes go through XCom.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

from compsil_airflow.compat import Context, DependencyMixin, TaskGroup
from compsil_airflow.errors import data_errors
from compsil_airflow.operator import SelectKOperator
from compsil_airflow.results import publish

# The key under which the first step keeps what was done to the table.
PREPARATION = "preparation"
# What the first step checks and the last one does.
CHECKED = ("labels_path", "labels_keep", "report_path", "min_probability", "min_confidence", "fallback_k", "on_unsure")
# What only the last step does; the others must push what they return.
RESULTS = (*CHECKED, "report_url", "outlets", "do_xcom_push")


class PlanBatchesOperator(SelectKOperator):
    """Draw the seeds of the subsamples and divide them into batches."""

    template_fields: Sequence[str] = (*SelectKOperator.template_fields, "n_batches")

    def __init__(self, *, n_batches: Any, **kwargs: Any) -> None:
        """Assign."""
        super().__init__(**kwargs)
        self.n_batches = n_batches

    def _resume_note(self) -> str:
        return "The next attempt plans again."

    def _run(self, context: Context) -> list[dict[str, Any]]:
        """Return the batches, which record how the table was prepared."""
        from compsil_kit import plan_batches
        from compsil_kit._result.records import dump
        from compsil_kit._run.request import check_plan
        from compsil_kit._settings.keywords import PlanKeywords, SelectKeywords

        self._parse_parameters()
        _, table = self._load(context)
        with data_errors():
            # A plan does not say what will be scored; how many starts that takes must be known here.
            planned = check_plan(table, SelectKeywords, self._keywords(SelectKeywords))
            keywords = {**self._keywords(PlanKeywords), "n_starts": planned.n_starts}
            batches = plan_batches(table, n_batches=self.n_batches, **keywords)
        self.log.info("%s batches of about %s subsamples", len(batches), len(batches[0]["indices"]))
        # Once: the names of many columns would make every batch large.
        context["ti"].xcom_push(key=PREPARATION, value=dump(table.preparation))
        return batches


class RunBatchOperator(SelectKOperator):
    """Compute the subsamples of one batch, as a mapped task."""

    template_fields: Sequence[str] = (*SelectKOperator.template_fields, "batch")

    def __init__(self, *, batch: Any, **kwargs: Any) -> None:
        """Assign."""
        super().__init__(**kwargs)
        self.batch = batch

    def _resume_note(self) -> str:
        return "The next attempt runs this batch again; the other batches are not affected."

    def _run(self, context: Context) -> dict[str, Any]:
        """Return the batch with the silhouettes of its subsamples."""
        from compsil_kit import run_batch
        from compsil_kit._settings.keywords import SelectKeywords

        self._parse_parameters()
        _, table = self._load(context)
        first, last = self.batch["indices"][0], self.batch["indices"][-1]
        # The name of the mapped task in the Airflow UI, by map_index_template.
        context["subsamples"] = f"subsamples {first} to {last}"
        self.log.info("Running subsamples %s to %s", first, last)
        given = self._keywords(SelectKeywords)
        with data_errors():
            return run_batch(table, self.batch, **{name: given[name] for name in ("clusterer", "metric", "n_jobs")})


class CombineBatchesOperator(SelectKOperator):
    """Select k from the finished batches; files, XComs and asset events are those of the single task."""

    template_fields: Sequence[str] = (*SelectKOperator.template_fields, "batches", "preparation")

    def __init__(self, *, batches: Any, preparation: Any, **kwargs: Any) -> None:
        """Assign."""
        super().__init__(**kwargs)
        self.batches, self.preparation = batches, preparation

    def _resume_note(self) -> str:
        return "All batches are finished; the next attempt only combines them."

    def _run(self, context: Context) -> int:
        """Return k*; the data are loaded only if labels are to be written."""
        from compsil_kit import combine_batches
        from compsil_kit._settings.keywords import ChoiceKeywords

        self._parse_parameters()
        with data_errors():
            # As a slice: iterating over the lazy sequence asks for one XCom too many, which Airflow logs as an error.
            batches = list(self.batches[:])
            result = combine_batches(batches, preparation=self.preparation, **self._keywords(ChoiceKeywords))
        self._used = list(self.preparation["columns"])
        data = None if self._labels_place is None else self._load(context)
        return publish(self, result, data, context)


class MappedSelection(DependencyMixin):
    """The steps of a mapped selection as one: ``upstream >> selection >> downstream`` orders all of them.

    Attributes
    ----------
    task_group : TaskGroup
        The group of the steps.
    combine : CombineBatchesOperator
        The last step, which returns k*.
    output : XComArg
        k*, to be passed to other tasks.
    """

    def __init__(self, task_group: Any, combine: CombineBatchesOperator) -> None:
        """Hold the group and its last step."""
        self.task_group, self.combine, self.output = task_group, combine, combine.output

    @property
    def roots(self) -> Sequence[Any]:
        """The tasks that wait for what is upstream."""
        return list(self.task_group.roots)

    @property
    def leaves(self) -> Sequence[Any]:
        """The tasks that what is downstream waits for."""
        return list(self.task_group.leaves)

    def set_upstream(self, other: Any, edge_modifier: Any = None) -> None:
        """Let all steps wait for other tasks.

        Parameters
        ----------
        other, edge_modifier
            As in BaseOperator.
        """
        self.task_group.set_upstream(other, edge_modifier=edge_modifier)

    def set_downstream(self, other: Any, edge_modifier: Any = None) -> None:
        """Let other tasks wait for all steps.

        Parameters
        ----------
        other, edge_modifier
            As in BaseOperator.
        """
        self.task_group.set_downstream(other, edge_modifier=edge_modifier)

    def update_relative(self, other: Any, upstream: bool = True, edge_modifier: Any = None) -> None:
        """Let the group remember what it depends on.

        Parameters
        ----------
        other, upstream, edge_modifier
            As in BaseOperator.
        """
        self.task_group.update_relative(other, upstream, edge_modifier=edge_modifier)


def select_k_mapped(task_id: str = "select_k", *, n_batches: Any = 8, **kwargs: Any) -> MappedSelection:
    """Divide the subsamples of a selection among mapped tasks.

    Makes a task group of three steps: ``plan``, one mapped task ``batch`` per batch of subsamples, and ``combine``,
    which returns k*. The result is that of :class:`SelectKOperator`, bit for bit, and a batch that fails is retried
    alone. Every step loads the data itself, so they must not change between the steps, and rows must keep their order
    (give a query an ``ORDER BY``). Each batch compares the data with those of the plan, and fails if they differ.

    Parameters
    ----------
    task_id : str, default="select_k"
        The name of the task group.
    n_batches : int, default=8
        Number of mapped tasks among which the subsamples are divided.
    **kwargs
        As in :class:`SelectKOperator`, except ``checkpoint``: finished batches are kept in XCom. Arguments of
        BaseOperator such as ``retries`` and ``pool`` apply to all three steps, ``outlets`` and ``do_xcom_push`` to the
        last, ``map_index_template`` to the mapped ones.

    Returns
    -------
    MappedSelection
        All steps: ``.output`` is k*, and ``>>`` and ``<<`` order the whole group.

    Examples
    --------
    ::

        select = select_k_mapped("select_k", data="/data/features.parquet", ks="2:20", n_batches=16)
        extract >> select
        cluster(k=select.output)
    """
    if "checkpoint" in kwargs:
        raise TypeError("select_k_mapped takes no checkpoint: finished batches are kept in XCom.")
    results = {name: kwargs.pop(name) for name in RESULTS if name in kwargs}
    checked = {name: value for name, value in results.items() if name in CHECKED}
    label = kwargs.pop("map_index_template", "{{ subsamples }}")
    parent = {"parent_group": group} if (group := kwargs.pop("task_group", None)) is not None else {}
    # Outside of a with statement the group, too, must be told its DAG.
    with kwargs.pop("dag", None) or nullcontext(), TaskGroup(group_id=task_id, **parent) as steps:
        plan = PlanBatchesOperator(task_id="plan", n_batches=n_batches, **kwargs, **checked)
        batch = RunBatchOperator.partial(task_id="batch", map_index_template=label, **kwargs)
        finished = batch.expand(batch=plan.output)
        combine = CombineBatchesOperator(
            task_id="combine", batches=finished.output, preparation=plan.output[PREPARATION], **kwargs, **results
        )
    return MappedSelection(steps, combine)
