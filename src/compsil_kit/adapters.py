"""What the adapters of this project need beyond the public names; documented for authors of further adapters.

Names are loaded on first use. They may change between minor releases, with a line in the changelog.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from compsil_kit._util.imports import lazy_names

if TYPE_CHECKING:
    from compsil_kit._config.base import parse_setting
    from compsil_kit._config.parsing import (
        QUOTED,
        parse_integer,
        parse_names,
        parse_number,
        parse_optional,
        quote,
        split_list,
        unquote,
    )
    from compsil_kit._config.setting import documented, takes
    from compsil_kit._util.checks import check_choice, check_integer, check_real, describe, is_integer
    from compsil_kit._util.format import did_you_mean, format_ks, format_seconds, number, one_line, percent, shorten
    from compsil_kit._util.imports import require

_HOMES = {
    "QUOTED": "_config.parsing",
    "check_choice": "_util.checks",
    "check_integer": "_util.checks",
    "check_real": "_util.checks",
    "describe": "_util.checks",
    "did_you_mean": "_util.format",
    "documented": "_config.setting",
    "format_ks": "_util.format",
    "format_seconds": "_util.format",
    "is_integer": "_util.checks",
    "number": "_util.format",
    "one_line": "_util.format",
    "parse_integer": "_config.parsing",
    "parse_names": "_config.parsing",
    "parse_number": "_config.parsing",
    "parse_optional": "_config.parsing",
    "parse_setting": "_config.base",
    "percent": "_util.format",
    "quote": "_config.parsing",
    "require": "_util.imports",
    "shorten": "_util.format",
    "split_list": "_config.parsing",
    "takes": "_config.setting",
    "unquote": "_config.parsing",
}

__all__ = [
    "QUOTED",
    "check_choice",
    "check_integer",
    "check_real",
    "describe",
    "did_you_mean",
    "documented",
    "format_ks",
    "format_seconds",
    "is_integer",
    "number",
    "one_line",
    "parse_integer",
    "parse_names",
    "parse_number",
    "parse_optional",
    "parse_setting",
    "percent",
    "quote",
    "require",
    "shorten",
    "split_list",
    "takes",
    "unquote",
]

__getattr__, __dir__ = lazy_names("compsil_kit.adapters", _HOMES)
