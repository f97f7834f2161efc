"""``SelectKOperator``: it loads the data, selects k, and returns k*. ``__init__`` only assigns; ``execute`` works."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
    parse_parameter,
    passed_by_dag,
    passed_by_expand,
    unwrap,
    wrap,
)
from compsil_airflow.results import check_labels_keep, publish
from compsil_airflow.source import Source, bind
from compsil_airflow.storage import LABELS_ENDINGS, REPORT_ENDINGS, Place, check_apart, resolve_output
from compsil_airflow.summary import THRESHOLDS, check_thresholds

if TYPE_CHECKING:
    import pandas as pd

    from compsil_kit import PreparedTable, SelectionResult
    from compsil_kit._data.sources.source import Source as OutsideMemory
    from compsil_kit._data.sources.table import SourceTable

    # The table as it is, in memory or outside it, and as it is clustered.
    Data = tuple[pd.DataFrame | OutsideMemory, PreparedTable | SourceTable]


class SelectKOperator(AuthorTemplatesOperator, LineageOperator):
    """Select the number of clusters of a table and push it to XCom.

    The return value is k* as a plain integer; the XCom key ``selection`` holds a summary as JSON: the curve with
    standard errors and selection probabilities, the settings, the columns, warnings and versions. All parameters
    except ``python_callable`` are templated, and text is converted to the type of the parameter. Functions and
    estimators are passed on as they are.

    Parameters
    ----------
    data : path or URI, optional
        A CSV, TSV, Parquet, Feather or JSON Lines file, local or in an object store; or a folder or glob of Parquet
        files, which are read in parts and need not fit into memory. It may come from the XCom of an upstream task.
        Exactly one of ``data``, ``sql`` and ``python_callable`` must be given.
    conn_id : str, optional
        The Airflow connection for ``data`` or ``sql``.
    sql : str, optional
        A query to run on ``conn_id``, any connection with a ``DbApiHook``.
    parameters : list or dict, optional
        Values for the query's placeholders.
    python_callable : callable, optional
        A function that returns a table, in memory or outside it (a ``pyarrow`` dataset, a Polars LazyFrame, a DuckDB
        relation, Dask, Spark), or the path of a file. It is called as by a PythonOperator.
    op_args, op_kwargs : list, dict, optional
        Arguments for ``python_callable``.
    base_dir : path, optional
        A folder in which all local paths must be, after resolving symbolic links. Relative paths start there.
    columns, scale, missing
        As in ``df.compsil.select_k``: the columns to use, how to scale them, and what to do with missing values.
    ks, clusterer, n_subsamples, sample_size, metric, transform, rule, z, criterion, n_starts, n_calibration, \
    structure, on_failure, n_jobs, random_state
        As in :func:`compsil_kit.select_k`. ``ks`` may also be text such as ``"2:10"`` or ``"2,3,5"``.
    checkpoint : "auto", path, URI or None, default="auto"
        File in which finished subsamples are kept until the task succeeds, so that a retry resumes from them.
        ``"auto"`` keeps one file per task instance in Airflow's home folder, and None keeps none. An object in a store
        is fetched at the start, and sent every few seconds and at the end of an attempt.
    labels_path : path or URI, optional
        File for the cluster of each row, ``.parquet`` or ``.csv``.
    labels_keep : list of names, optional
        Columns of the data to copy to that file, such as a key to join on.
    report_path : path or URI, optional
        File for the report, ``.html``.
    report_url : str, optional
        The URL at which the report is served, http or https. It becomes a link on the task's page in the Airflow UI.
    min_probability : float, optional
        The lowest selection probability of k* that is accepted, from 0 to 1.
    min_confidence : float, optional
        The lowest confidence of k* that is accepted, from 0 to 1; where it is not known, k* is not accepted.
    fallback_k : int, optional
        What to return if the selection probability or the confidence is lower.
    on_unsure : {"fail", "skip", "fallback"}, optional
        What to do if it is lower: by default ``"fallback"`` if ``fallback_k`` is given, else ``"fail"``. The summary
        and the report are stored in every case.
    **kwargs
        Arguments of BaseOperator: ``task_id``, ``retries``, ``outlets`` and so on. Events of assets among the outlets
        carry ``best_k`` in their extra.

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
        criterion: Any = "composite",
        n_starts: Any = "auto",
        n_calibration: Any = 0,
        structure: Any = False,
        on_failure: str = "raise",
        n_jobs: Any = 1,
        random_state: Any = 42,
        checkpoint: Any = "auto",
        labels_path: Any = None,
        labels_keep: Any = None,
        report_path: Any = None,
        report_url: str | None = None,
        min_probability: Any = None,
        min_confidence: Any = None,
        fallback_k: Any = None,
        on_unsure: str | None = None,
        **kwargs: Any,
    ) -> None:
        """Assign; nothing is checked or imported while the DAG is parsed."""
        given = {name: value for name, value in dict(locals()).items() if name not in ("self", "kwargs", "__class__")}
        super().__init__(**kwargs)
        given |= {"op_args": op_args or [], "op_kwargs": op_kwargs or {}}
        given |= {name: wrap(given[name]) for name in ("clusterer", "metric", "transform")}
        for name, value in given.items():
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
        """Load the data, select k, write the files that were asked for, and return k*.

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
        """Stop at once; finished subsamples are in the checkpoint already."""
        # Airflow calls this from its signal handler, and Airflow 3 goes on with the task unless this raises. After a
        # timeout it is called too, when the work is over.
        if self._running:
            self._running = False
            raise KeyboardInterrupt

    def _resume_note(self) -> str:
        """Describe what the next attempt starts from if this one is stopped."""
        if self._checkpoint is None:
            return "There is no checkpoint: the next attempt starts from the beginning."
        return "Finished subsamples are in the checkpoint: the next attempt resumes from it."

    def _run(self, context: Context) -> Any:
        """Do the work of the task; the steps of a mapped selection do only a part of it."""
        self._parse_parameters()
        data = self._load(context)
        with data_errors():
            result = self._select(data[1], context)
        try:
            k = publish(self, result, data, context)
        except AirflowSkipException:
            self._delete_checkpoint()
            raise
        # Only now: if writing the labels fails, the next attempt need not select again.
        self._delete_checkpoint()
        return k

    def _delete_checkpoint(self) -> None:
        if self._checkpoint is not None:
            delete_checkpoint(self._checkpoint, self.log)

    def _parse_parameters(self) -> None:
        """Turn text into values, and refuse what cannot work before any data are loaded."""
        with data_errors():
            from compsil_kit._settings.keywords import SelectKeywords, TableKeywords
            from compsil_kit._settings.rules import check_together
            from compsil_kit._settings.surfaces import check_keywords

            for name in self.template_fields:
                setattr(self, name, parse_parameter(name, getattr(self, name)))
            self._checkpoint = resolve_checkpoint(self.checkpoint, self.base_dir)
            check_keywords(TableKeywords, self._keywords(TableKeywords))
            local = self._checkpoint if isinstance(self._checkpoint, Path) else None
            checked = check_keywords(SelectKeywords, {**self._keywords(SelectKeywords), "checkpoint": local})
            check_together({**checked, "checkpoint": self._checkpoint})
            check_thresholds(self._thresholds(), self.fallback_k, self.on_unsure)
            check_report_url(self.report_url)
            if self.labels_keep is not None and self.labels_path is None:
                raise ValueError("labels_keep requires labels_path, the file to write the labels to.")
            self._labels_place = resolve_output("labels_path", self.labels_path, LABELS_ENDINGS, self.base_dir)
            self._report_place = resolve_output("report_path", self.report_path, REPORT_ENDINGS, self.base_dir)
            outputs = {"labels_path": self._labels_place, "report_path": self._report_place}
            check_apart(self.data, outputs, self.base_dir)

    def _thresholds(self) -> dict[str, float | None]:
        return {name: getattr(self, name) for name in THRESHOLDS}

    def _keywords(self, *groups: type) -> dict[str, Any]:
        """Return the parameters that the engine defines, by group; checkpoint and progress are the operator's own."""
        from compsil_kit._settings.keywords import keywords_of

        names = [name for group in groups for name in keywords_of(group) if name not in ("checkpoint", "progress")]
        return {name: unwrap(getattr(self, name)) for name in names}

    def _load(self, context: Context) -> Data:
        """Load the table and prepare it for clustering."""
        function = bind(self.python_callable, self.op_args, self.op_kwargs, context)
        passed = self._passed or passed_by_expand(self, ("data", "sql"))
        lists = [names for names in (self.columns, self.labels_keep) if isinstance(names, list | tuple)]
        known = {str(name) for names in lists for name in names}
        place = (self.data, self.sql, self.parameters, self.conn_id, function, self.base_dir)
        columns = self.columns if isinstance(self.columns, list | tuple) else None
        found = Source(*place, passed, known, self.log.warning, columns).load()
        with data_errors():
            from compsil_kit import prepare
            from compsil_kit._settings.keywords import TableKeywords

            check_labels_keep(self.labels_keep, found)
            table = prepare(found, **self._keywords(TableKeywords))
        said = table.preparation
        assert said is not None
        self._used = list(said.columns)
        self.log.info("Data: %s rows; %s", f"{table.shape[0]:,}", said)
        for note in said.notes:
            self.log.warning("%s", note)
        return found, table

    def _select(self, table: PreparedTable | SourceTable, context: Context) -> SelectionResult:
        """Run the selection, from the checkpoint of an earlier attempt if there is one."""
        from compsil_kit._run.request import check_request
        from compsil_kit._run.select import run_selection
        from compsil_kit._settings.keywords import SelectKeywords

        kept = self.checkpoint is not None and self.random_state is not None
        tell = LogProgress(self.log)
        given = {**self._keywords(SelectKeywords), "progress": tell}
        request = check_request(table, SelectKeywords, given, digest=kept)
        self.log.info("Plan: %s", request.plan)
        if self.checkpoint == AUTO and self.random_state is not None:
            self._checkpoint = automatic_checkpoint(request.fingerprint, context["ti"], self.log)
        if self._checkpoint is None or isinstance(self._checkpoint, Path):
            return run_selection(replace(request, checkpoint=self._checkpoint), tell)
        with mirrored(self._checkpoint, self.log) as mirror:
            return run_selection(replace(request, checkpoint=mirror.path), mirror.with_uploads(tell))
