"""The magics ``%compsil`` and ``%%compsil``, with defaults set by ``%config CompsilMagics``."""

from __future__ import annotations

import ast
import os
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import traitlets
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, line_cell_magic, magics_class, needs_local_scope, no_var_expand

import compsil_jupyter
from compsil_jupyter import magic_line
from compsil_jupyter.data import load_table, resolve_scale
from compsil_jupyter.magic_line import COMMANDS, FLAGS, OPTIONS, Names, did_you_mean, match_compsil
from compsil_kit import ClusteringError, Interrupted, SelectionError, SelectionResult, SourceTable, compare
from compsil_kit.adapters import (
    ENDINGS,
    QUOTED,
    Dataset,
    load,
    make_plan,
    one_line,
    open_source,
    report_path,
    run_selection,
    unquote,
    write,
)
from compsil_kit.config import ComparisonConfig, Events, SelectionConfig, TableConfig, settings_of

# This import also registers the accessor df.compsil.
from compsil_pandas import ColumnWarning

_CALL = re.compile(rf"(get_ipython\(\)\.run_(?:line|cell)_magic)(\('compsil'(?:, (?:{QUOTED}))+\))$", re.MULTILINE)
_SEMICOLON = re.compile(r"""\s*;[;\s]*(?:#[^'"\n]*)?\s*$""")
_ENGINE_ERRORS = (ValueError, TypeError, ClusteringError, SelectionError, MemoryError, OSError, ImportError)
# Options that only make sense for a single call have no default in %config.
_DEFAULTS = [name for name in COMMANDS["select"] if name not in ("columns", "checkpoint", "output", "quiet")]


@magics_class
class CompsilMagics(Magics):
    """``%compsil`` and ``%%compsil``; the attributes are the default option values."""

    vars().update({n: traitlets.Any(OPTIONS[n].default, help=OPTIONS[n].doc).tag(config=True) for n in _DEFAULTS})

    @traitlets.validate(*_DEFAULTS)
    def _validate(self, proposal: Any) -> Any:
        """Validate a default; strings are parsed as on a ``%compsil`` line."""
        value, option = proposal.value, OPTIONS[proposal.trait.name]
        if isinstance(value, str):
            with suppress(ValueError):
                value = option.parse(value)
        try:
            return option.validate(value)
        except (ValueError, TypeError) as error:
            raise traitlets.TraitError(f"CompsilMagics.{proposal.trait.name}: {error}") from error

    @no_var_expand
    @needs_local_scope
    @line_cell_magic
    def compsil(self, line: str, cell: str | None = None, local_ns: Names | None = None) -> Any:  # noqa: D102
        __tracebackhide__ = True
        if {"-h", "--help"} & set(line.split()):
            return print(magic_line.make_parser({}).format_help())
        shell: Any = self.shell
        # Run the cell body first, because options may use its variables.
        data = None if cell is None else run_body(shell, cell)
        # Merge the namespaces, because lambdas and comprehensions in an evaluated expression only see its globals.
        names = shell.user_ns if local_ns is None or local_ns is shell.user_ns else {**shell.user_ns, **local_ns}
        command, words, given = magic_line.parse_line(line, names, in_cell=cell is not None)
        if cell is None:
            data = evaluate(words[0], names)
        with one_line_errors():
            value = self._run(command, data, words[-1], given, names)
        if command == "explore" and cell is None:
            # Used in the code that the explorer generates.
            value.expression = repr(data) if isinstance(data, str) else words[0]
        if "output" in given:
            shell.push({given["output"]: value})
        return value

    compsil.__doc__ = magic_line.make_parser({}).format_help()

    def _run(self, command: str, data: Any, target: str, given: Names, names: Names) -> Any:
        settings = {name: getattr(self, name) for name in COMMANDS[command] if name in _DEFAULTS} | given
        word, quiet, others, _ = (settings.pop(name, None) for name in ("columns", "quiet", "compare", "output"))
        if command != "explore":
            data = open_source(data) or data
        columns = None if word is None else magic_line.read_columns(word, data, names)
        if command == "explore":
            return compsil_jupyter.explore(data, columns, **settings)
        scale = resolve_scale(settings.pop("scale"), data, settings["metric"])
        table_config = TableConfig(columns=columns, scale=scale, missing=settings.pop("missing"))
        events = Events(progress=False if quiet else None, checkpoint=settings.pop("checkpoint", None))
        config = None if command == "compare" else SelectionConfig(**settings)
        table = load_table(data, table_config)
        for note in table.preparation.notes if table.preparation else ():
            # Four levels up is the line with the magic.
            warnings.warn(note, ColumnWarning, stacklevel=4)
        if config is None:
            return compare(table, progress=events.progress, **settings)
        if command == "select":
            return select(table, config, events)
        path = names.get(target)
        file = Path(path if isinstance(path, str | os.PathLike) else unquote(target)).expanduser()
        return report(table, config, events, report_path(file), with_comparison=bool(others))


class Stopped(KeyboardInterrupt):
    """An interrupt without a result; IPython displays it as one line."""

    def _render_traceback_(self) -> list[str]:
        return [f"{type(self).__name__}: {self}"]


@contextmanager
def one_line_errors(finished: SelectionResult | None = None) -> Iterator[None]:
    """Display interrupts and engine errors without a traceback; ``error.result`` holds the partial result."""
    try:
        yield
    except KeyboardInterrupt as stop:
        raise Stopped("the run was interrupted before it had a result.") from stop
    except _ENGINE_ERRORS as error:
        result = getattr(error, "result", None) or finished
        hint = " The partial result is in sys.last_value.result." if result else ""
        usage_error = UsageError(one_line(error) + hint)
        usage_error.result = result  # type: ignore[attr-defined]
        raise usage_error from error


def select(table: Dataset | SourceTable, config: SelectionConfig, events: Events) -> SelectionResult:
    """Select k; after an interrupt, return the result from the finished subsamples, if any."""
    try:
        plan = make_plan(table, config)
        return run_selection(plan, load(table, plan, events), events)
    except Interrupted as stop:
        if not isinstance(stop.result, SelectionResult):
            raise
        print(f"compsil: {stop.summary}; the result covers the finished subsamples.", file=sys.stderr)
        return stop.result


def report(
    table: Dataset | SourceTable, config: SelectionConfig, events: Events, target: Path, *, with_comparison: bool
) -> SelectionResult:
    """Select k and write a report; after an interrupt, return the selection without writing a report."""
    result = select(table, config, events)
    shared = settings_of(ComparisonConfig).keys() & settings_of(SelectionConfig).keys()
    given = {name: getattr(config, name) for name in shared}
    try:
        if result.partial:
            raise KeyboardInterrupt
        with one_line_errors(finished=result):
            others = compare(table, progress=events.progress, **given) if with_comparison else None
            write(result, target, others)
        print(f"Report: {target}")
    except KeyboardInterrupt:
        print("compsil: the run was interrupted, so no report was written.", file=sys.stderr)
    return result


def evaluate(expression: str, names: Names) -> Any:
    """Return the value of a data expression, or the expression itself if it is a path or URL of Parquet data."""
    try:
        return eval(compile(expression.strip(), "<compsil>", "eval"), names)
    except Exception as error:
        if expression.rstrip("/").lower().endswith(ENDINGS) or "://" in expression or Path(expression).is_dir():
            return expression
        raise _expression_error(expression, error, names) from error


def _expression_error(expression: str, error: Exception, names: Names) -> UsageError:
    if isinstance(error, SyntaxError):
        hint = did_you_mean(expression.split(), [*FLAGS, *COMMANDS])
        return UsageError(f"the data must be a Python expression; got {expression!r} ({error.msg}).{hint}")
    hint = f".{did_you_mean([error.name or ''], names)}" if isinstance(error, NameError) else ""
    return UsageError(f"evaluating {expression!r} raised {type(error).__name__}: {one_line(error)}{hint}")


def run_body(shell: Any, body: str) -> Any:
    """Run the body of a cell in the user's namespace and return the value of its last expression."""
    __tracebackhide__ = True
    source = shell.transform_cell(body)
    name = shell.compile.cache(source, shell.execution_count, raw_code=body)
    tree = shell.transform_ast(shell.compile.ast_parse(source, name))
    if not tree.body or not isinstance(tree.body[-1], ast.Expr):
        raise UsageError("a %%compsil cell must end with an expression that gives the data, such as df.")
    *statements, last = tree.body
    exec(shell.compile(ast.Module(statements, tree.type_ignores), name, "exec"), shell.user_ns)
    return eval(shell.compile(ast.Expression(last.value), name, "eval"), shell.user_ns)


def move_semicolon(lines: list[str]) -> list[str]:
    """Move a ``;`` from the end of the magic's argument to the end of the statement, where IPython expects it."""

    def move(call: re.Match[str]) -> str:
        given = ast.literal_eval(call[2])
        bare = tuple(_SEMICOLON.sub("", text) for text in given)
        return call[0] if bare == given else f"{call[1]}{bare!r};"

    return [_CALL.sub(move, line) for line in lines]


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Add ``%compsil``, its tab completion and its ``;`` handling to the shell, replacing any earlier versions.

    Parameters
    ----------
    shell : InteractiveShell
        The shell, passed by ``%load_ext``.
    """
    unload_ipython_extension(shell)
    shell.register_magics(CompsilMagics(shell, config=shell.config))
    shell.Completer.custom_matchers.append(match_compsil)
    shell.input_transformers_post.append(move_semicolon)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Remove ``%compsil`` from the shell; frames keep their accessor.

    Parameters
    ----------
    shell : InteractiveShell
        The shell, passed by ``%unload_ext``.
    """
    shell.magics_manager.registry.pop("CompsilMagics", None)
    for magics in shell.magics_manager.magics.values():
        magics.pop("compsil", None)
    # Compare module names, because reloading a module creates new objects.
    for registered in (shell.configurables, shell.Completer.custom_matchers, shell.input_transformers_post):
        registered[:] = [r for r in registered if not getattr(r, "__module__", "").startswith("compsil_jupyter.magic")]
