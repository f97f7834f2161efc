"""``SelectKOperator``, which loads the data, selects k and returns k*. All work is done in ``execute``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from compsil_airflow.checkpoints import (
    AUTO,
    LogProgress,
    automatic_checkpoint,
    delete_checkpoint,
    mirrored,
    resolve_checkpoint,
)
from compsil_airflow.compat import AirflowSkipException, Context
from compsil_airflow.errors import data_errors, interruptions, without_values
from compsil_airflow.lineage import LineageOperator, ReportLink, check_report_url
from compsil_airflow.parameters import (
    AuthorTemplatesOperator,
    parse_operator_parameters,
    parse_settings,
    passed_by_dag,
    passed_by_expand,
    wrap,
)
from compsil_airflow.results import check_labels_keep, publish
from compsil_airflow.source import Source, bind
from compsil_airflow.storage import LABELS_ENDINGS, REPORT_ENDINGS, Place, check_outputs, resolve_output
from compsil_airflow.summary import THRESHOLDS, check_thresholds

if TYPE_CHECKING:
    from compsil_airflow.compat import XComArg
    from compsil_airflow.summary import OnUnsure
    from compsil_airflow.types import Data, Location, Template
    from compsil_kit import PreparedTable, SelectionResult, SourceTable, adapters
    from compsil_kit.config import SelectionConfig, TableConfig


class SelectKOperator(AuthorTemplatesOperator, LineageOperator):
    """Select the number of clusters for a table and push it to XCom.

    The return value is k* as a plain integer. The ``selection`` XCom contains a JSON summary: the curve with standard
    errors and selection probabilities, the settings, the columns, warnings and versions. All parameters except
    ``python_callable`` are templated, and strings are converted to the type of the parameter. Functions and
    estimators are used unchanged.

    Parameters
    ----------
    data : path or URI, optional
        A CSV, TSV, Parquet, Feather or JSON Lines file, local or in an object store; or a folder or glob of Parquet
        files, which are read in parts and need not fit into memory. The path may come from the XCom of an upstream
        task. Pass exactly one of ``data``, ``sql`` and ``python_callable``.
    conn_id : str, optional
        The Airflow connection for ``data`` or ``sql``.
    sql : str, optional
        A query to run on ``conn_id``, which may be any connection with a ``DbApiHook``.
    parameters : list or dict, optional
        Values for the placeholders in the query.
    python_callable : callable, optional
        A function that returns a table in memory, an out-of-core table (a PyArrow dataset, a Polars LazyFrame, a DuckDB
        relation, or a Dask or Spark DataFrame), or the path to a file. It is called as in a PythonOperator.
    op_args, op_kwargs : list, dict, optional
        Arguments for ``python_callable``.
    base_dir : path, optional
        The folder that must contain all local paths after symbolic links are resolved. Relative paths start in this
        folder.
    columns, scale, missing
        As in ``df.compsil.select_k``: the columns to use, how to scale them, and what to do with missing values.
    ks, clusterer, n_subsamples, sample_size, metric, transform, rule, z, criterion, n_starts, n_calibration, \
    structure, on_failure, n_jobs, random_state
        As in :func:`compsil_kit.select_k`. ``ks`` may also be a string such as ``"2:10"`` or ``"2,3,5"``.
    checkpoint : "auto", path, URI or None, default="auto"
        File in which finished subsamples are kept until the task succeeds, so that a retry resumes from them.
        ``"auto"`` uses one file per task instance in Airflow's home folder, and None disables checkpoints. For a URI,
        the object is downloaded at the start of an attempt, and uploaded every few seconds and at the end.
    labels_path : path or URI, optional
        File to which the cluster of each row is written; must end in ``.parquet`` or ``.csv``.
    labels_keep : list of names, optional
        Columns of the data to copy to the labels file, such as a join key.
    report_path : path or URI, optional
        File to which the report is written; must end in ``.html`` or ``.htm``.
    report_url : str, optional
        The http or https URL at which the report is served. The task's page in the Airflow UI shows it as a link.
    min_probability : float, optional
        The lowest selection probability at which k* is accepted, from 0 to 1.
    min_confidence : float, optional
        The lowest confidence at which k* is accepted, from 0 to 1; k* is not accepted if its confidence is unknown.
    fallback_k : int, optional
        The k to return if the selection probability or the confidence is too low.
    on_unsure : {"fail", "skip", "fallback"}, optional
        What to do if the selection probability or the confidence is too low. The default is ``"fallback"`` if
        ``fallback_k`` is passed, and ``"fail"`` otherwise. The summary and the report are stored in all cases.
    **kwargs
        Arguments of BaseOperator: ``task_id``, ``retries``, ``outlets`` and so on. The ``extra`` field of asset events
        contains ``best_k``.

    Examples
    --------
    ::

        select = SelectKOperator(task_id="select_k", data="/data/features.parquet", ks="2:10")
        cluster(k=select.output)
    """

    template_ext: Sequence[str] = (".sql",)
    template_fields_renderers: Mapping[str, str] = {"sql": "sql", "op_args": "py", "op_kwargs": "py"}
    shallow_copy_attrs: Sequence[str] = ("python_callable", "clusterer", "metric", "transform")
    operator_extra_links = (ReportLink(),)
    ui_color = "#e8f1f8"

    def __init__(
        self,
        *,
        data: Location | None = None,
        conn_id: Template | None = None,
        sql: Template | None = None,
        parameters: Sequence[Any] | Mapping[str, Any] | Template | None = None,
        python_callable: Callable[..., Any] | None = None,
        op_args: Collection[Any] | XComArg | None = None,
        op_kwargs: Mapping[str, Any] | XComArg | None = None,
        base_dir: Location | None = None,
        columns: Sequence[str] | Template | None = None,
        scale: adapters.Scale | Template | None = "standard",
        missing: adapters.Missing | Template = "raise",
        ks: int | Sequence[int | str] | Template = "2:10",
        clusterer: adapters.ClustererLike | Template = "kmeans",
        n_subsamples: int | Literal["auto"] | Template = 30,
        sample_size: float | Literal["auto", "paper"] | Template = "auto",
        metric: adapters.MetricLike | Template = "euclidean",
        transform: adapters.Transform | Template = "tanh",
        rule: adapters.Rule | Template = "max",
        z: float | Template = 1.0,
        criterion: adapters.Criterion | Template = "composite",
        n_starts: int | Literal["auto"] | Template = "auto",
        n_calibration: int | Template = 0,
        structure: bool | Template = False,
        on_failure: adapters.OnFailure | Template = "raise",
        n_jobs: int | Literal["auto"] | Template | None = 1,
        random_state: adapters.Seeds | Sequence[str] | Template = 42,
        checkpoint: Literal["auto"] | Location | None = "auto",
        labels_path: Location | None = None,
        labels_keep: Sequence[str] | Template | None = None,
        report_path: Location | None = None,
        report_url: Template | None = None,
        min_probability: float | Template | None = None,
        min_confidence: float | Template | None = None,
        fallback_k: int | Template | None = None,
        on_unsure: OnUnsure | Template | None = None,
        **kwargs: Any,
    ) -> None:
        """Store the arguments; nothing is validated or imported while the DAG is parsed."""
        # Capture the arguments before defining locals.
        arguments = {name: value for name, value in locals().items() if name not in ("self", "kwargs", "__class__")}
        super().__init__(**kwargs)
        arguments |= {"op_args": op_args or [], "op_kwargs": op_kwargs or {}}
        arguments |= {name: wrap(arguments[name]) for name in ("clusterer", "metric", "transform")}
        for name, value in arguments.items():
            setattr(self, name, value)
        self._passed = passed_by_dag(self, ("data", "sql"))
        self._running = False
        self._checkpoint: Place | None = None
        self._labels_place: Place | None = None
        self._report_place: Place | None = None
        self._used: list[str] = []
        self._written: dict[str, dict[str, Any]] = {}
        self._facts: dict[str, Any] = {}

    template_fields: Sequence[str] = tuple(
        name for name in inspect.signature(__init__).parameters if name not in ("self", "python_callable", "kwargs")
    )

    def execute(self, context: Context) -> Any:
        """Load the data, select k, write the requested files, and return k*.

        Parameters
        ----------
        context : Context
            The context of the task instance.

        Returns
        -------
        int
            The number of clusters to use.
        """
        self._running = True
        try:
            with without_values(), interruptions(self._resume_note):
                return self._run(context)
        finally:
            self._running = False

    def on_kill(self) -> None:
        """Interrupt the task; finished subsamples are already in the checkpoint."""
        # Airflow calls this method from its signal handler, and Airflow 3 continues the task unless the method raises.
        # Airflow also calls the method after a timeout, when the task is no longer running.
        if self._running:
            self._running = False
            raise KeyboardInterrupt

    def _resume_note(self) -> str:
        """Describe where the next attempt starts if this attempt is stopped."""
        if self._checkpoint is None:
            return "There is no checkpoint, so the next attempt starts from the beginning."
        return "Finished subsamples are in the checkpoint, from which the next attempt resumes."

    def _run(self, context: Context) -> Any:
        """Run the task; subclasses for the steps of a mapped selection override this method."""
        self._parse_parameters()
        data = self._load(context)
        with data_errors():
            result = self._select(data[1], context)
        try:
            k = publish(self, result, data, context)
        except AirflowSkipException:
            self._delete_checkpoint()
            raise
        # The checkpoint is deleted last, so that a retry after a failed write need not repeat the selection.
        self._delete_checkpoint()
        return k

    def _delete_checkpoint(self) -> None:
        if self._checkpoint is not None:
            delete_checkpoint(self._checkpoint, self.log)

    def _parse_parameters(self) -> None:
        """Parse strings and validate all parameters before any data are loaded."""
        with data_errors():
            from compsil_kit.config import SelectionConfig, TableConfig

            self._selection: SelectionConfig = parse_settings(SelectionConfig, self)
            self._table: TableConfig = parse_settings(TableConfig, self)
            parse_operator_parameters(self)
            self._checkpoint = resolve_checkpoint(self.checkpoint, self.base_dir, self._selection.random_state)
            check_thresholds(self._thresholds(), self.fallback_k, self.on_unsure)
            check_report_url(self.report_url)
            if self.labels_keep is not None and self.labels_path is None:
                raise ValueError("labels_keep requires labels_path, the file to write the labels to.")
            self._labels_place = resolve_output("labels_path", self.labels_path, LABELS_ENDINGS, self.base_dir)
            self._report_place = resolve_output("report_path", self.report_path, REPORT_ENDINGS, self.base_dir)
            outputs = {"labels_path": self._labels_place, "report_path": self._report_place}
            check_outputs(self.data, outputs, self.base_dir)

    def _thresholds(self) -> dict[str, float | None]:
        return {name: getattr(self, name) for name in THRESHOLDS}

    def _load(self, context: Context) -> Data:
        """Load the table and prepare it for clustering."""
        columns = self._table.columns if isinstance(self._table.columns, list | tuple) else None
        loaded = Source(
            data=self.data,
            sql=self.sql,
            parameters=self.parameters,
            conn_id=self.conn_id,
            function=bind(self.python_callable, self.op_args, self.op_kwargs, context),
            base_dir=self.base_dir,
            passed=self._passed or passed_by_expand(self, ("data", "sql")),
            known={str(name) for name in (*(columns or ()), *(self.labels_keep or ()))},
            warn=self.log.warning,
            columns=columns,
        ).load()
        with data_errors():
            from compsil_kit import prepare

            check_labels_keep(self.labels_keep, loaded)
            config = self._table
            table = prepare(loaded, columns=config.columns, scale=config.scale, missing=config.missing)
        preparation = table.preparation
        assert preparation is not None
        self._used = list(preparation.columns)
        self.log.info("Data: %s rows; %s", f"{table.shape[0]:,}", preparation)
        for note in preparation.notes:
            self.log.warning("%s", note)
        return loaded, table

    def _select(self, table: PreparedTable | SourceTable, context: Context) -> SelectionResult:
        """Run the selection; resume from the checkpoint of an earlier attempt if it exists."""
        from compsil_kit.adapters import fingerprint, load, make_plan, open_data, run_selection
        from compsil_kit.events import Events

        progress = LogProgress(self.log)
        opened = open_data(table)
        plan = make_plan(opened, self._selection)
        self.log.info("Plan: %s", plan)
        # With random_state=None, the next attempt draws different subsamples.
        automatic = self.checkpoint == AUTO and self._selection.random_state is not None
        data = load(opened, plan, Events(progress=progress), digest=automatic or self._checkpoint is not None)
        if automatic:
            self._checkpoint = automatic_checkpoint(fingerprint(plan, data), context["ti"], self.log)
        if self._checkpoint is None or isinstance(self._checkpoint, Path):
            return run_selection(plan, data, Events(progress=progress, checkpoint=self._checkpoint))
        with mirrored(self._checkpoint, self.log) as mirror:
            uploading = mirror.with_uploads(progress)
            return run_selection(plan, data, Events(progress=uploading, checkpoint=mirror.path))
