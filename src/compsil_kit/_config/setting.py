"""Settings as described dataclass fields, config classes made of them, and their documentation in functions."""

from __future__ import annotations

import dataclasses
import inspect
import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self, TypeVar

from compsil_kit._util.checks import check_choice
from compsil_kit._util.format import did_you_mean

PLACEHOLDER = re.compile(r"^( *)\{keywords\}\n", re.MULTILINE)
Documented = TypeVar("Documented", bound=Callable[..., Any])


@dataclass(frozen=True)
class Setting:
    """Description of one setting, used by every interface."""

    # The type as written in numpydoc. On the command line, a ``bool`` setting is an option without a value.
    type: str
    default: Any
    # Returns the validated value, or raises an error that names the setting, the rule and the value.
    validate: Callable[[Any], Any]
    # The first sentence is the help text on the command line.
    doc: str
    parse: Callable[[str], Any] = str
    choices: tuple[str, ...] = ()
    # How to write the value as a string.
    text_form: str = ""
    # Additional option names on the command line, such as ``-B``.
    flags: tuple[str, ...] = ()
    metavar: str | None = None
    # Default in the interactive interfaces (command line, magic, explorer, accessor), if it differs.
    interactive: Any = None

    @property
    def help(self) -> str:
        """Return the help text for the command line: the meaning, how to write the value, and the default."""
        first = self.doc.partition(". ")[0].rstrip(".")
        text_form = f": {self.text_form}" if self.text_form else ""
        default = "" if self.default is None or self.is_switch else f" (default: {_default_text(self.default)})"
        return f"{first[0].lower()}{first[1:]}{text_form}{default}".replace("``", "").replace("%", "%%")

    @property
    def is_switch(self) -> bool:
        """Whether the setting is an option without a value on the command line."""
        return self.type.partition(",")[0] == "bool"


def setting(default: Any, validate: Callable[[Any], Any], type: str, doc: str, **others: Any) -> Any:
    """Return a dataclass field for a setting with this description."""
    return field(default=default, metadata={"setting": Setting(type, default, validate, doc, **others)})


def one_of(name: str, words: tuple[str, ...], doc: str) -> Any:
    """Return a dataclass field for a setting with a fixed set of words; the first word is the default."""
    listed = ", ".join(f'"{word}"' for word in words)
    type = f'{{{listed}}}, default="{words[0]}"'
    return setting(words[0], partial(check_choice, name, allowed=words), type, doc, choices=words)


def settings_of(*configs: type, interactive: bool = False) -> dict[str, Setting]:
    """Return the settings of config classes by name, optionally with the defaults of interactive interfaces."""
    fields = [each for config in configs for each in dataclasses.fields(config)]
    found = {each.name: each.metadata["setting"] for each in fields if "setting" in each.metadata}
    for name, each in found.items():
        if interactive and each.interactive is not None:
            type = each.type.replace(f"default={each.default!r}", f'default="{each.interactive}"')
            found[name] = replace(each, default=each.interactive, type=type)
    return found


def interactive_defaults(config: type) -> dict[str, Any]:
    """Return the interactive defaults that differ from the normal defaults, by the name of the setting."""
    return {name: each.interactive for name, each in settings_of(config).items() if each.interactive is not None}


def check_names(names: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    """Raise for an unknown keyword, and suggest the most similar name."""
    for name in names:
        if name not in known:
            hint = did_you_mean([name], known)
            raise TypeError(f"unexpected keyword argument {name!r}.{hint} The keywords are {', '.join(known)}.")


class Config:
    """Settings that are validated at construction and can be converted to and from strings and JSON."""

    def __post_init__(self) -> None:
        """Validate every setting."""
        self._validate(settings_of(type(self)))

    def _validate(self, settings: Mapping[str, Setting]) -> None:
        for name, each in settings.items():
            object.__setattr__(self, name, each.validate(getattr(self, name)))

    @classmethod
    def from_text(cls, texts: Mapping[str, Any]) -> Self:
        """Build a config from strings, such as ``{"ks": "2:10"}``; values that are not strings stay as they are.

        Parameters
        ----------
        texts : mapping
            Strings by the name of the setting; missing settings have their default values.
        """
        known = settings_of(cls)
        check_names(texts, known)
        return cls(**{name: parse_setting(name, known[name], value) for name, value in texts.items()})

    def to_text(self) -> dict[str, str]:
        """Return the settings as strings for :meth:`from_text`; functions and estimators become their names."""
        return {name: _as_text(value) for name, value in self.to_dict().items()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], **others: Any) -> Self:
        """Build a config from keywords or a dict from :meth:`to_dict`; unknown names raise an error.

        Parameters
        ----------
        data : mapping
            Settings by name; missing settings have their default values.
        **others
            Settings that override ``data``, such as functions and estimators, which JSON cannot represent.
        """
        check_names({**data, **others}, settings_of(cls))
        return cls(**{**data, **others})

    def to_dict(self, *, defaults: bool = True) -> dict[str, Any]:
        """Return the settings as plain data for JSON; functions and estimators are replaced by their names.

        Parameters
        ----------
        defaults : bool, default=True
            Whether to include settings that have their default value.
        """
        known = settings_of(type(self))
        values = {name: _as_plain(getattr(self, name)) for name in known}
        return {name: value for name, value in values.items() if defaults or value != _as_plain(known[name].default)}

    def changed(self, **changes: Any) -> Self:
        """Return a copy with some settings changed.

        Parameters
        ----------
        **changes
            New values by the name of the setting.
        """
        return self.from_dict({name: getattr(self, name) for name in settings_of(type(self))}, **changes)


def parse_setting(name: str, description: Setting, value: Any) -> Any:
    """Parse a string into the value of a setting, and return other values unchanged; errors name the setting."""
    try:
        return description.parse(value) if isinstance(value, str) else value
    except ValueError as error:
        raise ValueError(f"{name} {error}") from None


def _as_plain(value: Any) -> Any:
    if isinstance(value, range | tuple | list):
        return [_as_plain(item) for item in value]
    if value is None or isinstance(value, str | int | float):
        return value
    return str(getattr(value, "__name__", type(value).__name__))


def _as_text(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, list):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def takes(
    *configs: type, leave_out: tuple[str, ...] = (), interactive: bool = False
) -> Callable[[Documented], Documented]:
    """Add these settings to the signature and docstring of a function that accepts ``**keywords``.

    ``interactive`` shows the defaults of interactive interfaces, which the function must apply.
    """
    settings = settings_of(*configs, interactive=interactive)
    shown = {name: each for name, each in settings.items() if name not in leave_out}
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


def documented(*configs: type) -> Callable[[Documented], Documented]:
    """Replace ``{keywords}`` in a docstring with the documentation of the settings."""
    return lambda thing: _fill_in(thing, settings_of(*configs))


def _fill_in(thing: Documented, shown: Mapping[str, Setting]) -> Documented:
    entries = "".join(
        f"{name} : {each.type}\n{textwrap.fill(each.doc, 110, initial_indent='    ', subsequent_indent='    ')}\n"
        for name, each in shown.items()
    )
    # With python -OO there are no docstrings.
    thing.__doc__ = thing.__doc__ and PLACEHOLDER.sub(lambda at: textwrap.indent(entries, at[1]), thing.__doc__)
    return thing


def _default_text(value: Any) -> str:
    if isinstance(value, range):
        return f"{value[0]}:{value[-1]}"
    return f"{value:g}" if isinstance(value, float) else str(value)
