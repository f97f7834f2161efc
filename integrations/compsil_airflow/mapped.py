"""A selection spread over workers: plan it, run batches of subsamples as mapped tasks, combine what they return.

Data travel by reference, so every step loads them itself; what goes through XCom are seeds and silhouettes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compsil_airflow.compat import Context, TaskGroup
from compsil_airflow.errors import data_errors
from compsil_airflow.operator import PREPARATION, SelectKOperator

SOURCE = ("data", "conn_id", "sql", "parameters", "python_callable", "op_args", "op_kwargs", "base_dir")
PLANNED = ("ks", "n_subsamples", "sample_size", "n_calibration", "on_failure", "random_state")
COMPUTED = ("clusterer", "metric")
CHOICE = ("transform", "rule", "z")
RESULTS = ("labels_path", "labels_keep", "report_path", "report_url", "min_probability", "fallback_k", "outlets")


class PlanBatchesOperator(SelectKOperator):
    """Decide which subsamples there are and divide them into batches."""

    template_fields: Sequence[str] = (*SelectKOperator.template_fields, "n_batches")

    def __init__(self, *, n_batches: Any, **kwargs: Any) -> None:
        """Assign."""
        super().__init__(**kwargs)
        self.n_batches = n_batches

    def work(self, context: Context) -> list[dict[str, Any]]:
        """Return the batches; they carry what was done to the table along."""
        from compsil_kit.result.serialization import preparation_out
        from compsil_kit.run.batches import plan_batches

        with data_errors():
            self.settle(context)
        frame = self.source(context).load()
        with data_errors():
            table = self.prepare(frame)
            settings = self.given((*PLANNED, *COMPUTED))
            batches = plan_batches(table.matrix, n_batches=self.n_batches, **settings)
        self.log.info("%s batches of about %s subsamples", len(batches), len(batches[0]["indices"]))
        done = preparation_out(table.preparation)
        return [{**batch, "preparation": done} for batch in batches]


class RunBatchOperator(SelectKOperator):
    """Compute the subsamples of one batch; a mapped task."""

    template_fields: Sequence[str] = (*SelectKOperator.template_fields, "batch")

    def __init__(self, *, batch: Any, **kwargs: Any) -> None:
        """Assign."""
        super().__init__(**kwargs)
        self.batch = batch

    def after_a_stop(self) -> str:
        """Say what becomes of the work of an attempt that was stopped."""
        return "The next attempt runs this batch again; the others are not touched."

    def work(self, context: Context) -> dict[str, Any]:
        """Return the batch with its trials."""
        from compsil_kit.run.batches import run_batch

        with data_errors():
            self.settle(context)
        frame = self.source(context).load()
        with data_errors():
            table = self.prepare(frame)
            first, last = self.batch["indices"][0], self.batch["indices"][-1]
            # The name of the mapped task in Airflow's pages, by map_index_template.
            context["subsamples"] = f"subsamples {first} to {last}"
            self.log.info("Running subsamples %s to %s", first, last)
            return run_batch(table.matrix, self.batch, n_jobs=self.n_jobs, **self.given(COMPUTED))


class CombineBatchesOperator(SelectKOperator):
    """Choose from the trials of all batches; from here on it is the single task."""

    template_fields: Sequence[str] = (*SelectKOperator.template_fields, "batches")

    def __init__(self, *, batches: Any, **kwargs: Any) -> None:
        """Assign."""
        super().__init__(**kwargs)
        self.batches = batches

    def after_a_stop(self) -> str:
        """Say what becomes of the work of an attempt that was stopped."""
        return "The batches are finished; the next attempt only combines them."

    def work(self, context: Context) -> int:
        """Return k*; the data are loaded only if their labels are wanted."""
        from compsil_kit.run.batches import combine_batches

        with data_errors():
            self.settle(context)
            # As a slice: going through the lazy sequence asks for one XCom too many, which Airflow logs as an error.
            result = combine_batches(list(self.batches[:]), **self.given(CHOICE))
        frame = None
        if self.labels_path is not None:
            frame = self.source(context).load()
            with data_errors():
                self.prepare(frame)
        return self.hand_over(frame, result, context)


def select_k_mapped(task_id: str = "select_k", *, n_batches: Any = 8, **kwargs: Any) -> CombineBatchesOperator:
    """Build a selection whose subsamples are shared out over workers, whatever the executor.

    Three steps in a task group: ``plan``, one mapped task ``batch`` per batch of subsamples, and ``combine``. The
    result is that of :class:`SelectKOperator`, bit for bit. A batch that fails is retried alone. Every step loads the
    data itself, so they must not change in between and rows must keep their order (give a query an ``ORDER BY``): each
    batch compares them with the plan, and fails if they differ.

    Parameters
    ----------
    task_id : str, default="select_k"
        The name of the task group.
    n_batches : int, default=8
        Mapped tasks among which the subsamples are divided.
    **kwargs
        As in :class:`SelectKOperator`, but for ``checkpoint``: what is finished is in XCom. Task arguments such as
        ``retries`` and ``pool`` go to all three steps, ``outlets`` to the last.

    Returns
    -------
    CombineBatchesOperator
        The last step. ``.output`` is k*; use ``.task_group`` to put the whole behind another task.

    Examples
    --------
    ::

        select = select_k_mapped("select_k", data="/data/features.parquet", ks="2:20", n_batches=16)
        extract >> select.task_group
        cluster(k=select.output)
    """
    if "checkpoint" in kwargs:
        raise TypeError("select_k_mapped takes no checkpoint: finished batches are kept in XCom.")
    known = (*SOURCE, *PREPARATION, *PLANNED, *COMPUTED, *CHOICE, *RESULTS, "n_jobs")
    task = {name: value for name, value in kwargs.items() if name not in known}

    def chosen(*names: str) -> dict[str, Any]:
        return {name: kwargs[name] for name in names if name in kwargs} | task

    with TaskGroup(group_id=task_id):
        data = chosen(*SOURCE, *PREPARATION, *COMPUTED)
        plan = PlanBatchesOperator(task_id="plan", n_batches=n_batches, **(data | chosen(*PLANNED)))
        batch = RunBatchOperator.partial(
            task_id="batch", map_index_template="{{ subsamples }}", **(data | chosen("n_jobs"))
        ).expand(batch=plan.output)
        names = (*PLANNED, *CHOICE, *RESULTS, "n_jobs")
        return CombineBatchesOperator(task_id="combine", batches=batch.output, **(data | chosen(*names)))
