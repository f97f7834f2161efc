"""The sub-commands of ``%compsil`` call the engine; what was finished before an interrupt or an error is kept."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from IPython.core.error import UsageError

from compsil_kit import ClusteringError, Comparison, Interrupted, SelectionError, SelectionResult, select_k
from compsil_kit import compare as compare_criteria
from compsil_kit.settings.keywords import CompareKeywords, keywords_of
from compsil_kit.show.report import write
from compsil_kit.util.format import one_line

_ENGINE_ERRORS = (ValueError, TypeError, ClusteringError, SelectionError, MemoryError, OSError, ImportError)


class Stopped(KeyboardInterrupt):
    """An interrupt that left no result; IPython shows it as one line."""

    def _render_traceback_(self) -> list[str]:
        return [f"{type(self).__name__}: {self}"]


@contextmanager
def shown_as_one_line(finished: SelectionResult | None = None) -> Iterator[None]:
    """Show interrupts and errors of the engine without a traceback; ``.result`` of an error is what was finished."""
    try:
        yield
    except KeyboardInterrupt as stop:
        raise Stopped("the run was interrupted before there was a result.") from stop
    except _ENGINE_ERRORS as error:
        result = getattr(error, "result", None) or finished
        refusal = UsageError(one_line(error) + (" sys.last_value.result holds what was finished." if result else ""))
        refusal.result = result  # type: ignore[attr-defined]
        raise refusal from error


def select(table: Any, keywords: dict[str, Any]) -> SelectionResult:
    """Select k; an interrupt returns the result of the finished subsamples, if there are any."""
    try:
        return select_k(table, **keywords)
    except Interrupted as stop:
        if not isinstance(stop.result, SelectionResult):
            raise
        print(f"compsil: {stop.summary}; this is the result of the finished ones.", file=sys.stderr)
        return stop.result


def compare(table: Any, keywords: dict[str, Any]) -> Comparison:
    """Compare the criteria, each of which needs all of its runs: an interrupt leaves no result."""
    return compare_criteria(
        table, **{name: keywords[name] for name in keywords_of(CompareKeywords) if name in keywords}
    )


def report(table: Any, keywords: dict[str, Any], target: Path, *, with_comparison: bool) -> SelectionResult:
    """Select k and write the result to a file; an interrupt returns the selection and writes nothing."""
    result = select(table, keywords)
    try:
        if result.partial:
            raise KeyboardInterrupt
        with shown_as_one_line(finished=result):
            write(result, target, compare(table, keywords) if with_comparison else None)
        print(f"Report: {target}")
    except KeyboardInterrupt:
        print("compsil: the run was interrupted, so no report was written.", file=sys.stderr)
    return result
