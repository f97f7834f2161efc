"""What all configs share: text and JSON forms, and copies with changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from compsil_kit._config.setting import Setting, build, check_names, settings_of


class Config:
    """Settings that are validated at construction."""

    def __post_init__(self) -> None:
        """Validate every setting."""
        self._validate(settings_of(type(self)))

    def _validate(self, settings: Mapping[str, Setting]) -> None:
        for name, each in settings.items():
            object.__setattr__(self, name, each.validate(getattr(self, name)))

    @classmethod
    def from_text(cls, texts: Mapping[str, Any]) -> Self:
        """Build a config from settings as text, such as ``{"ks": "2:10"}``; values that are not text stay as they are.

        Parameters
        ----------
        texts : mapping
            Text by the name of the setting; the defaults apply to the others.
        """
        known = settings_of(cls)
        check_names(texts, known)
        return cls(**{name: parse_setting(name, known[name], value) for name, value in texts.items()})

    def to_text(self) -> dict[str, str]:
        """Return the settings as text that :meth:`from_text` reads; functions and estimators by their name."""
        return {name: _as_text(value) for name, value in self.to_dict().items()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], **others: Any) -> Self:
        """Build a config from :meth:`to_dict`.

        Parameters
        ----------
        data : mapping
            What ``to_dict`` returned, or what JSON made of it; the defaults apply to missing settings.
        **others
            Settings that replace those in ``data``: JSON cannot hold functions and estimators, so pass them here.
        """
        return build(cls, {**data, **others})

    def to_dict(self, *, defaults: bool = True) -> dict[str, Any]:
        """Return the settings as plain data for JSON; functions and estimators by their name.

        Parameters
        ----------
        defaults : bool, default=True
            Whether to include the settings that have their default.
        """
        known = settings_of(type(self))
        values = {name: _as_plain(getattr(self, name)) for name in known}
        return {name: value for name, value in values.items() if defaults or value != _as_plain(known[name].default)}

    def changed(self, **changes: Any) -> Self:
        """Return a copy with other values for some settings.

        Parameters
        ----------
        **changes
            Settings by name.
        """
        check_names(changes, settings_of(type(self)))
        values = {name: getattr(self, name) for name in settings_of(type(self))}
        return type(self)(**{**values, **changes})


def parse_setting(name: str, description: Setting, value: Any) -> Any:
    """Return the value of a setting; text is parsed, lists of integers as text too, anything else is returned as it is.

    Parameters
    ----------
    name : str
        Name of the setting, for error messages.
    description : Setting
        Its description.
    value : object
        Text, or a value.
    """
    try:
        if isinstance(value, str):
            return description.parse(value)
    except ValueError as error:
        raise ValueError(f"{name} {error}") from None
    return value


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
