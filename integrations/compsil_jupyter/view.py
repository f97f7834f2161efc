"""The explorer's user interface: core ipywidgets that display a session and pass user input to it."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from threading import RLock
from typing import Any

import ipywidgets as widgets

from compsil_jupyter import display
from compsil_jupyter.code import generate_code
from compsil_jupyter.controls import delta_control, follow, method_controls, reading_controls, table_controls
from compsil_jupyter.session import Session
from compsil_jupyter.shown import Clustering, Clusterings, selected_k
from compsil_kit import SelectionResult

TABS = ("Curve", "Weights", "Stability", "Clusters", "Compare", "Table", "Code")
# Minimum time between two plots during a run.
REDRAW_SECONDS = 0.4


class View:
    """The widgets of one explorer; ``body`` contains them all."""

    def __init__(self, session: Session) -> None:
        """Create the widgets for a session."""
        self.session = session
        self._painted: dict[str, Any] = {}
        self._painted_at = 0.0
        # The clusterings for which the slider was set to k*.
        self._positioned_for: Clusterings | None = None
        self._plots: dict[Clustering, bytes] = {}
        self._lock = RLock()
        self._build()
        session.listen(self._update)
        self._show()

    def close(self) -> None:
        """Remove every widget from the page."""
        for part in _descendants(self.body):
            part.close()

    def _build(self) -> None:
        session = self.session
        self._run = _button("Run", "play", "run", session.start, style="primary")
        self._stop = _button("Stop", "stop", "stop", session.stop)
        self._bar = widgets.IntProgress(layout={"width": "auto"})
        self._progress, self._error, self._headline, self._warnings = map(
            _html, ("progress", "error", "headline", "warnings")
        )
        buttons = widgets.HBox([self._run, self._stop])
        left = widgets.VBox(
            [*table_controls(session), *method_controls(session), buttons, self._bar, self._progress],
            layout={"flex": "0 0 270px", "max_width": "270px"},
        )
        *reading, self._first = reading_controls(session)
        immediate = widgets.HBox([*reading, self._first], layout={"flex_flow": "row wrap", "grid_gap": "0 6px"})
        self._tabs = self._make_tabs()
        style = widgets.HTML(display.STYLE, layout={"display": "none"})
        right = widgets.VBox(
            [style, self._headline, self._error, self._warnings, immediate, self._tabs, self._make_export()],
            layout={"flex": "1 1 560px", "min_width": "0"},
        )
        self.body = widgets.HBox([left, right], layout={"flex_flow": "row wrap", "grid_gap": "16px"})

    def _make_tabs(self) -> widgets.Tab:
        looks = {"max_width": "100%", "display": "none", "object_fit": "contain"}
        self._images = {
            name: widgets.Image(format="png", layout=looks).add_class(f"compsil-image-{name.lower()}")
            for name in TABS[:5]
        }
        self._notes = {name: _html(f"note-{name.lower()}") for name in TABS}
        ks = self.session.settings["ks"]
        self._k = widgets.SelectionSlider(
            options=ks, value=ks[0], description="k", continuous_update=False, layout={"width": "420px"}
        ).add_class("compsil-k")
        self._k.observe(lambda _: self._show(), names="value")
        self._compare = _button("Compare", "balance-scale", "compare", self.session.compare)
        self._cancel = _button("Cancel", "stop", "cancel", self.session.stop_comparing)
        buttons = widgets.HBox([self._compare, self._cancel])
        extra = {"Stability": delta_control(self.session), "Clusters": self._k, "Compare": buttons}
        pages = [
            widgets.VBox([part[name] for part in (extra, self._images, self._notes) if name in part]) for name in TABS
        ]
        tabs = widgets.Tab(pages, titles=TABS).add_class("compsil-tabs")
        tabs.observe(lambda _: self._show(), names="selected_index")
        return tabs

    def _make_export(self) -> widgets.VBox:
        def save_code(path: Path) -> None:
            path.write_text(self._code(), "utf-8")

        self._saved = _html("saved")
        save_report = partial(self._save, "compsil-report.html", "text/html", self.session.report)
        report = _button("Save report", "file-text-o", "save-report", save_report)
        save = partial(self._save, "compsil_selection.py", "text/x-python", save_code)
        code = _button("Save code", "code", "save-code", save)
        return widgets.VBox([widgets.HBox([report, code]), self._saved])

    def _update(self, change: str) -> None:
        """Update the widgets after a session change; during a run, limit how often plots are drawn."""
        growing = change == "result" and self.session.running
        if growing and time.monotonic() - self._painted_at < REDRAW_SECONDS:
            with self._lock:
                self._show_progress()
            return
        self._show()
        clusterings = self.session.shown.clusterings
        if change == "clusters" and clusterings is not None:
            # Draw all finished clusterings, so that the slider responds immediately.
            for found in list(clusterings.found.values()):
                if isinstance(found, Clustering):
                    self._plot_clusters(clusterings, found)

    def _plot_clusters(self, clusterings: Clusterings, clustering: Clustering) -> bytes:
        plot = self._plots.get(clustering)
        if plot is None:
            plot = self._plots[clustering] = display.draw_clusters(clusterings, clustering)
        return plot

    def _show(self) -> None:
        with self._lock:
            self._show_progress()
            self._headline.value = display.format_headline(self.session)
            self._warnings.value = display.format_warnings(self.session)
            self._error.value = display.format_problem(self.session)
            self._update_slider()
            self._paint()

    def _show_progress(self) -> None:
        session, status = self.session, self.session.status
        self._run.disabled, self._stop.disabled = session.running, not session.running
        self._bar.max, self._bar.value = max(status.total, 1), status.done
        self._bar.bar_style = {"done": "success", "failed": "danger", "stopped": "warning"}.get(status.phase, "")
        self._progress.value = display.format_progress(session)
        follow(self._first, session)

    def _update_slider(self) -> None:
        """Update the candidates of the cluster slider, and move the slider to k* once per run."""
        result, clusterings = self.session.result, self.session.shown.clusterings
        if result is None:
            return
        if result.ks != self._k.options:
            self._k.options, self._positioned_for = result.ks, None
        if not self.session.running and self._positioned_for is not clusterings:
            self._positioned_for = clusterings
            self._plots.clear()
            if (best_k := selected_k(result)) is not None:
                self._k.value = best_k

    def _paint(self) -> None:
        """Update the selected tab."""
        name = TABS[self._tabs.selected_index or 0]
        getattr(self, f"_paint_{name.lower()}")(self.session.result)
        # The first result of a run is drawn without delay.
        waiting = self.session.running and not self.session.status.done
        self._painted_at = 0.0 if waiting else time.monotonic()

    def _paint_image(self, name: str, subject: Any, draw: Callable[[Any], bytes], *more: Any) -> None:
        """Draw the subject unless the image already shows it; hide the image if there is no subject."""
        image, key = self._images[name], (subject, *more)
        if subject is None:
            self._hide(name)
        elif self._painted.get(name) != key:
            image.value = draw(subject)
            image.layout.display = None
            self._painted[name] = key

    def _hide(self, name: str) -> None:
        self._images[name].layout.display = "none"
        self._painted.pop(name, None)

    def _paint_curve(self, result: SelectionResult | None) -> None:
        self._paint_image("Curve", result, partial(display.draw_plot, "curve"))

    def _paint_weights(self, result: SelectionResult | None) -> None:
        self._paint_image("Weights", result, partial(display.draw_plot, "weights"))

    def _paint_stability(self, result: SelectionResult | None) -> None:
        delta = self.session.reading.delta
        self._paint_image("Stability", result, partial(display.draw_stability, delta=delta), delta)
        self._notes["Stability"].value = "" if result is None else display.format_guarantee(result, delta)

    def _paint_clusters(self, result: SelectionResult | None) -> None:
        clusterings, k, note = self.session.shown.clusterings, self._k.value, self._notes["Clusters"]
        if result is None or clusterings is None or self.session.running:
            self._hide("Clusters")
            note.value = display.muted("Clusters are shown after the run.")
            return
        clusterings.prioritise(k)
        found = clusterings.found.get(k)
        note.value = display.format_clusters(clusterings, found, k)
        if isinstance(found, Clustering):
            self._paint_image("Clusters", found, partial(self._plot_clusters, clusterings))
        elif found is not None:
            self._hide("Clusters")

    def _paint_compare(self, _: SelectionResult | None) -> None:
        found, status = self.session.shown.comparison, self.session.comparing
        self._compare.disabled = status.phase == "running"
        self._cancel.disabled = not self._compare.disabled
        self._paint_image("Compare", found, display.draw_comparison)
        self._notes["Compare"].value = display.format_comparison(status, found)

    def _paint_table(self, result: SelectionResult | None) -> None:
        self._notes["Table"].value = "" if result is None else display.format_table(result)

    def _paint_code(self, _: SelectionResult | None) -> None:
        self._notes["Code"].value = display.format_code(self._code())

    def _code(self) -> str:
        ready = self.session.shown.clusterings is not None and not self.session.running
        expression = self.session.expression or _variable_name(self.session.data)
        return generate_code(self.session, expression, self._k.value if ready else None)

    def _save(self, name: str, kind: str, write: Callable[[Path], object]) -> None:
        path = _unused_path(Path(name))
        try:
            write(path)
        except (ValueError, OSError) as problem:
            self._saved.value = display.format_error(f"Not saved: {problem}")
        else:
            self._saved.value = display.format_saved(path, kind)


def _button(text: str, icon: str, name: str, act: Callable[[], None], style: str = "") -> widgets.Button:
    button = widgets.Button(description=text, icon=icon, button_style=style).add_class(f"compsil-{name}")
    button.on_click(lambda _: act())
    return button


def _html(name: str) -> widgets.HTML:
    return widgets.HTML().add_class(f"compsil-{name}")


def _descendants(widget: Any) -> list[Any]:
    """Return a widget and all widgets inside it."""
    return [widget, *(part for child in getattr(widget, "children", ()) for part in _descendants(child))]


def _unused_path(path: Path) -> Path:
    """Return the path, with a number appended if it exists, so that no file is overwritten."""
    others = (path.with_stem(f"{path.stem}-{number}") for number in count(2))
    return path if not path.exists() else next(other for other in others if not other.exists())


def _variable_name(data: Any) -> str | None:
    """Return the name of a notebook variable that holds the data, if there is one."""
    from IPython import get_ipython

    shell = get_ipython()
    names = {} if shell is None else shell.user_ns
    found = (name for name, value in list(names.items()) if value is data and not name.startswith("_"))
    return next(found, None)
