"""The explorer's inputs. Each input changes one session setting; choices and tooltips come from the settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from html import escape
from typing import Any

import ipywidgets as widgets
from scipy import sparse

from compsil_jupyter.data import AUTO, as_frame
from compsil_jupyter.session import Session
from compsil_kit.adapters import is_integer, is_numeric_dtype
from compsil_kit.config import SelectionConfig, TableConfig, settings_of

SETTINGS = settings_of(TableConfig, SelectionConfig)
LEFT: dict[str, Any] = {"style": {"description_width": "104px"}, "layout": {"width": "auto"}}
OPTION_LABELS = {"raise": "stop with an error", "drop": "drop rows"}
DELTAS = (0.1, 0.05, 0.01, 0.001)
MAX_SUBSAMPLES = 10_000


def heading(text: str) -> widgets.HTML:
    """Return a small heading for a group of inputs."""
    return widgets.HTML(f'<div style="font-weight:600;margin-top:4px">{text}</div>')


def tooltip(name: str, *, typed: bool = False) -> str:
    """Return the help text for a setting; with ``typed``, include the syntax of its values."""
    setting = SETTINGS[name] if typed else replace(SETTINGS[name], text_form="")
    # The percent signs in help texts are doubled for argparse.
    return setting.help.replace("%%", "%")


def label_keywords(text: str, hint: str) -> dict[str, Any]:
    """Return the widget keyword arguments for a label with a tooltip."""
    # ``tooltip`` alone has no effect on drop-downs and text fields with a label.
    html = f'<span title="{escape(hint)}">{text}</span>'
    return {"description": html, "description_allow_html": True, "tooltip": hint}


def bind(control: Any, name: str, apply: Callable[[Any], None]) -> Any:
    """Call ``apply`` with each new value of an input, and give the input a CSS class."""
    control.observe(lambda change: apply(change["new"]), names="value")
    return control.add_class(f"compsil-{name}")


def menu(apply: Callable[..., None], name: str, value: Any, text: str, **looks: Any) -> Any:
    """Return a drop-down with the choices for a setting, plus the current value if it is not a choice."""
    # Switching to "precomputed" would require different data.
    names = [choice for choice in SETTINGS[name].choices if choice != "precomputed"]
    choices: list[tuple[str, Any]] = [(OPTION_LABELS.get(choice, choice), choice) for choice in names]
    if not isinstance(value, str):
        choices.append((getattr(value, "__name__", type(value).__name__), value))
    elif value not in names:
        choices.append((value, value))
    drop_down = widgets.Dropdown(
        options=choices, value=value, **label_keywords(text, tooltip(name)), **{**LEFT, **looks}
    )
    return bind(drop_down, name, lambda chosen: apply(**{name: chosen}))


def text_field(session: Session, name: str, text: str, placeholder: str) -> Any:
    """Return a text field for a setting; the next run reports invalid input."""

    def apply(typed: str) -> None:
        try:
            value = SETTINGS[name].parse(typed)
        except ValueError:
            value = typed.strip()
        session.change(**{name: value})

    looks = {**label_keywords(text, tooltip(name, typed=True)), **LEFT}
    field = widgets.Text(str(session.settings[name]), placeholder=placeholder, continuous_update=False, **looks)
    return bind(field, name.replace("_", "-"), apply)


def table_controls(session: Session) -> list[Any]:
    """Return the inputs for preparing the table; there are none for a sparse matrix."""
    if sparse.issparse(session.data):
        return []
    settings, frame = session.settings, as_frame(session.data)
    numeric = [name for name, dtype in zip(frame.columns, frame.dtypes, strict=True) if is_numeric_dtype(dtype)]
    # A duplicate name refers to all columns with this name.
    names = list(dict.fromkeys(numeric))
    columns = widgets.SelectMultiple(
        options=[(str(name), name) for name in names],
        value=names if settings["columns"] is None else [name for name in names if name in settings["columns"]],
        rows=min(max(len(names), 2), 8),
        layout=LEFT["layout"],
        tooltip=tooltip("columns"),
    )

    def choose(values: tuple[Any, ...]) -> None:
        session.change(columns=None if set(values) == set(names) else list(values))

    def change_scale(scale: str) -> None:
        # A drop-down treats the value None as "nothing selected".
        session.change(scale=None if scale == "none" else scale)

    return [
        heading("Columns"),
        bind(columns, "columns", choose),
        menu(change_scale, "scale", settings["scale"] or "none", "scale"),
        menu(session.change, "missing", settings["missing"], "missing values"),
    ]


def method_controls(session: Session) -> list[Any]:
    """Return the inputs for the method settings."""
    settings = session.settings
    ks = settings["ks"]
    slider = widgets.IntRangeSlider(
        value=(ks[0], ks[-1]),
        min=2,
        max=max(20, ks[-1]),
        continuous_update=False,
        **label_keywords("k", tooltip("ks")),
        **LEFT,
    )
    structure = widgets.Checkbox(
        settings["structure"], **label_keywords("structure test", tooltip("structure")), **LEFT
    )
    return [
        heading("Method"),
        bind(slider, "ks", lambda ends: session.change(ks=tuple(range(ends[0], ends[1] + 1)))),
        *_subsample_controls(session),
        text_field(session, "sample_size", "sample size", "auto, 0.5, 2000"),
        menu(session.change, "clusterer", settings["clusterer"], "clusterer"),
        text_field(session, "n_starts", "initialisations", "auto, 5"),
        menu(session.change, "metric", settings["metric"], "metric"),
        bind(structure, "structure", lambda value: session.change(structure=value)),
        _seed(session),
    ]


def _subsample_controls(session: Session) -> tuple[Any, Any]:
    """Return the input for the number of subsamples, and the checkbox that makes the number adaptive."""
    value = session.settings["n_subsamples"]
    fixed = SETTINGS["n_subsamples"].default if value == AUTO else value
    hint = tooltip("n_subsamples")
    count = widgets.BoundedIntText(
        fixed,
        min=1,
        max=max(MAX_SUBSAMPLES, fixed),
        disabled=value == AUTO,
        **label_keywords("subsamples", hint),
        **LEFT,
    )
    switch = widgets.Checkbox(value == AUTO, **label_keywords("adaptive", hint), **LEFT)

    def change(_: Any) -> None:
        count.disabled = switch.value
        session.change(n_subsamples=AUTO if switch.value else count.value)

    return bind(count, "n-subsamples", change), bind(switch, "adaptive", change)


def _seed(session: Session) -> Any:
    """Return the input for the seed; it is disabled for a sequence of seeds and for None."""
    value = session.settings["random_state"]
    looks = {**label_keywords("seed", tooltip("random_state")), **LEFT}
    if not is_integer(value):
        return widgets.Text("random" if value is None else "one per subsample", disabled=True, **looks)
    seed = widgets.BoundedIntText(value, min=0, max=2**32 - 1, **looks)
    return bind(seed, "seed", lambda value: session.change(random_state=value))


def _top(width: str) -> dict[str, Any]:
    return {"style": {"description_width": "initial"}, "layout": {"width": width}}


def reading_controls(session: Session) -> list[Any]:
    """Return the inputs that take effect without a new run; the last one is the slider updated by :func:`follow`."""
    choice = session.reading.choice
    first = widgets.IntSlider(
        1,
        min=1,
        # The End key cannot move the slider past its initial maximum.
        max=MAX_SUBSAMPLES,
        **label_keywords("subsamples used", "use only the first subsamples, in the order of their seeds"),
        continuous_update=False,
        disabled=True,
        **_top("300px"),
    )

    def use_first(value: int) -> None:
        available, used = _available_and_used(session)
        # This callback also runs for values set by :func:`follow`.
        if available and value != used:
            # The maximum means all. Use the slider's maximum, because the run may have finished more subsamples.
            session.read(first=None if value >= first.max else value)

    return [
        menu(session.read, "criterion", choice["criterion"], "criterion", **_top("180px")),
        menu(session.read, "transform", choice["transform"], "transformation", **_top("210px")),
        menu(session.read, "rule", choice["rule"], "rule", **_top("110px")),
        bind(first, "first", use_first),
    ]


def delta_control(session: Session) -> Any:
    """Return the input for the error probability of the Hoeffding bound."""
    delta = widgets.Dropdown(
        options=sorted({*DELTAS, session.reading.delta}, reverse=True),
        value=session.reading.delta,
        **label_keywords("error probability (δ)", "probability that the Hoeffding bound does not hold"),
        **_top("230px"),
    )
    return bind(delta, "delta", lambda value: session.read(delta=value))


def _available_and_used(session: Session) -> tuple[int, int]:
    """Return the number of available subsamples (0 while an earlier run is shown) and the number in use."""
    available = 0 if session.running and session.shows_previous else session.n_finished
    return available, available if session.reading.first is None else min(session.reading.first, available)


def follow(first: Any, session: Session) -> None:
    """Set the slider's maximum to the number of finished subsamples; a slider at its maximum stays at the maximum."""
    available, used = _available_and_used(session)
    first.disabled = available < 2
    # A new run resets the value to 1. If the maximum fell below the value, the browser would move the slider and
    # report the move as user input after the run has advanced.
    maximum, value = (available, used) if available else (MAX_SUBSAMPLES, 1)
    if (first.max, first.value) != (maximum, value):
        with first.hold_trait_notifications():
            first.max, first.value = maximum, value
