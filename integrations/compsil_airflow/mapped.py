"""A selection divided among mapped tasks: plan it, run batches of subsamples, combine what they return.

Data are passed by reference, so every step loads them itself; only seeds and silhouettes go through XCom.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compsil_airflow.compat import Context, TaskGroup
from compsil_airflow.errors import data_errors
from compsil_airflow.operator import SelectKOperator

# What only the last step does.
RESULTS = ("labels_path", "labels_keep", "report_path", "report_url", "min_probability", "fallback_k", "outlets")


class PlanBatchesOperator(SelectKOperator):
    """Draw the seeds of the subsamples and divide them into batches."""

    template_fields: Sequence[str] = (*SelectKOperator.template_fields, "n_batches")

    def __init__(self, *, n_batches: Any, **kwargs: Any) -> None:
        """Assign."""
        super().__init__(**kwargs)
        self.n_batches = n_batches

    def _describe_kept(self) -> str:
        return "The next attempt plans again."

    def _run(self, context: Context) -> list[dict[str, Any]]:
        """Return the batches, which record how the table was prepared."""
        from compsil_kit import plan_batches
        from compsil_kit.settings.keywords import PlanKeywords

        self._coerce_parameters()
        _, table = self._load(context)
        with data_errors():
            batches = plan_batches(table, n_batches=self.n_batches, **self._keywords(PlanKeywords))
        self.log.info("%s batches of about %s subsamples", len(batches), len(batches[0]["indices"]))
        return batches


class RunBatchOperator(SelectKOperator):
    """Compute the subsamples of one batch, as a mapped task."""

    template_fields: Sequence[str] = (*SelectKOperator.template_fields, "batch")

    def __init__(self, *, batch: Any, **kwargs: Any) -> None:
        """Assign."""
        super().__init__(**kwargs)
        self.batch = batch

    def _describe_kept(self) -> str:
        return "The next attempt runs this batch again; the other batches are not affected."

    def _run(self, context: Context) -> dict[str, Any]:
        """Return the batch with the silhouettes of its subsamples."""
        from compsil_kit import run_batch
        from compsil_kit.settings.keywords import SelectKeywords

        self._coerce_parameters()
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

    template_fields: Sequence[str] = (*SelectKOperator.template_fields, "batches")

    def __init__(self, *, batches: Any, **kwargs: Any) -> None:
        """Assign."""
        super().__init__(**kwargs)
        self.batches = batches

    def _describe_kept(self) -> str:
        return "All batches are finished; the next attempt only combines them."

    def _run(self, context: Context) -> int:
        """Return k*; the data are loaded only if labels are to be written."""
        from compsil_kit import combine_batches
        from compsil_kit.settings.keywords import ChoiceKeywords

        self._coerce_parameters()
        with data_errors():
            # As a slice: iterating over the lazy sequence asks for one XCom too many, which Airflow logs as an error.
            result = combine_batches(list(self.batches[:]), **self._keywords(ChoiceKeywords))
        data = None if self._labels_place is None else self._load(context)
        return self._push_results(result, data, context)


def select_k_mapped(task_id: str = "select_k", *, n_batches: Any = 8, **kwargs: Any) -> CombineBatchesOperator:
    """Divide the subsamples of a selection among mapped tasks.

    Returns the last of three steps in a task group: ``plan``, one mapped task ``batch`` per batch of subsamples, and
    ``combine``. The result is that of :class:`SelectKOperator`, bit for bit, and a batch that fails is retried alone.
    Every step loads the data itself, so they must not change between the steps, and rows must keep their order (give a
    query an ``ORDER BY``). Each batch compares the data with those of the plan, and fails if they differ.

    Parameters
    ----------
    task_id : str, default="select_k"
        The name of the task group.
    n_batches : int, default=8
        Number of mapped tasks among which the subsamples are divided.
    **kwargs
        As in :class:`SelectKOperator`, except ``checkpoint``: finished batches are kept in XCom. Arguments of
        BaseOperator such as ``retries`` and ``pool`` apply to all three steps, ``outlets`` to the last.

    Returns
    -------
    CombineBatchesOperator
        The last step. ``.output`` is k*, and ``.task_group`` is the group, for dependencies on other tasks.

    Examples
    --------
    ::

        select = select_k_mapped("select_k", data="/data/features.parquet", ks="2:20", n_batches=16)
        extract >> select.task_group
        cluster(k=select.output)
    """
    if "checkpoint" in kwargs:
        raise TypeError("select_k_mapped takes no checkpoint: finished batches are kept in XCom.")
    results = {name: kwargs.pop(name) for name in RESULTS if name in kwargs}
    with TaskGroup(group_id=task_id):
        plan = PlanBatchesOperator(task_id="plan", n_batches=n_batches, **kwargs)
        batch = RunBatchOperator.partial(task_id="batch", map_index_template="{{ subsamples }}", **kwargs)
        finished = batch.expand(batch=plan.output)
        return CombineBatchesOperator(task_id="combine", batches=finished.output, **kwargs, **results)
