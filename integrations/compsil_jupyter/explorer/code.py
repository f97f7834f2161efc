"""The lines of Python that compute what the explorer shows."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
from scipy import sparse

from compsil_jupyter.data import is_table
from compsil_jupyter.explorer.session import Session, fitting
from compsil_jupyter.explorer.settings import Reading, Settings

# Settings that say nothing as long as they have these values.
_SILENT = {"missing": "raise", "n_calibration": 0, "on_failure": "raise", "n_jobs": None, "columns": None,
           "criteria": "all"}  # fmt: skip
_METHOD = ("clusterer", "metric", "n_subsamples", "sample_size", "on_failure", "n_jobs", "random_state")


def code(session: Session, name: str | None, k: int | None = None) -> str:
    """Return the lines that reproduce the selection on show; with ``k``, the clusters on show as well.

    ``name`` is what the data is called in the notebook, None if it has no name there.
    """
    settings = session.shown or session.settings
    lines = _Lines(name or ("df" if is_table(session.data) else "X"), session.data, settings)
    parts = [] if name else [f"{lines.name} = ...  # put the explorer's data here"]
    parts += [lines.head(), lines.select(session.reading), *_limits(session), "print(result.explain())"]
    if k is not None and not lines.sparse:
        sampled = session.clusterings is not None and session.clusterings.sampled
        parts += ["", "# All rows; a sample is on show." if sampled else "# The clusters on show.", lines.cluster(k)]
    if session.comparison is not None:
        parts += ["", "# The other criteria.", lines.compare()]
    return "\n".join(parts) + "\n"


def _limits(session: Session) -> list[str]:
    """Say what of the run is used, where that is not all of it."""
    result = session.result
    if result is None:
        return []
    limits = []
    if session.reading.first is not None and session.reading.first < session.n_finished:
        limits.append(f"result = result.reweigh(n_subsamples={session.reading.first})  # the first ones alone")
    elif result.partial:
        limits.append(f"# On show are {result.n_subsamples} of these subsamples: the run is not finished.")
    return limits


class _Lines:
    """Writes calls for one kind of data: frames and arrays by the pandas accessor, sparse matrices by the engine."""

    def __init__(self, name: str, data: Any, settings: Settings) -> None:
        self.name, self.settings = name, settings
        self.sparse = sparse.issparse(data)
        self.criteria = fitting(data, settings)
        self.to_frame = "" if self.sparse else _to_frame(name, data)

    def head(self) -> str:
        lines = [_import_of(self.settings.clusterer)]
        if self.sparse:
            lines.append("from compsil_kit import compare, select_k")
        else:
            lines.append("import pandas as pd" if self.to_frame.startswith("pd.") else "")
            lines.append("import compsil_pandas  # gives frames the accessor .compsil")
        lines = [line for line in lines if line] + [""]
        if self.to_frame:
            lines.append(f"frame = {self.to_frame}")
        table = {} if self.sparse else self.settings.preparation
        method = {name: getattr(self.settings, name) for name in _METHOD}
        method["random_state"] = _counts(self.settings.random_state)
        lines.append(_call("method = dict", table | method))
        return "\n".join(lines) + "\n"

    def _on(self, function: str) -> str:
        data = "frame" if self.to_frame else self.name
        return f"{function}({data}, **method" if self.sparse else f"{data}.compsil.{function}(**method"

    def select(self, reading: Reading) -> str:
        width = {"z": reading.z} if reading.rule == "lcb" else {}
        keywords = {"ks": _counts(self.settings.ks), "n_calibration": self.settings.n_calibration}
        keywords |= {"transform": reading.transform, "rule": reading.rule} | width
        return f"result = {self._on('select_k')}, {_arguments(keywords)})"

    def compare(self) -> str:
        keywords = {"ks": _counts(self.settings.ks), "criteria": self.criteria}
        return f"comparison = {self._on('compare')}, {_arguments(keywords)})\nprint(comparison)"

    def cluster(self, k: int) -> str:
        return f"labels = {self._on('cluster')}, k={k})"


def _to_frame(name: str, data: Any) -> str:
    """Return how the data becomes a frame; nothing where it is one."""
    if isinstance(data, pd.DataFrame):
        return ""
    if isinstance(data, pd.Series):
        return f"{name}.to_frame()"
    return f"{name}.to_pandas()" if is_table(data) else f"pd.DataFrame({name})"


def _arguments(keywords: dict[str, Any], between: str = ", ") -> str:
    told = {name: value for name, value in keywords.items() if name not in _SILENT or value != _SILENT[name]}
    return between.join(f"{name}={_literal(value)}" for name, value in told.items())


def _call(opening: str, keywords: dict[str, Any]) -> str:
    line = f"{opening}({_arguments(keywords)})"
    return line if len(line) <= 88 else f"{opening}(\n    {_arguments(keywords, ',' + chr(10) + '    ')},\n)"


def _literal(value: Any) -> str:
    """Return a value as Python would write it; functions by their name."""
    if isinstance(value, str):
        # JSON writes text as Python does, in double quotes.
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    if callable(value) and not hasattr(value, "get_params"):
        return str(getattr(value, "__name__", type(value).__name__))
    return " ".join(repr(value).split())


def _counts(values: Any) -> Any:
    """Return a sequence of numbers as a range where it is one, else as a list; a single number as it is."""
    if values is None or isinstance(values, int | range):
        return values
    whole = [int(value) for value in values]
    steps = range(whole[0], whole[-1] + 1)
    return steps if whole == list(steps) and len(whole) > 1 else whole


def _import_of(clusterer: Any) -> str:
    """Return the import of an estimator, from the package that makes it public."""
    if not hasattr(clusterer, "get_params"):
        return ""
    home = type(clusterer).__module__.split("._")[0]
    return f"from {home} import {type(clusterer).__name__}"
