"""The description of one setting: default, validation, text form and help, in the metadata of a dataclass field."""

from __future__ import annotations

import dataclasses
import inspect
import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from compsil_kit._util.format import did_you_mean

PLACEHOLDER = re.compile(r"^( *)\{keywords\}\n", re.MULTILINE)
Documented = TypeVar("Documented", bound=Callable[..., Any])
Config = TypeVar("Config")


@dataclass(frozen=True)
class Setting:
    """Describe one setting for every surface.

    Attributes
    ----------
    type : str
        Type as numpydoc shows it. A type ``bool`` makes an option without a value on a command line.
    default : object
        Value if nothing is passed.
    validate : callable
        Return the validated value, or raise with the name of the setting, the rule and the value.
    doc : str
        Documentation; its first sentence is the help text on a command line.
    parse : callable
        Convert text into a value.
    choices : tuple of str
        Words with a fixed meaning.
    text_form : str
        How to write the value as text.
    flags : tuple of str
        Further names on a command line, such as ``-B``.
    metavar : str or None
        Placeholder in help texts.
    interactive : object
        Default of the interactive surfaces (command line, magic, explorer, accessor), if it differs.
    """

    type: str
    default: Any
    validate: Callable[[Any], Any]
    doc: str
    parse: Callable[[str], Any] = str
    choices: tuple[str, ...] = ()
    text_form: str = ""
    flags: tuple[str, ...] = ()
    metavar: str | None = None
    interactive: Any = None

    @property
    def help(self) -> str:
        """Return one line for a command line: meaning, text form and default."""
        first = self.doc.partition(". ")[0].rstrip(".")
        text_form = f": {self.text_form}" if self.text_form else ""
        default = "" if self.default is None or self.is_switch else f" (default: {_default_text(self.default)})"
        return f"{first[0].lower()}{first[1:]}{text_form}{default}".replace("``", "").replace("%", "%%")

    @property
    def is_switch(self) -> bool:
        """Whether it is an option without a value on a command line."""
        return self.type.partition(",")[0] == "bool"


def setting(default: Any, validate: Callable[[Any], Any], type: str, doc: str, **others: Any) -> Any:
    """Return a dataclass field with this description."""
    return field(default=default, metadata={"setting": Setting(type, default, validate, doc, **others)})


def settings_of(*configs: type, interactive: bool = False) -> dict[str, Setting]:
    """Return the settings of config classes by name, on request with the defaults of interactive surfaces.

    Parameters
    ----------
    *configs : type
        Config classes such as ``SelectionConfig``.
    interactive : bool, default=False
        Whether to return the defaults of the interactive surfaces.
    """
    fields = [each for config in configs for each in dataclasses.fields(config)]
    found = {each.name: each.metadata["setting"] for each in fields if "setting" in each.metadata}
    return {name: _for_interactive_use(each) for name, each in found.items()} if interactive else found


def _for_interactive_use(each: Setting) -> Setting:
    if each.interactive is None:
        return each
    type = each.type.replace(f"default={each.default!r}", f'default="{each.interactive}"')
    return replace(each, default=each.interactive, type=type)


def interactive_defaults(config: type) -> dict[str, Any]:
    """Return the settings whose default differs on interactive surfaces, with that default."""
    return {name: each.interactive for name, each in settings_of(config).items() if each.interactive is not None}


def check_names(names: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    """Raise for keywords that do not exist, with the nearest name."""
    for name in names:
        if name not in known:
            hint = did_you_mean([name], known)
            raise TypeError(f"unexpected keyword argument {name!r}.{hint} The keywords are {', '.join(known)}.")


def build(config: type[Config], keywords: Mapping[str, Any]) -> Config:
    """Return a config from keywords; an unknown keyword raises with the nearest name.

    Parameters
    ----------
    config : type
        ``SelectionConfig``, ``TableConfig`` or ``ComparisonConfig``.
    keywords : mapping
        Settings by name.
    """
    check_names(keywords, settings_of(config))
    return config(**keywords)


def takes(
    *configs: type, leave_out: tuple[str, ...] = (), interactive: bool = False
) -> Callable[[Documented], Documented]:
    """Give a function with ``**keywords`` the signature and the documentation of these settings.

    Parameters
    ----------
    *configs : type
        Config classes whose settings the function takes.
    leave_out : tuple of str
        Settings that the function does not take.
    interactive : bool, default=False
        Whether to show the defaults of interactive surfaces; the function must apply them.
    """
    shown = {
        name: each for name, each in settings_of(*configs, interactive=interactive).items() if name not in leave_out
    }
    hints = {each.name: each.type for config in configs for each in dataclasses.fields(config)}

    def decorate(function: Documented) -> Documented:
        signature = inspect.signature(function)
        own = [p for p in signature.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
        keywords = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=each.default, annotation=hints[name])
            for name, each in shown.items()
        ]
        function.__signature__ = signature.replace(parameters=[*own, *keywords])  # type: ignore[attr-defined]
        return _fill_in(function, shown)

    return decorate


def documented(*configs: type, interactive: bool = False) -> Callable[[Documented], Documented]:
    """Fill in the documentation of settings where a docstring has ``{keywords}``.

    Parameters
    ----------
    *configs : type
        Config classes whose settings are documented.
    interactive : bool, default=False
        Whether to show the defaults of interactive surfaces.
    """
    return lambda thing: _fill_in(thing, settings_of(*configs, interactive=interactive))


def _fill_in(thing: Documented, shown: Mapping[str, Setting]) -> Documented:
    entries = "".join(
        f"{name} : {each.type}\n{textwrap.fill(each.doc, 110, initial_indent='    ', subsequent_indent='    ')}\n"
        for name, each in shown.items()
    )
    # There is no docstring under python -OO.
    thing.__doc__ = thing.__doc__ and PLACEHOLDER.sub(lambda at: textwrap.indent(entries, at[1]), thing.__doc__)
    return thing


def _default_text(value: Any) -> str:
    if isinstance(value, range):
        return f"{value[0]}:{value[-1]}"
    return f"{value:g}" if isinstance(value, float) else str(value)
