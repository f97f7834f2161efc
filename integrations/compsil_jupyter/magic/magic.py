"""The IPython magic ``%compsil``: it reads its line, calls the engine, and returns what comes back."""

from __future__ import annotations

import linecache
import sys
import warnings
from types import FrameType
from typing import Any

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import line_cell_magic, magics_class, needs_local_scope, no_var_expand

from compsil_jupyter.magic import completion
from compsil_jupyter.magic.commands import COMMANDS, Outcome, Task
from compsil_jupyter.magic.defaults import Defaults
from compsil_jupyter.magic.help import HELP
from compsil_jupyter.magic.line import Call, ends_silently, evaluate, find_columns, find_target, read_line, run_body
from compsil_jupyter.magic.options import Names, options
from compsil_kit import ClusteringError, SelectionError, SelectionResult
from compsil_kit.cli.main import one_line

# Importing this is also what gives frames their accessor.
from compsil_pandas import ColumnWarning

ENGINE_ERRORS = (ValueError, TypeError, ClusteringError, SelectionError, MemoryError, OSError, ImportError)


@magics_class
class CompsilMagics(Defaults):
    """``%compsil`` and ``%%compsil``; its attributes are the defaults that ``%config`` changes."""

    # Not @output_can_be_silenced: it would also turn `r = %compsil df;` into None.
    @no_var_expand
    @needs_local_scope
    @line_cell_magic
    def compsil(self, line: str, cell: str | None = None, local_ns: dict[str, Any] | None = None) -> Any:  # noqa: D102
        __tracebackhide__ = True
        if {"-h", "--help"} & set(line.split()):
            return print("%compsil? shows the help.")
        # As annotated by IPython, it might be None.
        shell: Any = self.shell
        names = _visible(shell.user_ns, local_ns)
        call = read_line(line, names, in_cell=cell is not None)
        data = evaluate(call.expression, names) if cell is None else run_body(shell, cell)
        outcome = self._run(call, data, names)
        if "output" in call.given:
            shell.push({call.given["output"]: outcome.value})
        silent = call.silent or (cell is not None and ends_silently(cell))
        alone = _stands_alone(sys._getframe(2))
        has_card = isinstance(outcome.value, SelectionResult) and hasattr(shell, "kernel")
        if silent or not (alone and has_card):
            # Where the card is shown, it says the same.
            for note in outcome.notes:
                warnings.warn(note, ColumnWarning, stacklevel=3)
        return None if silent and alone else outcome.value

    compsil.__doc__ = HELP

    def _run(self, call: Call, data: Any, names: Names) -> Outcome:
        """Do what the line asks for; errors of the engine become one line."""
        try:
            return COMMANDS[call.command](self._task(call, data, names))
        except ENGINE_ERRORS as error:
            raise UsageError(one_line(error)) from error

    def _task(self, call: Call, data: Any, names: Names) -> Task:
        known = {option.name for option in options(call.command)}
        settings = {name: value for name, value in self.settings().items() if name in known} | dict(call.given)
        columns, scale = settings.pop("columns", None), settings.pop("scale")
        settings.pop("output", None)
        return Task(
            data=data,
            columns=None if columns is None else find_columns(columns, data, names),
            scale=None if scale == "none" else scale,
            missing=settings.pop("missing"),
            quiet=settings.pop("quiet", False),
            with_comparison=settings.pop("compare", False),
            target=None if call.target is None else find_target(call.target, names),
            settings=settings,
        )


def _visible(everywhere: dict[str, Any], here: dict[str, Any] | None) -> dict[str, Any]:
    """Return the names that the line can see: those of the function it stands in come first.

    One dict, because lambdas and comprehensions inside an evaluated expression see its globals only.
    """
    return everywhere if here is None or here is everywhere else {**everywhere, **here}


def _stands_alone(caller: FrameType) -> bool:
    """Tell whether the magic is a statement by itself, and its value not assigned, by the line IPython made of it."""
    line = linecache.getline(caller.f_code.co_filename, caller.f_lineno, caller.f_globals)
    return line.lstrip().startswith(("get_ipython().run_line_magic(", "get_ipython().run_cell_magic("))


def load(shell: InteractiveShell) -> None:
    """Give the shell the magic and its completion, in place of what an earlier load has left."""
    unload(shell)
    shell.register_magics(CompsilMagics(shell, config=shell.config))
    shell.Completer.custom_matchers.append(completion.make_matcher(shell))


def unload(shell: InteractiveShell) -> None:
    """Take from the shell what :func:`load` gave it."""
    manager = shell.magics_manager
    manager.registry.pop("CompsilMagics", None)
    for magics in manager.magics.values():
        magics.pop("compsil", None)
    shell.configurables[:] = [c for c in shell.configurables if type(c).__name__ != "CompsilMagics"]
    matchers = shell.Completer.custom_matchers
    matchers[:] = [m for m in matchers if getattr(m, "matcher_identifier", "") != completion.IDENTIFIER]
