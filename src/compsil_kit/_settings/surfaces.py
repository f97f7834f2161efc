"""How a function takes a group of keywords: its checks, its signature and its docstring come from the definitions."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from compsil_kit._settings.keywords import SelectKeywords, defaults_of, keywords_of
from compsil_kit._settings.rules import check_together
from compsil_kit._util.format import did_you_mean

PLACEHOLDER = re.compile(r"^( *)\{keywords\}\n", re.MULTILINE)
Documented = TypeVar("Documented", bound=Callable[..., Any])


def check_keywords(group: type, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the value of every keyword of a group, as given or by default, checked by itself and with the others."""
    known = keywords_of(group)
    for name in given:
        if name not in known:
            hint = did_you_mean([name], known)
            raise TypeError(f"unexpected keyword argument {name!r}.{hint} The keywords are {', '.join(known)}.")
    values = {name: keyword.check(given.get(name, keyword.default)) for name, keyword in known.items()}
    check_together({**defaults_of(SelectKeywords), **values})
    return values


def documented(group: type, *, interactive: bool = False) -> Callable[[Documented], Documented]:
    """Put the definitions of a group of keywords where a docstring says ``{keywords}``."""

    def decorate(thing: Documented) -> Documented:
        # Without docstrings (python -OO) there is nothing to fill in.
        thing.__doc__ = thing.__doc__ and PLACEHOLDER.sub(
            lambda at: textwrap.indent(_entries(group, interactive), at[1]), thing.__doc__
        )
        return thing

    return decorate


def takes(group: type, *, interactive: bool = False) -> Callable[[Documented], Documented]:
    """Show the keywords behind a function's ``**keywords`` in its docstring and, for tools, in its signature.

    ``interactive`` shows the defaults where somebody waits; the function itself has to fill them in.
    """

    def decorate(function: Documented) -> Documented:
        signature = inspect.signature(function)
        own = [p for p in signature.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
        shown = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=keyword.default)
            for name, keyword in keywords_of(group, interactive=interactive).items()
        ]
        function.__signature__ = signature.replace(parameters=[*own, *shown])  # type: ignore[attr-defined]
        return documented(group, interactive=interactive)(function)

    return decorate


def _entries(group: type, interactive: bool) -> str:
    """Return the keywords as entries of a numpydoc section."""
    return "".join(
        f"{name} : {keyword.type}\n{textwrap.fill(keyword.doc, 110, initial_indent='    ', subsequent_indent='    ')}\n"
        for name, keyword in keywords_of(group, interactive=interactive).items()
    )
