"""The explorer's inputs. Each changes one setting of the session; choices and tooltips are those of the keywords."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from html import escape
from typing import Any

import ipywidgets as widgets
from scipy import sparse

from compsil_jupyter.data import as_frame
from compsil_jupyter.explorer.session import Session
from compsil_kit._data.matrix import is_numeric_dtype
from compsil_kit._settings.keywords import ExploreKeywords, TableKeywords, keywords_of
from compsil_kit._settings.rules import AUTO
from compsil_kit._util.checks import is_integer

KEYWORDS = {**keywords_of(TableKeywords), **keywords_of(ExploreKeywords)}
AUTO_WIDTH = {"width": "auto"}
LABELS = {"description_width": "104px"}
DELTAS = (0.1, 0.05, 0.01, 0.001)
MOST_SUBSAMPLES = 10_000


def heading(text: str) -> widgets.HTML:
    """Return a small title above a group of inputs."""
    return widgets.HTML(f'<div style="font-weight:600;margin-top:4px">{text}</div>')


def tooltip(name: str, *, typed: bool = False) -> str:
    """Return the help of a keyword; how to write its value is told only where that is typed."""
    keyword = KEYWORDS[name] if typed else replace(KEYWORDS[name], spelling="")
    # Command lines need their percent signs doubled.
    return keyword.help.replace("%%", "%")


def label(text: str, hint: str) -> dict[str, Any]:
    """Return a label with a tooltip, as keywords of a widget."""
    # By itself, ``tooltip`` has no effect on drop-downs and text fields that have a label.
    return {
        "description": f'<span title="{escape(hint)}">{text}</span>',
        "description_allow_html": True,
        "tooltip": hint,
    }


def bind(control: Any, name: str, take: Callable[[Any], None]) -> Any:
    """Call ``take`` with each new value of an input, and mark it with a class for tests and styles."""
    control.add_class(f"compsil-{name}")
    control.observe(lambda change: take(change["new"]), names="value")
    return control


def options(names: Sequence[str], given: Any) -> list[tuple[str, Any]]:
    """Return the words to choose from, and the value that was given if it is none of them."""
    found: list[tuple[str, Any]] = [(name, name) for name in names]
    if isinstance(given, str) and given in names:
        return found
    own = given if isinstance(given, str) else getattr(given, "__name__", type(given).__name__)
    return [*found, (own, given)]


def menu(name: str, given: Any, text: str, names: Sequence[str] | None = None, **looks: Any) -> widgets.Dropdown:
    """Return a drop-down of the words that a keyword may be."""
    return widgets.Dropdown(
        options=options(KEYWORDS[name].choices if names is None else names, given), value=given,
        **label(text, tooltip(name)), **{"style": LABELS, "layout": AUTO_WIDTH, **looks},
    )  # fmt: skip


def table_controls(session: Session) -> list[Any]:
    """Return the inputs for the table; a sparse matrix has none."""
    if sparse.issparse(session.data):
        return []
    settings, frame = session.settings, as_frame(session.data)
    numeric = [name for name, dtype in zip(frame.columns, frame.dtypes, strict=True) if is_numeric_dtype(dtype)]
    # A name that occurs twice stands for both columns.
    names = list(dict.fromkeys(numeric))
    chosen = names if settings["columns"] is None else [name for name in names if name in settings["columns"]]

    def choose(values: tuple[Any, ...]) -> None:
        session.change(columns=None if set(values) == set(names) else list(values))

    columns = widgets.SelectMultiple(
        options=[(str(name), name) for name in names], value=chosen, rows=min(max(len(names), 2), 8),
        layout=AUTO_WIDTH, tooltip=tooltip("columns"),
    )  # fmt: skip
    scale = menu("scale", settings["scale"] or "none", "scale")
    missing = menu("missing", settings["missing"], "missing values")
    return [
        heading("Columns"),
        bind(columns, "columns", choose),
        # To a drop-down, the value None means that nothing is selected.
        bind(scale, "scale", lambda name: session.change(scale=None if name == "none" else name)),
        bind(missing, "missing", lambda value: session.change(missing=value)),
    ]


def method_controls(session: Session) -> list[Any]:
    """Return the inputs for the method."""
    settings = session.settings
    ks = settings["ks"]
    candidates = widgets.IntRangeSlider(
        value=(ks[0], ks[-1]), min=2, max=max(20, ks[-1]), continuous_update=False,
        **label("k", tooltip("ks")), style=LABELS, layout=AUTO_WIDTH,
    )  # fmt: skip
    count, until_sure = _subsamples(session)
    size = widgets.Text(
        str(settings["sample_size"]), placeholder="auto, 0.5, 2000", continuous_update=False,
        **label("sample size", tooltip("sample_size", typed=True)), style=LABELS, layout=AUTO_WIDTH,
    )  # fmt: skip
    clusterer = menu("clusterer", settings["clusterer"], "clusterer")
    starts = widgets.Text(
        str(settings["n_starts"]), placeholder="auto, 5", continuous_update=False,
        **label("starts", tooltip("n_starts", typed=True)), style=LABELS, layout=AUTO_WIDTH,
    )  # fmt: skip
    # A matrix of distances is no other metric on the same data.
    metrics = [name for name in KEYWORDS["metric"].choices if name != "precomputed"]
    metric = menu("metric", settings["metric"], "metric", metrics)
    structure = widgets.Checkbox(
        settings["structure"], **label("test for clusters", tooltip("structure")), style=LABELS, layout=AUTO_WIDTH
    )
    return [
        heading("Method"),
        bind(candidates, "ks", lambda ends: session.change(ks=tuple(range(ends[0], ends[1] + 1)))),
        count,
        until_sure,
        bind(size, "sample-size", lambda text: session.change(sample_size=read("sample_size", text))),
        bind(clusterer, "clusterer", lambda value: session.change(clusterer=value)),
        bind(starts, "n-starts", lambda text: session.change(n_starts=read("n_starts", text))),
        bind(metric, "metric", lambda value: session.change(metric=value)),
        bind(structure, "structure", lambda value: session.change(structure=value)),
        _seed(session),
    ]


def _subsamples(session: Session) -> tuple[Any, Any]:
    """Return the number of subsamples, and the switch that leaves it open."""
    given = session.settings["n_subsamples"]
    fixed = KEYWORDS["n_subsamples"].default if given == AUTO else given
    looks = {"style": LABELS, "layout": AUTO_WIDTH}
    hint = tooltip("n_subsamples")
    count = widgets.BoundedIntText(
        fixed, min=1, max=max(MOST_SUBSAMPLES, fixed), disabled=given == AUTO, **label("subsamples", hint), **looks
    )
    switch = widgets.Checkbox(given == AUTO, **label("as many as it takes", hint), **looks)

    def change(_: Any) -> None:
        count.disabled = switch.value
        session.change(n_subsamples=AUTO if switch.value else count.value)

    return bind(count, "n-subsamples", change), bind(switch, "until-sure", change)


def _seed(session: Session) -> Any:
    """Return the input for the seed; it is disabled where there is a sequence of seeds, or none."""
    given = session.settings["random_state"]
    looks = {**label("seed", tooltip("random_state")), "style": LABELS, "layout": AUTO_WIDTH}
    if not is_integer(given):
        text = "random" if given is None else "one per subsample"
        return widgets.Text(text, disabled=True, **looks)
    seed = widgets.BoundedIntText(given, min=0, max=2**32 - 1, **looks)
    return bind(seed, "seed", lambda value: session.change(random_state=value))


def read(name: str, text: str) -> Any:
    """Read a value as it is typed; text that cannot be read is left to the engine, which refuses it."""
    try:
        return KEYWORDS[name].read(text)
    except ValueError:
        return text.strip()


def reading_controls(session: Session) -> list[Any]:
    """Return the inputs that take effect at once, on the finished subsamples."""
    reading = session.reading
    fitting: dict[str, Any] = {"style": {"description_width": "initial"}}
    criterion = menu("criterion", reading.choice["criterion"], "criterion", layout={"width": "180px"}, **fitting)
    transform = menu("transform", reading.choice["transform"], "transformation", layout={"width": "210px"}, **fitting)
    rule = menu("rule", reading.choice["rule"], "rule", layout={"width": "110px"}, **fitting)
    delta = widgets.Dropdown(
        options=sorted({*DELTAS, reading.delta}, reverse=True), value=reading.delta, layout={"width": "220px"},
        **label("error probability δ", "probability that the Hoeffding bound on the tab Stability does not hold"),
        **fitting,
    )  # fmt: skip
    first = widgets.IntSlider(
        1,
        min=1,
        # In the browser, the key End goes no further than the end that a slider was made with.
        max=MOST_SUBSAMPLES,
        **label("subsamples used", "choose from the first subsamples only, in the order of their seeds"),
        continuous_update=False,
        disabled=True,
        layout={"width": "300px"},
        **fitting,
    )
    return [
        bind(criterion, "criterion", lambda value: session.read(criterion=value)),
        bind(transform, "transform", lambda value: session.read(transform=value)),
        bind(rule, "rule", lambda value: session.read(rule=value)),
        bind(delta, "delta", lambda value: session.read(delta=value)),
        bind(first, "first", lambda value: _use_first(session, first, value)),
    ]


def _use_first(session: Session, first: Any, value: int) -> None:
    """Take a value that the user has set, not one that only follows the run."""
    if _n_available(session) and value != _n_used(session):
        # At its end the slider means all. That is its own end: the run may have got further meanwhile.
        session.read(first=None if value >= first.max else value)


def _n_available(session: Session) -> int:
    """Return the number of subsamples to choose from: none while those shown are of an earlier run."""
    return 0 if session.running and session.shows_previous else session.n_finished


def _n_used(session: Session) -> int:
    wanted, available = session.reading.first, _n_available(session)
    return available if wanted is None else min(wanted, available)


def follow(first: Any, session: Session) -> None:
    """Set the end of the slider to the number of finished subsamples; a slider at its end stays there."""
    available = _n_available(session)
    first.disabled = available < 2
    # A new run begins at 1: an end below the present value would make the browser move the slider and report that as
    # an input of the user, when the run is further already.
    end, value = (available, _n_used(session)) if available else (MOST_SUBSAMPLES, 1)
    if (first.max, first.value) != (end, value):
        with first.hold_trait_notifications():
            first.max, first.value = end, value
