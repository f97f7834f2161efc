"""The explorer's inputs. Each is bound to one setting of the session; none knows what it is used for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ipywidgets as widgets
from scipy import sparse

from compsil_jupyter.data import as_frame
from compsil_jupyter.explorer.session import Session
from compsil_jupyter.explorer.settings import Settings
from compsil_kit.data.matrix import is_numeric_dtype
from compsil_kit.data.table import MISSING, SCALERS
from compsil_kit.method.clusterers import NAMED
from compsil_kit.method.metrics import NAMES
from compsil_kit.method.selection import RULES
from compsil_kit.method.weights import TRANSFORMS, transform_name
from compsil_kit.util.checks import is_integer

NARROW = {"width": "auto"}
STYLE = {"description_width": "84px"}
DELTAS = (0.1, 0.05, 0.01, 0.001)
MOST_SUBSAMPLES = 10_000


def heading(text: str) -> widgets.HTML:
    """Return a small title above a group of inputs."""
    return widgets.HTML(f'<div style="font-weight:600;margin-top:4px">{text}</div>')


def bind(control: Any, name: str, take: Callable[[Any], None]) -> Any:
    """Call ``take`` with each new value of an input, and mark it so that tests and styles can find it."""
    control.add_class(f"compsil-{name}")
    control.observe(lambda change: take(change["new"]), names="value")
    return control


def with_given(names: tuple[str, ...], given: Any) -> list[tuple[str, Any]]:
    """Return choices by name, and what the user gave where that is an object of their own."""
    choices: list[tuple[str, Any]] = [(name, name) for name in names]
    if not any(given == value for _, value in choices if isinstance(given, str)):
        choices.append((getattr(given, "__name__", type(given).__name__), given))
    return choices


def data_controls(session: Session) -> list[Any]:
    """Return the inputs that concern the table; a sparse matrix has none."""
    if sparse.issparse(session.data):
        return []
    settings, frame = session.settings, as_frame(session.data)
    numeric = [
        name for name, dtype in zip(frame.columns, frame.dtypes, strict=True) if is_numeric_dtype(dtype)
    ]  # a name that occurs twice stands for both columns
    names = list(dict.fromkeys(numeric))
    chosen = names if settings.columns is None else [name for name in names if name in settings.columns]

    def choose(values: tuple[Any, ...]) -> None:
        session.change(columns=None if set(values) == set(names) else tuple(values))

    columns = widgets.SelectMultiple(
        options=[(str(name), name) for name in names], value=chosen, rows=min(max(len(names), 2), 8), layout=NARROW
    )
    scale = widgets.Dropdown(
        options=(*SCALERS, "none"), value=settings.scale or "none", description="scale",
        style=STYLE, layout=NARROW,
    )  # fmt: skip
    missing = widgets.Dropdown(
        options=MISSING, value=settings.missing, description="missing", style=STYLE, layout=NARROW
    )
    return [
        heading("Columns"),
        bind(columns, "columns", choose),
        # Not None as a value: to a drop-down that means that nothing is chosen.
        bind(scale, "scale", lambda name: session.change(scale=None if name == "none" else name)),
        bind(missing, "missing", lambda value: session.change(missing=value)),
    ]


def method_controls(session: Session) -> list[Any]:
    """Return the inputs that concern the method."""
    settings = session.settings
    ks = widgets.IntRangeSlider(
        value=(settings.ks[0], settings.ks[-1]), min=2, max=max(20, settings.ks[-1]), description="k",
        continuous_update=False, style=STYLE, layout=NARROW,
    )  # fmt: skip
    count = widgets.BoundedIntText(
        settings.n_subsamples, min=1, max=max(MOST_SUBSAMPLES, settings.n_subsamples), description="subsamples",
        style=STYLE, layout=NARROW,
    )  # fmt: skip
    size = widgets.Text(
        str(settings.sample_size), description="their size", placeholder="auto, 0.5, 2000", style=STYLE, layout=NARROW,
        continuous_update=False,
    )  # fmt: skip
    clusterer = _choice("clusterer", tuple(NAMED), settings.clusterer)
    metric = _choice("metric", tuple(name for name in NAMES if name != "precomputed"), settings.metric)
    return [
        heading("Method"),
        bind(ks, "ks", lambda ends: session.change(ks=tuple(range(ends[0], ends[1] + 1)))),
        bind(count, "n-subsamples", lambda value: session.change(n_subsamples=value)),
        bind(size, "sample-size", lambda text: session.change(sample_size=read_size(text))),
        bind(clusterer, "clusterer", lambda value: session.change(clusterer=value)),
        bind(metric, "metric", lambda value: session.change(metric=value)),
        _seed(session, settings),
    ]


def _choice(name: str, names: tuple[str, ...], given: Any) -> widgets.Dropdown:
    return widgets.Dropdown(options=with_given(names, given), value=given, description=name, style=STYLE, layout=NARROW)


def _seed(session: Session, settings: Settings) -> Any:
    """Return the input of the seed; seeds given one by one, or none, are shown and stay."""
    if not is_integer(settings.random_state):
        return widgets.Text("as given", description="seed", disabled=True, style=STYLE, layout=NARROW)
    seed = widgets.BoundedIntText(
        settings.random_state, min=0, max=2**32 - 1, description="seed", style=STYLE, layout=NARROW
    )
    return bind(seed, "seed", lambda value: session.change(random_state=value))


def read_size(text: str) -> str | int | float:
    """Read a subsample size as it is typed; what cannot be one is left to the engine, which says why."""
    for convert in (int, float):
        try:
            return convert(text.strip().replace(",", ""))
        except ValueError:
            continue
    return text.strip() or "auto"


def reading_controls(session: Session) -> list[Any]:
    """Return the inputs that act at once, on what is finished."""
    reading = session.reading
    transforms = [(transform_name(value), value) for value in dict.fromkeys([*TRANSFORMS, reading.transform])]
    transform = widgets.Dropdown(
        options=transforms,
        value=reading.transform,
        description="transformation",
        layout={"width": "205px"},
        style={"description_width": "initial"},
        tooltip="from micro minus macro to the weight of micro",
    )
    rule = widgets.Dropdown(
        options=RULES,
        value=reading.rule,
        description="rule",
        layout={"width": "120px"},
        style={"description_width": "40px"},
        tooltip="maximise the score, or its lower confidence bound",
    )
    delta = widgets.Dropdown(
        options=sorted({*DELTAS, reading.delta}, reverse=True), value=reading.delta, description="δ",
        layout={"width": "105px"}, style={"description_width": "24px"},
        tooltip="probability that the Hoeffding bound on the tab Stability misses",
    )  # fmt: skip
    first = widgets.IntSlider(
        1,
        min=1,
        # In the browser, the key End goes no further than the end that a slider was made with.
        max=MOST_SUBSAMPLES,
        description="use the first",
        continuous_update=False,
        disabled=True,
        layout={"width": "265px"},
        style={"description_width": "initial"},
        tooltip="subsamples to use, in the order of their seeds",
    )
    return [
        bind(transform, "transform", lambda value: session.read(transform=value)),
        bind(rule, "rule", lambda value: session.read(rule=value)),
        bind(delta, "delta", lambda value: session.read(delta=value)),
        bind(first, "first", lambda value: _use_first(session, first, value)),
    ]


def _use_first(session: Session, first: Any, value: int) -> None:
    """Take what the user has set; not what only follows the run."""
    if session.n_finished and value != _n_used(session):
        # At its end the slider means all. That is its own end: the run may have got further meanwhile.
        session.read(first=None if value >= first.max else value)


def _n_used(session: Session) -> int:
    wanted = session.reading.first
    return session.n_finished if wanted is None else min(wanted, session.n_finished)


def show_finished(first: Any, session: Session) -> None:
    """Let the slider of subsamples reach as far as there are any; at its end it stays there while they come in."""
    finished = session.n_finished
    first.disabled = finished < 2
    # A new run begins at 1: an end that came below the value would make the browser move the slider and tell us so,
    # as if by the user and when the run is further already.
    end, value = (finished, _n_used(session)) if finished else (MOST_SUBSAMPLES, 1)
    if (first.max, first.value) != (end, value):
        with first.hold_trait_notifications():
            first.max, first.value = end, value
