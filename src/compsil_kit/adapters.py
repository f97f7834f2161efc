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
    from compsil_kit._config.setting import Setting, check_names, documented, takes
    from compsil_kit._config.validators import choice, optional
    from compsil_kit._criteria.compare import NEED_POINTS, run_comparison
    from compsil_kit._data.dataset import Dataset
    from compsil_kit._data.files.readers import KINDS, ending_of, read_table
    from compsil_kit._data.given import load_data, open_data
    from compsil_kit._data.matrix import is_numeric_dtype, to_matrix
    from compsil_kit._data.scaling import check_scale
    from compsil_kit._data.sources.beside import Beside
    from compsil_kit._data.sources.opening import open_source
    from compsil_kit._data.sources.parquet import ENDINGS, files_of, fits_memory, has_others, open_parquet
    from compsil_kit._data.sources.source import Source
    from compsil_kit._data.table import choose_columns
    from compsil_kit._method.labels import number_by_size
    from compsil_kit._method.selection import LIKELY, MULTI_INIT_CRITERIA
    from compsil_kit._run.fingerprint import fingerprint
    from compsil_kit._run.load import load, warn_of_scale
    from compsil_kit._run.native_threads import one_openmp_thread
    from compsil_kit._run.select import compile_notice, run_selection, stream_selection
    from compsil_kit._run.subsample import take_rows
    from compsil_kit._show.card import COMPOSITE, MUTED, WARNING, table
    from compsil_kit._show.cluster_plots import Projection, plot_map, plot_silhouettes, project
    from compsil_kit._show.comparison_plot import plot_comparison
    from compsil_kit._show.report import render, write
    from compsil_kit._show.text import no_clusters, settings_line
    from compsil_kit._types import (
        ChoiceKeywords,
        ClustererLike,
        CompareKeywords,
        Criterion,
        MetricLike,
        Missing,
        OnFailure,
        PathLikeOrStr,
        PlotKind,
        Progress,
        Rule,
        Scale,
        Seeds,
        SelectionKeywords,
        SelectKeywords,
        StreamKeywords,
        Transform,
    )
    from compsil_kit._util.atomic import write_atomically
    from compsil_kit._util.checks import check_choice, check_integer, check_real, describe, is_integer
    from compsil_kit._util.format import (
        did_you_mean,
        format_ks,
        format_seconds,
        number,
        one_line,
        percent,
        sentence,
        shorten,
    )
    from compsil_kit._util.imports import require
    from compsil_kit.cli.options import TAKES, add_options, flags_of, options_of, report_path, told
    from compsil_kit.labels import fit_rows
    from compsil_kit.plan import make_plan, resolve_starts

_HOMES = {
    "Beside": "_data.sources.beside",
    "COMPOSITE": "_show.card",
    "ChoiceKeywords": "_types",
    "ClustererLike": "_types",
    "CompareKeywords": "_types",
    "Criterion": "_types",
    "Dataset": "_data.dataset",
    "ENDINGS": "_data.sources.parquet",
    "KINDS": "_data.files.readers",
    "LIKELY": "_method.selection",
    "MULTI_INIT_CRITERIA": "_method.selection",
    "MUTED": "_show.card",
    "MetricLike": "_types",
    "Missing": "_types",
    "NEED_POINTS": "_criteria.compare",
    "OnFailure": "_types",
    "PathLikeOrStr": "_types",
    "PlotKind": "_types",
    "Progress": "_types",
    "Projection": "_show.cluster_plots",
    "QUOTED": "_config.parsing",
    "Rule": "_types",
    "Scale": "_types",
    "Seeds": "_types",
    "SelectKeywords": "_types",
    "SelectionKeywords": "_types",
    "Setting": "_config.setting",
    "Source": "_data.sources.source",
    "StreamKeywords": "_types",
    "TAKES": "cli.options",
    "Transform": "_types",
    "WARNING": "_show.card",
    "add_options": "cli.options",
    "check_choice": "_util.checks",
    "check_integer": "_util.checks",
    "check_names": "_config.setting",
    "check_real": "_util.checks",
    "check_scale": "_data.scaling",
    "choice": "_config.validators",
    "choose_columns": "_data.table",
    "compile_notice": "_run.select",
    "describe": "_util.checks",
    "did_you_mean": "_util.format",
    "documented": "_config.setting",
    "ending_of": "_data.files.readers",
    "files_of": "_data.sources.parquet",
    "fingerprint": "_run.fingerprint",
    "fit_rows": "labels",
    "fits_memory": "_data.sources.parquet",
    "flags_of": "cli.options",
    "format_ks": "_util.format",
    "format_seconds": "_util.format",
    "has_others": "_data.sources.parquet",
    "is_integer": "_util.checks",
    "is_numeric_dtype": "_data.matrix",
    "load": "_run.load",
    "load_data": "_data.given",
    "make_plan": "plan",
    "no_clusters": "_show.text",
    "number": "_util.format",
    "number_by_size": "_method.labels",
    "one_line": "_util.format",
    "one_openmp_thread": "_run.native_threads",
    "open_data": "_data.given",
    "open_parquet": "_data.sources.parquet",
    "open_source": "_data.sources.opening",
    "optional": "_config.validators",
    "options_of": "cli.options",
    "parse_integer": "_config.parsing",
    "parse_names": "_config.parsing",
    "parse_number": "_config.parsing",
    "parse_optional": "_config.parsing",
    "parse_setting": "_config.base",
    "percent": "_util.format",
    "plot_comparison": "_show.comparison_plot",
    "plot_map": "_show.cluster_plots",
    "plot_silhouettes": "_show.cluster_plots",
    "project": "_show.cluster_plots",
    "quote": "_config.parsing",
    "read_table": "_data.files.readers",
    "render": "_show.report",
    "report_path": "cli.options",
    "require": "_util.imports",
    "resolve_starts": "plan",
    "run_comparison": "_criteria.compare",
    "run_selection": "_run.select",
    "sentence": "_util.format",
    "settings_line": "_show.text",
    "shorten": "_util.format",
    "split_list": "_config.parsing",
    "stream_selection": "_run.select",
    "table": "_show.card",
    "take_rows": "_run.subsample",
    "takes": "_config.setting",
    "to_matrix": "_data.matrix",
    "told": "cli.options",
    "unquote": "_config.parsing",
    "warn_of_scale": "_run.load",
    "write": "_show.report",
    "write_atomically": "_util.atomic",
}

__all__ = [
    "Beside",
    "COMPOSITE",
    "ChoiceKeywords",
    "ClustererLike",
    "CompareKeywords",
    "Criterion",
    "Dataset",
    "ENDINGS",
    "KINDS",
    "LIKELY",
    "MULTI_INIT_CRITERIA",
    "MUTED",
    "MetricLike",
    "Missing",
    "NEED_POINTS",
    "OnFailure",
    "PathLikeOrStr",
    "PlotKind",
    "Progress",
    "Projection",
    "QUOTED",
    "Rule",
    "Scale",
    "Seeds",
    "SelectKeywords",
    "SelectionKeywords",
    "Setting",
    "Source",
    "StreamKeywords",
    "TAKES",
    "Transform",
    "WARNING",
    "add_options",
    "check_choice",
    "check_integer",
    "check_names",
    "check_real",
    "check_scale",
    "choice",
    "choose_columns",
    "compile_notice",
    "describe",
    "did_you_mean",
    "documented",
    "ending_of",
    "files_of",
    "fingerprint",
    "fit_rows",
    "fits_memory",
    "flags_of",
    "format_ks",
    "format_seconds",
    "has_others",
    "is_integer",
    "is_numeric_dtype",
    "load",
    "load_data",
    "make_plan",
    "no_clusters",
    "number",
    "number_by_size",
    "one_line",
    "one_openmp_thread",
    "open_data",
    "open_parquet",
    "open_source",
    "optional",
    "options_of",
    "parse_integer",
    "parse_names",
    "parse_number",
    "parse_optional",
    "parse_setting",
    "percent",
    "plot_comparison",
    "plot_map",
    "plot_silhouettes",
    "project",
    "quote",
    "read_table",
    "render",
    "report_path",
    "require",
    "resolve_starts",
    "run_comparison",
    "run_selection",
    "sentence",
    "settings_line",
    "shorten",
    "split_list",
    "stream_selection",
    "table",
    "take_rows",
    "takes",
    "to_matrix",
    "told",
    "unquote",
    "warn_of_scale",
    "write",
    "write_atomically",
]

__getattr__, __dir__ = lazy_names("compsil_kit.adapters", _HOMES)
