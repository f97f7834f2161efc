"""What a finished selection leaves: files, XComs and events of assets; also if its k is not accepted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from compsil_airflow import files
from compsil_airflow.compat import Asset, Context
from compsil_airflow.decision import Decision, decide
from compsil_airflow.errors import data_errors
from compsil_airflow.keeping import kept_frame
from compsil_airflow.links import REPORT_URL
from compsil_airflow.progress import LogProgress
from compsil_airflow.xcom import summarise
from compsil_mlflow import log_if_active

if TYPE_CHECKING:
    import pandas as pd

    from compsil_airflow.operator import Data, SelectKOperator
    from compsil_kit import SelectionResult

FACTS = ("best_k", "selected_k", "fell_back", "score", "probability", "confidence")


def publish(operator: SelectKOperator, result: SelectionResult, data: Data | None, context: Context) -> int:
    """Log the result, decide on k, write the files, push the summary, and return k or end the task without one."""
    from compsil_kit._settings.keywords import SelectKeywords, TableKeywords

    operator.log.info("%s", result.explain())
    decision = decide(result, operator._thresholds(), operator.fallback_k, operator.on_unsure)
    for note in decision.notes:
        operator.log.warning("%s", note)
    written, labels = write_files(operator, result, data, decision)
    settings = operator._keywords(TableKeywords, SelectKeywords)
    summary = summarise(result, decision.k, decision.notes, settings, decision.outcome)
    operator._written, operator._facts = written, {name: summary[name] for name in (*FACTS, "outcome")}
    if operator.do_xcom_push:
        context["ti"].xcom_push(key="selection", value={**summary, "files": list(written)})
        if operator.report_url:
            context["ti"].xcom_push(key=REPORT_URL, value=str(operator.report_url))
    log_if_active(result, labels)
    if decision.stop is not None:
        raise decision.stop
    assert decision.k is not None
    for outlet in operator.outlets:
        if isinstance(outlet, Asset):
            context["outlet_events"][outlet].extra.update({name: summary[name] for name in FACTS})
    return decision.k


def _write_labels(
    operator: SelectKOperator, data: Data, k: int, keywords: Mapping[str, Any]
) -> tuple[pd.DataFrame | None, int, int]:
    """Write the labels; return them if they were in memory, their number, and the size of the file."""
    from compsil_kit._data.dataset import PreparedTable
    from compsil_kit._data.sources.beside import Beside
    from compsil_kit._run.refit import label_rows

    place, keep, (found, table) = operator._labels_place, operator.labels_keep or [], data
    with data_errors():
        if isinstance(table, PreparedTable):
            frame = files.label_rows(table, k, kept_frame(found, keep), keywords)
            return frame, len(frame), files.write_labels(place, frame)
        beside = Beside(table.source, keep) if keep else None
        given = {**keywords, "progress": (tell := LogProgress(operator.log))}
        labels = label_rows(table if beside is None else replace(table, source=beside), k, **given)
        parts = _told(labels, table.source.n_rows, tell)
        return None, *files.write_label_parts(place, parts, None if beside is None else beside.take)


def _told(parts: Iterable[Any], n_rows: int, tell: LogProgress) -> Iterator[Any]:
    """Yield labels, and log how many rows have some."""
    done = 0
    for labels in parts:
        yield labels
        done += len(labels)
        tell.rows(done, n_rows)


def write_files(
    operator: SelectKOperator, result: SelectionResult, data: Data | None, decision: Decision
) -> tuple[dict[str, dict[str, Any]], pd.DataFrame | None]:
    """Write the labels, if there is a k, and the report; return the sizes of the files, and the labels."""
    from compsil_kit._settings.keywords import SelectKeywords

    written: dict[str, dict[str, Any]] = {}
    labels = None
    if (place := operator._labels_place) is not None and data is not None and decision.k is not None:
        # With the seeds of the selection, also where random_state=None drew them.
        keywords = {**operator._keywords(SelectKeywords), "random_state": result.plan.seeds}
        labels, n_rows, size = _write_labels(operator, data, decision.k, keywords)
        written[str(place)] = {"rowCount": n_rows, "size": size}
        operator.log.info("Labels of %s rows: %s", f"{n_rows:,}", place)
    if (place := operator._report_place) is not None:
        written[str(place)] = {"size": files.write_report(place, result)}
        operator.log.info("Report: %s", place)
    return written, labels
