"""Generate Python code that reproduces the results shown in the explorer."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from typing import Any

import pandas as pd
from scipy import sparse

from compsil_jupyter.data import is_table
from compsil_jupyter.session import Session
from compsil_jupyter.shown import Shown, comparison_settings
from compsil_kit.adapters import is_integer, resolve_starts
from compsil_kit.config import ComparisonConfig, SelectionConfig, TableConfig, settings_of
from compsil_pandas.calls import CLUSTER_SETTINGS

LINE = 88
# Name of the data in the code if the expression is unknown; generated code never assigns to this name.
PLACEHOLDER = "data"


def generate_code(session: Session, expression: str | None, k: int | None = None) -> str:
    """Return code for the displayed selection and, with ``k``, for the displayed clusters.

    ``expression`` is the Python expression for the data in the notebook, or None if unknown.
    """
    try:
        ast.parse(expression or "", mode="eval")
    except SyntaxError:
        # The argument of a magic may contain IPython syntax.
        expression = None
    calls = _Calls(session, expression or PLACEHOLDER)
    parts = [*calls.imports(), ""]
    if expression is None:
        parts.append(f"# Replace {PLACEHOLDER!r} with the data passed to the explorer.")
    parts += [*calls.comments(), calls.select(), *_limits(session, calls.free("result"))]
    parts.append(f"print({calls.free('result')}.explain())")
    if k is not None and not calls.sparse:
        sampled = session.shown.clusterings is not None and session.shown.clusterings.sampled
        comment = "# Cluster all rows; the explorer shows a sample." if sampled else "# The displayed clusters."
        parts += ["", comment, calls.cluster(k)]
    if session.shown.comparison is not None:
        parts += ["", "# The other criteria.", calls.compare(), f"print({calls.free('comparison')})"]
    return "\n".join(parts) + "\n"


def _limits(session: Session, name: str) -> list[str]:
    """Return code or a comment that states which subsamples are used, unless all planned subsamples are."""
    result, first = session.result, session.reading.first
    if result is None:
        return []
    if first is not None and first < session.n_finished:
        return [f"{name} = {name}.reweigh(n_subsamples={first})  # only the first {first} subsamples"]
    if result.partial:
        return [f"# The explorer shows only {result.n_subsamples} of the {result.plan.n_subsamples} subsamples."]
    return []


class _Calls:
    """Generate calls to the pandas accessor or, for a sparse matrix, to the engine."""

    def __init__(self, session: Session, expression: str) -> None:
        shown = session.shown
        if shown.result is None:
            shown = Shown(session.settings)
        self.data, self.expression, self.choice = session.data, expression, session.reading.choice
        self.compared = comparison_settings(session.data, shown)
        self.sparse = sparse.issparse(session.data)
        self.settings = {**shown.settings, "random_state": shown.random_state}
        if hasattr(shown.random_state, "__len__"):
            # The seeds determine the number of subsamples, even if it was adaptive.
            self.settings["n_subsamples"] = len(shown.random_state) - shown.settings["n_calibration"]
        plan = None if shown.result is None else shown.result.plan
        if plan is not None and resolve_starts(plan.config, self.choice["criterion"]) != plan.n_starts:
            # The run used a different criterion.
            self.settings["n_starts"] = plan.n_starts
        self.names = {node.id for node in ast.walk(ast.parse(expression)) if isinstance(node, ast.Name)}

    def free(self, name: str) -> str:
        """Return a variable name that does not occur in the data expression."""
        return f"{name}_" if name in self.names else name

    def imports(self) -> list[str]:
        lines = [_import_statement(self.settings["clusterer"])]
        if self.sparse:
            lines.append("from compsil_kit import compare, select_k")
        else:
            lines.append("import pandas as pd" if self._frame().startswith("pd.") else "")
            lines.append("import compsil_pandas  # adds the df.compsil accessor")
        return [line for line in lines if line]

    def comments(self) -> list[str]:
        """Return comments about settings that are anonymous functions."""
        anonymous = [name for name, value in self._selection().items() if _function_name(value) == ""]
        return [f"# {name} is the function passed to the explorer." for name in anonymous]

    def select(self) -> str:
        return self._call("result", "select_k", self._selection())

    def cluster(self, k: int) -> str:
        used = {name: value for name, value in self._selection().items() if name in CLUSTER_SETTINGS}
        if hasattr(used.get("random_state"), "__len__"):
            used["random_state"] = used["random_state"][:1]
        return self._call("labels", "cluster", {"k": k, **used})

    def compare(self) -> str:
        given = _non_default(self.compared, ComparisonConfig, interactive=not self.sparse)
        return self._call("comparison", "compare", given)

    def _selection(self) -> dict[str, Any]:
        choice = {name: value for name, value in self.choice.items() if name != "z" or self.choice["rule"] == "lcb"}
        return _non_default({**self.settings, **choice}, SelectionConfig, interactive=not self.sparse)

    def _call(self, target: str, function: str, given: Mapping[str, Any]) -> str:
        table = {} if self.sparse else _non_default(self.settings, TableConfig)
        arguments = [f"{name}={_literal(value, name)}" for name, value in {**table, **given}.items()]
        opening = f"{self.free(target)} = "
        if self.sparse:
            opening += function
            arguments.insert(0, self.expression)
        else:
            opening += f"{self._frame()}.compsil.{function}"
        line = f"{opening}({', '.join(arguments)})"
        return line if len(line) <= LINE else f"{opening}(\n" + "".join(f"    {part},\n" for part in arguments) + ")"

    def _frame(self) -> str:
        """Return an expression that converts the data to a pandas DataFrame."""
        if not is_table(self.data):
            return f"pd.DataFrame({self.expression})"
        node = ast.parse(self.expression, mode="eval").body
        primary = isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call)
        base = self.expression if primary else f"({self.expression})"
        if isinstance(self.data, pd.DataFrame):
            return base
        return f"{base}.to_frame()" if isinstance(self.data, pd.Series) else f"{base}.to_pandas()"


def _non_default(values: Mapping[str, Any], config: type, *, interactive: bool = True) -> dict[str, Any]:
    """Return the settings that differ from their defaults (by default the interactive defaults of the accessor)."""
    known = settings_of(config, interactive=interactive)
    plain = {name: _plain(values[name]) for name in known if name in values}
    return {name: value for name, value in plain.items() if value != _plain(known[name].default)}


def _plain(value: Any) -> Any:
    """Convert NumPy types to Python types, and consecutive integers to a range."""
    value = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(value, list | tuple | range):
        return value
    parts = [part.tolist() if hasattr(part, "tolist") else part for part in value]
    if len(parts) < 3 or not all(is_integer(part) for part in parts):
        return parts
    steps = range(parts[0], parts[-1] + 1)
    # Compare lengths first, because seeds may be billions apart.
    return steps if len(steps) == len(parts) and parts == list(steps) else parts


def _literal(value: Any, name: str) -> str:
    """Return a value as Python source; a function is represented by its name."""
    if isinstance(value, str):
        # JSON and Python use the same syntax for double-quoted strings.
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return f"[{', '.join(_literal(part, name) for part in value)}]"
    function = _function_name(value)
    return " ".join(repr(value).split()) if function is None else function or name


def _function_name(value: Any) -> str | None:
    """Return the name of a function, "" for an anonymous one, and None for other values."""
    if not callable(value) or hasattr(value, "get_params"):
        return None
    name = str(getattr(value, "__name__", ""))
    return name if name.isidentifier() else ""


def _import_statement(clusterer: Any) -> str:
    """Return the statement that imports an estimator from its top-level package; empty for other clusterers."""
    if not hasattr(clusterer, "get_params"):
        return ""
    home = type(clusterer).__module__.split("._")[0]
    return f"from {home} import {type(clusterer).__name__}"
