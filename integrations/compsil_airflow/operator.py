"""``SelectKOperator``: loads the data, selects k, and hands k* on. ``__init__`` assigns, ``execute`` does the rest."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compsil_airflow import files
from compsil_airflow.checkpoints import AUTO, checkpoint_path
from compsil_airflow.coerce import cast
from compsil_airflow.compat import Asset, BaseOperator, Context, context_merge, determine_kwargs
from compsil_airflow.decision import check_threshold, decide
from compsil_airflow.errors import data_errors, interruptions
from compsil_airflow.lineage import lineage_of
from compsil_airflow.links import REPORT_URL, ReportLink
from compsil_airflow.source import Source
from compsil_airflow.xcom import summarise

if TYPE_CHECKING:
    import pandas as pd

    from compsil_kit import SelectionResult
    from compsil_kit.data.table import Table

PREPARATION = ("columns", "scale", "missing")
PLAN = ("ks", "clusterer", "n_subsamples", "sample_size", "metric", "n_calibration", "random_state")
ENGINE = (*PLAN, "transform", "rule", "z", "on_failure", "n_jobs")
# Templates of these are rendered in ``execute``: as template fields, Airflow 3 would call a function given for one.
PERHAPS_FUNCTIONS = ("clusterer", "metric", "transform")
PROGRESS_SECONDS = 5.0


class SelectKOperator(BaseOperator):
    """Select the number of clusters of a table and push it to XCom.

    The return value is k* as a plain integer; the key ``selection`` holds a summary as JSON: the curve, the standard
    errors, how sure the choice is, the plan, the columns, warnings and versions. Every parameter but functions and
    estimators is templated, and text is turned into the value it stands for.

    Parameters
    ----------
    data : path or URI, optional
        A CSV, TSV, Parquet, Feather or JSON-lines file, here or in an object store; also an upstream XCom that holds
        one. Exactly one of ``data``, ``sql`` and ``python_callable`` must be given.
    conn_id : str, optional
        The Airflow connection that ``data`` or ``sql`` is read through.
    sql : str, optional
        A query to run on ``conn_id``, which may be any connection with a ``DbApiHook``.
    parameters : list or dict, optional
        Values for the query's placeholders.
    python_callable : callable, optional
        A function that returns a table, or the path of one; it is called as in a PythonOperator.
    op_args, op_kwargs : list, dict, optional
        Arguments for ``python_callable``.
    base_dir : path, optional
        A folder that local paths must not leave, links included; relative paths start there.
    columns, scale, missing
        As in ``df.compsil.select_k``: the columns to use, how to scale them, and what to do with missing values.
    ks, clusterer, n_subsamples, sample_size, metric, transform, rule, z, n_calibration, on_failure, n_jobs, \
    random_state
        As in :func:`compsil_kit.select_k`. ``ks`` may also be text such as ``"2:10"`` or ``"2,3,5"``.
    checkpoint : "auto", path or None, default="auto"
        Where finished subsamples are kept until the task succeeds, so that a retry continues: in Airflow's own folder,
        one file per task instance; in a file of your own; or nowhere.
    labels_path : path or URI, optional
        Where to write the clusters of all rows for k*, ``.parquet`` or ``.csv``.
    labels_keep : list of names, optional
        Columns of the data to write beside the labels, such as the key to join on.
    report_path : path or URI, optional
        Where to write the report, one HTML file.
    report_url : str, optional
        The address at which that report can be seen; it becomes a button in Airflow's pages.
    min_probability : float, optional
        How often a new run on the same data must choose the same k, by estimate, for k* to be handed on.
    fallback_k : int, optional
        What to hand on if it is less; None fails the task instead.
    **kwargs
        As in every operator: ``task_id``, ``retries``, ``outlets`` and so on. Assets among the outlets get ``best_k``
        in the extra of their events.

    Examples
    --------
    ::

        select = SelectKOperator(task_id="select_k", data="/data/features.parquet", ks="2:10")
        cluster(k=select.output)
    """

    template_fields: Sequence[str] = (
        "data", "conn_id", "sql", "parameters", "op_args", "op_kwargs", "base_dir", "columns", "scale", "missing", "ks",
        "n_subsamples", "sample_size", "rule", "z", "n_calibration", "on_failure", "n_jobs", "random_state",
        "checkpoint", "labels_path", "labels_keep", "report_path", "report_url", "min_probability", "fallback_k",
    )  # fmt: skip
    template_ext: Sequence[str] = (".sql",)
    template_fields_renderers: Mapping[str, str] = {"sql": "sql", "op_args": "py", "op_kwargs": "py"}
    shallow_copy_attrs: Sequence[str] = ("python_callable", *PERHAPS_FUNCTIONS)
    operator_extra_links = (ReportLink(),)
    ui_color = "#e8f1f8"

    def __init__(
        self,
        *,
        data: Any = None,
        conn_id: str | None = None,
        sql: str | None = None,
        parameters: Any = None,
        python_callable: Callable[..., Any] | None = None,
        op_args: Collection[Any] | None = None,
        op_kwargs: Mapping[str, Any] | None = None,
        base_dir: Any = None,
        columns: Any = None,
        scale: str | None = "standard",
        missing: str = "raise",
        ks: Any = "2:10",
        clusterer: Any = "kmeans",
        n_subsamples: Any = 30,
        sample_size: Any = "auto",
        metric: Any = "euclidean",
        transform: Any = "tanh",
        rule: str = "max",
        z: Any = 1.0,
        n_calibration: Any = 0,
        on_failure: str = "raise",
        n_jobs: Any = 1,
        random_state: Any = 42,
        checkpoint: Any = "auto",
        labels_path: Any = None,
        labels_keep: Any = None,
        report_path: Any = None,
        report_url: str | None = None,
        min_probability: Any = None,
        fallback_k: Any = None,
        **kwargs: Any,
    ) -> None:
        """Assign; nothing is checked or imported while a scheduler parses the file."""
        super().__init__(**kwargs)
        self.data, self.conn_id, self.sql, self.parameters, self.base_dir = data, conn_id, sql, parameters, base_dir
        self.python_callable, self.op_args, self.op_kwargs = python_callable, op_args or [], op_kwargs or {}
        self.columns, self.scale, self.missing = columns, scale, missing
        # A range is no JSON: Airflow would show and store it as text anyway.
        self.ks = list(ks) if isinstance(ks, range) else ks
        self.clusterer, self.metric, self.transform = clusterer, metric, transform
        self.n_subsamples, self.sample_size, self.n_calibration = n_subsamples, sample_size, n_calibration
        self.rule, self.z, self.on_failure = rule, z, on_failure
        self.n_jobs, self.random_state, self.checkpoint = n_jobs, random_state, checkpoint
        self.labels_path, self.labels_keep = labels_path, labels_keep
        self.report_path, self.report_url = report_path, report_url
        self.min_probability, self.fallback_k = min_probability, fallback_k
        self._working = False
        self._checkpoint: Path | None = None
        self._used: list[str] = []
        self._written: dict[str, dict[str, Any]] = {}

    def execute(self, context: Context) -> Any:
        """Load the data, select, write what was asked for, and return k*.

        Parameters
        ----------
        context : Context
            Airflow's context of the task instance.

        Returns
        -------
        int
            The number of clusters to use.
        """
        self._working = True
        try:
            with interruptions(self.after_a_stop):
                return self.work(context)
        finally:
            self._working = False

    def on_kill(self) -> None:
        """Stop at once; every finished subsample is in the checkpoint already."""
        # Airflow calls this from its signal handler, and Airflow 3 goes on with the task unless this raises. After a
        # timeout it is called too, when the work is over.
        if self._working:
            self._working = False
            raise KeyboardInterrupt("stopped by a signal")

    def after_a_stop(self) -> str:
        """Say what becomes of the work of an attempt that was stopped."""
        if self._checkpoint is None:
            return "Nothing is kept of this attempt."
        return "Finished subsamples are kept: the next attempt continues from there."

    def work(self, context: Context) -> Any:
        """Do what the task is for; the steps of a spread selection do other things here."""
        with data_errors():
            self.settle(context)
        frame = self.source(context).load()
        with data_errors():
            table = self.prepare(frame)
            result = self.select(table, context)
        k = self.hand_over(frame, result, context)
        if self._checkpoint is not None:
            # Only now: if writing the labels fails, the next attempt need not select again.
            self._checkpoint.unlink(missing_ok=True)
        return k

    def settle(self, context: Context) -> None:
        """Turn text into values, and refuse what cannot work before the work."""
        for name in PERHAPS_FUNCTIONS:
            if isinstance(value := getattr(self, name), str):
                setattr(self, name, self.render_template(value, context))
        for name in self.template_fields:
            setattr(self, name, cast(name, getattr(self, name)))
        files.check_output("labels_path", self.labels_path, files.LABEL_KINDS, self.base_dir)
        files.check_output("report_path", self.report_path, files.REPORT_KINDS, self.base_dir)
        check_threshold(self.min_probability, self.fallback_k)
        if self.labels_keep is not None and self.labels_path is None:
            raise ValueError("labels_keep needs labels_path, where the labels are written.")

    def source(self, context: Context) -> Source:
        """Return where the data come from; a function is bound to its arguments as in a PythonOperator."""
        function = None
        if self.python_callable is not None:
            context_merge(context, self.op_kwargs)
            keywords = determine_kwargs(self.python_callable, self.op_args, context)
            given = self.python_callable

            def function() -> Any:
                return given(*self.op_args, **keywords)

        return Source(self.data, self.sql, self.parameters, self.conn_id, function, self.base_dir)

    def prepare(self, frame: pd.DataFrame) -> Table:
        """Choose the columns, treat missing values and scale, as ``df.compsil`` does."""
        from compsil_kit.data.table import prepare

        files.check_keep(self.labels_keep, frame)
        table = prepare(frame, **self.given(PREPARATION))
        self._used = list(table.preparation.columns)
        self.log.info("Data: %s rows; %s", f"{len(table.matrix):,}", table.preparation)
        for note in table.preparation.notes:
            self.log.warning("%s", note)
        return table

    def given(self, names: tuple[str, ...]) -> dict[str, Any]:
        """Return some of the parameters by their names."""
        return {name: getattr(self, name) for name in names}

    def select(self, table: Table, context: Context) -> SelectionResult:
        """Run the selection, from the checkpoint of an earlier attempt if there is one."""
        from compsil_kit import select_k
        from compsil_kit.run.request import check_request

        settings = self.given(ENGINE)
        request = check_request(table.matrix, **settings, checkpoint=None)
        self.log.info("Plan: %s", request.job.plan)
        asked = None if self.checkpoint == AUTO and self.random_state is None else self.checkpoint
        self._checkpoint = checkpoint_path(asked, request, context["ti"], self.log, self.base_dir)
        progress = self._tell_progress()
        found = select_k(table.matrix, **settings, checkpoint=self._checkpoint, progress=progress)
        return found.prepared(table.preparation)

    def _tell_progress(self) -> Callable[[int, int], None]:
        last, known = time.monotonic(), 0

        def tell(done: int, total: int) -> None:
            nonlocal last, known
            if done > known + 1:
                self.log.info("Continuing: %s of %s subsamples were finished by an earlier attempt", done, total)
            elif time.monotonic() - last >= PROGRESS_SECONDS or done == total:
                self.log.info("%s of %s subsamples finished", done, total)
                last = time.monotonic()
            known = done

        return tell

    def hand_over(self, frame: pd.DataFrame | None, result: SelectionResult, context: Context) -> int:
        """Log, decide whether the choice is sure enough, write files, push the summary, and return k."""
        self.log.info("%s", result.explain())
        k, notes = decide(result, self.min_probability, self.fallback_k)
        for note in notes:
            self.log.warning("%s", note)
        self._write(frame, result, k)
        summary = summarise(result, k, notes)
        task_instance = context["ti"]
        task_instance.xcom_push(key="selection", value={**summary, "files": list(self._written)})
        if self.report_url:
            task_instance.xcom_push(key=REPORT_URL, value=str(self.report_url))
        for outlet in self.outlets:
            if isinstance(outlet, Asset):
                names = ("best_k", "selected_k", "fell_back", "score", "probability")
                context["outlet_events"][outlet].extra.update({name: summary[name] for name in names})
        return k

    def _write(self, frame: pd.DataFrame | None, result: SelectionResult, k: int) -> None:
        self._written = {}
        if self.labels_path is not None and frame is not None:
            place = files.check_output("labels_path", self.labels_path, files.LABEL_KINDS, self.base_dir)
            with data_errors():
                labels = files.label_rows(frame, k, self.labels_keep, self.given(PREPARATION), self.given(ENGINE))
            self._written[str(place)] = {"rowCount": len(labels), "size": files.write_labels(place, labels)}
            self.log.info("Labels of %s rows: %s", f"{len(labels):,}", place)
        if self.report_path is not None:
            place = files.check_output("report_path", self.report_path, files.REPORT_KINDS, self.base_dir)
            self._written[str(place)] = {"size": files.write_report(place, result)}
            self.log.info("Report: %s", place)

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> Any:  # noqa: ARG002  (OpenLineage passes it)
        """Tell OpenLineage, where its provider is installed, what was read and written.

        Parameters
        ----------
        task_instance : TaskInstance
            The task instance.

        Returns
        -------
        OperatorLineage
            Inputs and files.
        """
        source = self.given(("data", "sql", "conn_id", "base_dir"))
        return lineage_of(source, self._used, self._written)
