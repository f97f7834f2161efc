"""From the line (and body) of a ``%compsil`` to what it asks for: the sub-command, its options and the data."""

from __future__ import annotations

import ast
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from IPython.core.displayhook import DisplayHook
from IPython.core.error import UsageError
from scipy import sparse

from compsil_jupyter.data import as_frame
from compsil_jupyter.magic.options import COMMANDS, Names, did_you_mean, options, parse, public
from compsil_jupyter.magic.words import scan, split_commas, unquote
from compsil_kit.cli.options import report_path


@dataclass(frozen=True)
class Call:
    """What a line asks for; the expression of the data is empty in the cell form."""

    command: str
    expression: str
    given: Mapping[str, Any]
    silent: bool
    target: str | None = None


def read_line(line: str, names: Names, *, in_cell: bool) -> Call:
    """Read a line, or say what is wrong with it; nothing is evaluated yet."""
    words, missing = scan(line)
    if missing:
        raise UsageError(f"a closing {missing} is missing in: {line.strip()}")
    words = _join_lists([word for word in words if word])
    silent = bool(words) and words[-1].endswith(";")
    if silent:
        words = [*words[:-1], *filter(None, [words[-1].rstrip(";")])]
    if not words and not in_cell:
        raise UsageError("which data? For instance: %compsil df --ks 2:10. %compsil? shows all options.")
    command, rest = _command(words, names, in_cell=in_cell)
    given_words, given = parse(command, rest, names)
    if not given_words and len(rest) < len(words) and words[0] in names and not in_cell:
        # %compsil report --ks 2:5, where report is a frame.
        command, (given_words, given) = "select", parse("select", words, names)
    target = given_words.pop() if command == "report" and len(given_words) > (not in_cell) else None
    _check_complete(command, given_words, target, in_cell=in_cell)
    return Call(command, _expression(given_words), given, silent, target)


def _join_lists(words: list[str]) -> list[str]:
    """Put the value of an option together again where a space follows a comma: ``--columns a, b``."""
    joined: list[str] = []
    for word in words:
        if len(joined) > 1 and joined[-1].endswith(",") and joined[-2].startswith("--") and not word.startswith("-"):
            joined[-1] += word
        else:
            joined.append(word)
    return joined


def _command(words: list[str], names: Names, *, in_cell: bool) -> tuple[str, list[str]]:
    """Return the sub-command and the other words: a sub-command's name that stands alone may be a variable."""
    first = words[0] if words else ""
    if first in COMMANDS and (len(words) > 1 or in_cell or first not in names):
        return first, words[1:]
    followed = len(words) > 1 and not words[1].startswith("-")
    near = did_you_mean(first, COMMANDS)
    if followed and near and first.isidentifier() and first not in names:
        raise UsageError(f"unknown sub-command {first!r}.{near}")
    return "select", words


def _check_complete(command: str, words: list[str], target: str | None, *, in_cell: bool) -> None:
    if in_cell and words:
        raise UsageError(f"the data of %%compsil is the last line of the cell; {' '.join(words)!r} is too much.")
    if command == "report" and target is None:
        usage = "%%compsil report out.html" if in_cell else "%compsil report df out.html"
        raise UsageError(f"report needs {'a file' if in_cell else 'data and a file'}, such as: {usage}")
    if not in_cell and not words:
        raise UsageError(f"which data? For instance: %compsil {command} df".replace(" select", ""))


def _expression(words: list[str]) -> str:
    return unquote(words[0]) if len(words) == 1 else " ".join(words)


def evaluate(expression: str, names: dict[str, Any]) -> Any:
    """Return the data that an expression stands for; its errors, the user's own, are told in one line."""
    try:
        code = compile(expression.strip(), "<compsil>", "eval")
    except (SyntaxError, ValueError) as error:
        flags = {option.name: option.flags[-1] for name in COMMANDS for option in options(name)}
        forgotten = [flags[word] for word in expression.split() if word in flags]
        hint = f" Did you mean {forgotten[0]!r}?" if forgotten else " %compsil? shows how to say it."
        raise UsageError(f"the data must be one Python expression; got {expression!r}.{hint}") from error
    try:
        return eval(code, names)
    except NameError as error:
        near = did_you_mean(error.name or "", public(names))
        raise UsageError(f"{str(error).partition('. Did')[0].rstrip('.')}.{near}") from error
    except Exception as error:
        message = " ".join(str(error).split())
        raise UsageError(f"the data {expression!r} gives {type(error).__name__}: {message}") from error


def run_body(shell: Any, body: str) -> Any:
    """Run the body of a cell in the user's namespace, as a cell of its own would, and return its last expression."""
    __tracebackhide__ = True
    source = shell.transform_cell(body)
    name = shell.compile.cache(source, shell.execution_count, raw_code=body)
    tree = shell.compile.ast_parse(source, name)
    if not tree.body or not isinstance(tree.body[-1], ast.Expr):
        raise UsageError("the last line of a %%compsil cell must be the data: an expression, such as df.")
    tree = shell.transform_ast(tree)
    *statements, last = tree.body
    exec(shell.compile(ast.Module(statements, tree.type_ignores), name, "exec"), shell.user_ns)
    return eval(shell.compile(ast.Expression(last.value), name, "eval"), shell.user_ns)


def ends_silently(body: str) -> bool:
    """Tell whether a cell ends in ``;``, as IPython sees it."""
    return bool(DisplayHook.semicolon_at_end_of_expression(body))  # type: ignore[no-untyped-call]


def find_columns(word: str, data: Any, names: Names) -> Any:
    """Return the columns that ``--columns`` names, or those in the variable of that name if no column has it."""
    known = [] if sparse.issparse(data) else list(as_frame(data).columns)
    # Columns of arrays, and some of frames, have numbers for names.
    spelled = {str(column): column for column in known} | {name: name for name in known if isinstance(name, str)}
    if word.isidentifier() and word not in spelled and word in names:
        return names[word]
    wanted = [unquote(part.strip()) for part in split_commas(word) if part.strip()]
    return [spelled.get(name, name) for name in wanted]


def find_target(word: str, names: Names) -> Path:
    """Return where the report goes: a path, or the variable that holds one."""
    value = names.get(word)
    return report_path(Path(value if isinstance(value, str | os.PathLike) else unquote(word)).expanduser())
