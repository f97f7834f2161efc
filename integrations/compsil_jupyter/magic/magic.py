"""``%compsil`` and ``%%compsil``, and the defaults that ``%config CompsilMagics`` sets."""

from __future__ import annotations

import ast
import os
import re
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

import traitlets
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, line_cell_magic, magics_class, needs_local_scope, no_var_expand

import compsil_jupyter
from compsil_jupyter.data import make_ready, resolve_scale
from compsil_jupyter.magic import commands, completion, parser
from compsil_jupyter.magic.parser import COMMANDS, FLAGS, OPTIONS, QUOTED, Names, did_you_mean
from compsil_kit.cli.options import report_path
from compsil_kit.util.format import one_line

# Importing this is also what gives frames their accessor.
from compsil_pandas import ColumnWarning

_CALL = re.compile(rf"(get_ipython\(\)\.run_(?:line|cell)_magic)(\('compsil'(?:, (?:{QUOTED}))+\))$", re.MULTILINE)
_SEMICOLON = re.compile(r"""\s*;[;\s]*(?:#[^'"\n]*)?\s*$""")
# Columns, files and the like belong to a single line.
_DEFAULTS = [name for name in COMMANDS["select"] if name not in ("columns", "checkpoint", "output", "quiet")]


@magics_class
class CompsilMagics(Magics):
    """``%compsil`` and ``%%compsil``; the attributes are their defaults."""

    vars().update({n: traitlets.Any(OPTIONS[n].default, help=OPTIONS[n].doc).tag(config=True) for n in _DEFAULTS})

    @traitlets.validate(*_DEFAULTS)
    def _check(self, proposal: Any) -> Any:
        """Refuse a wrong value with the keyword's own message; text is read as on a line."""
        value, keyword = proposal.value, OPTIONS[proposal.trait.name]
        if isinstance(value, str):
            with suppress(ValueError):
                value = keyword.read(value)
        try:
            return keyword.check(value)
        except (ValueError, TypeError) as error:
            raise traitlets.TraitError(f"CompsilMagics.{proposal.trait.name}: {error}") from error

    @no_var_expand
    @needs_local_scope
    @line_cell_magic
    def compsil(self, line: str, cell: str | None = None, local_ns: Names | None = None) -> Any:  # noqa: D102
        __tracebackhide__ = True
        if {"-h", "--help"} & set(line.split()):
            return print(parser.make_parser({}).format_help())
        shell: Any = self.shell
        # The body comes first, as options may use its variables.
        data = None if cell is None else run_body(shell, cell)
        # One dict, as lambdas and comprehensions inside an evaluated expression see its globals only.
        names: Names = shell.user_ns
        if local_ns is not None and local_ns is not names:
            names = {**names, **local_ns}
        command, words, given = parser.parse_line(line, names, in_cell=cell is not None)
        if cell is None:
            data = evaluate(words[0], names)
        with commands.shown_as_one_line():
            value = self._run(command, data, words[-1], given, names)
        if command == "explore" and cell is None:
            # For the lines of code that repeat what the explorer shows.
            value.expression = words[0]
        if "output" in given:
            shell.push({given["output"]: value})
        return value

    compsil.__doc__ = parser.make_parser({}).format_help()

    def _run(self, command: str, data: Any, target: str, given: Names, names: Names) -> Any:
        settings = {name: getattr(self, name) for name in COMMANDS[command] if name in _DEFAULTS} | given
        own = {name: settings.pop(name, None) for name in ("columns", "scale", "missing", "quiet", "compare", "output")}
        prepared = {
            "columns": None if own["columns"] is None else parser.read_columns(own["columns"], data, names),
            "scale": resolve_scale(own["scale"], data, settings["metric"]),
            "missing": own["missing"],
        }
        if command == "explore":
            return compsil_jupyter.explore(data, **prepared, **settings)
        table = make_ready(data, **prepared)
        for note in table.preparation.notes if table.preparation else ():
            # Four calls up is the line of the magic.
            warnings.warn(note, ColumnWarning, stacklevel=4)
        settings["progress"] = False if own["quiet"] else None
        if command == "report":
            path = names.get(target)
            file = Path(path if isinstance(path, str | os.PathLike) else parser.unquote(target)).expanduser()
            return commands.report(table, settings, report_path(file), with_comparison=bool(own["compare"]))
        return (commands.compare if command == "compare" else commands.select)(table, settings)


def evaluate(expression: str, names: Names) -> Any:
    """Return the data that an expression gives; its errors are told in one line."""
    try:
        return eval(compile(expression.strip(), "<compsil>", "eval"), names)
    except SyntaxError as error:
        hint = did_you_mean(expression.split(), [*FLAGS, *COMMANDS])
        raise UsageError(f"the data must be a Python expression; got {expression!r} ({error.msg}).{hint}") from error
    except Exception as error:
        hint = f".{did_you_mean([error.name or ''], names)}" if isinstance(error, NameError) else ""
        raise UsageError(f"evaluating {expression!r} raised {type(error).__name__}: {one_line(error)}{hint}") from error


def run_body(shell: Any, body: str) -> Any:
    """Run the body of a cell in the user's namespace, as a cell of its own would, and return its last expression."""
    __tracebackhide__ = True
    source = shell.transform_cell(body)
    name = shell.compile.cache(source, shell.execution_count, raw_code=body)
    tree = shell.transform_ast(shell.compile.ast_parse(source, name))
    if not tree.body or not isinstance(tree.body[-1], ast.Expr):
        raise UsageError("the last line of a %%compsil cell must be an expression that gives the data, such as df.")
    *statements, last = tree.body
    exec(shell.compile(ast.Module(statements, tree.type_ignores), name, "exec"), shell.user_ns)
    return eval(shell.compile(ast.Expression(last.value), name, "eval"), shell.user_ns)


def move_compsil_semicolon(lines: list[str]) -> list[str]:
    """Move a ``;`` from the end of a magic's text to the end of the statement, where IPython looks for it."""

    def move(call: re.Match[str]) -> str:
        given = ast.literal_eval(call[2])
        bare = tuple(_SEMICOLON.sub("", text) for text in given)
        return call[0] if bare == given else f"{call[1]}{bare!r};"

    return [_CALL.sub(move, line) for line in lines]


def load(shell: InteractiveShell) -> None:
    """Give the shell the magic, its completion and its ``;``, in place of what an earlier load has left."""
    unload(shell)
    shell.register_magics(CompsilMagics(shell, config=shell.config))
    shell.Completer.custom_matchers.append(completion.make_matcher(shell))
    shell.input_transformers_post.append(move_compsil_semicolon)


def unload(shell: InteractiveShell) -> None:
    """Take from the shell what :func:`load` gave it; by name, as a reloaded module has other objects."""
    shell.magics_manager.registry.pop("CompsilMagics", None)
    for magics in shell.magics_manager.magics.values():
        magics.pop("compsil", None)
    shell.configurables[:] = [c for c in shell.configurables if type(c).__name__ != "CompsilMagics"]
    matchers, transformers = shell.Completer.custom_matchers, shell.input_transformers_post
    matchers[:] = [m for m in matchers if getattr(m, "matcher_identifier", "") != completion.IDENTIFIER]
    transformers[:] = [t for t in transformers if getattr(t, "__name__", "") != move_compsil_semicolon.__name__]
