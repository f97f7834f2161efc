"""The explorer on the page: core ipywidgets that show a session. It draws results and computes none."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from threading import RLock
from typing import Any

import ipywidgets as widgets

from compsil_jupyter.explorer import render, texts
from compsil_jupyter.explorer.clusterings import Clustering, Clusterings
from compsil_jupyter.explorer.code import code
from compsil_jupyter.explorer.controls import follow, method_controls, reading_controls, table_controls
from compsil_jupyter.explorer.session import Session
from compsil_kit import SelectionResult

TABS = ("Curve", "Weights", "Stability", "Clusters", "Compare", "Table", "Code")
# During a run, the picture is drawn again at most this often.
REDRAW_SECONDS = 0.4


class View:
    """The widgets of one explorer, in ``body``; they show the session and pass on what the user does."""

    def __init__(self, session: Session) -> None:
        """Show a session."""
        self.session = session
        self._painted: dict[str, Any] = {}
        self._painted_at = 0.0
        # The clusterings whose k* the slider was set to.
        self._placed: Clusterings | None = None
        self._drawn: dict[Clustering, bytes] = {}
        self._lock = RLock()
        self._build()
        session.listen(self._changed)
        self._show()

    def close(self) -> None:
        """Remove every widget from the page."""
        for part in _parts(self.body):
            part.close()

    def _build(self) -> None:
        session = self.session
        self._run = _button("Run", "play", "run", session.start, style="primary")
        self._stop = _button("Stop", "stop", "stop", session.stop)
        self._bar = widgets.IntProgress(layout={"width": "auto"})
        self._progress, self._error, self._headline, self._warnings = (widgets.HTML() for _ in range(4))
        for name in ("progress", "error", "headline", "warnings"):
            getattr(self, f"_{name}").add_class(f"compsil-{name}")
        inputs = [*table_controls(session), *method_controls(session)]
        buttons = widgets.HBox([self._run, self._stop])
        left = widgets.VBox(
            [*inputs, buttons, self._bar, self._progress], layout={"flex": "0 0 270px", "max_width": "270px"}
        )
        *reading, self._first = reading_controls(session)
        at_once = widgets.HBox([*reading, self._first], layout={"flex_flow": "row wrap", "grid_gap": "0 6px"})
        self._tabs = self._make_tabs()
        style = widgets.HTML(texts.STYLE, layout={"display": "none"})
        right = widgets.VBox(
            [style, self._headline, self._error, self._warnings, at_once, self._tabs, self._make_export()],
            layout={"flex": "1 1 560px", "min_width": "0"},
        )
        self.body = widgets.HBox([left, right], layout={"flex_flow": "row wrap", "grid_gap": "16px"})

    def _make_tabs(self) -> widgets.Tab:
        self._images = {name: _image(name) for name in TABS[:5]}
        self._notes = {name: widgets.HTML() for name in TABS}
        for name, note in self._notes.items():
            note.add_class(f"compsil-note-{name.lower()}")
        ks = self.session.settings["ks"]
        self._k = widgets.SelectionSlider(
            options=ks, value=ks[0], description="k", continuous_update=False, layout={"width": "420px"}
        )
        self._k.add_class("compsil-k")
        self._k.observe(lambda _: self._show(), names="value")
        self._compare = _button("Compare", "balance-scale", "compare", self.session.compare)
        self._cancel = _button("Cancel", "stop", "cancel", self.session.stop_comparing)
        extra = {"Clusters": [self._k], "Compare": [widgets.HBox([self._compare, self._cancel])]}
        pages = [
            widgets.VBox([*extra.get(name, []), *([self._images[name]] if name in self._images else []), note])
            for name, note in self._notes.items()
        ]
        tabs = widgets.Tab(pages, titles=TABS)
        tabs.add_class("compsil-tabs")
        tabs.observe(lambda _: self._show(), names="selected_index")
        return tabs

    def _make_export(self) -> widgets.VBox:
        self._saved = widgets.HTML()
        self._saved.add_class("compsil-saved")
        report = _button("Save report", "file-text-o", "save-report", self._save_report)
        lines = _button("Save code", "code", "save-code", self._save_code)
        return widgets.VBox([widgets.HBox([report, lines]), self._saved])

    def _changed(self, what: str) -> None:
        """Show a change of the session; during a run, skip pictures that would follow each other too fast."""
        hurried = what == "result" and self.session.running
        if hurried and time.monotonic() - self._painted_at < REDRAW_SECONDS:
            with self._lock:
                self._show_progress()
            return
        self._show()
        if what == "clusters":
            self._draw_ahead()

    def _draw_ahead(self) -> None:
        """Draw all finished clusterings at once, so that moving the slider only has to show them."""
        clusterings = self.session.clusterings
        # Nobody else tells of clusters.
        assert clusterings is not None
        for k in self._k.options:
            found = clusterings.get(k)
            if isinstance(found, Clustering):
                self._picture_of(clusterings, found)

    def _picture_of(self, clusterings: Clusterings, clustering: Clustering) -> bytes:
        picture = self._drawn.get(clustering)
        if picture is None:
            picture = self._drawn[clustering] = render.clusters(clusterings, clustering)
        return picture

    def _show(self) -> None:
        with self._lock:
            self._show_progress()
            self._headline.value, self._warnings.value = texts.headline(self.session), texts.warnings(self.session)
            self._error.value = texts.problem(self.session)
            self._offer_ks()
            self._paint()

    def _show_progress(self) -> None:
        session, status = self.session, self.session.status
        self._run.disabled, self._stop.disabled = session.running, not session.running
        self._bar.max, self._bar.value = max(status.total, 1), status.done
        self._bar.bar_style = {"done": "success", "failed": "danger", "stopped": "warning"}.get(status.phase, "")
        self._progress.value = texts.progress(session)
        follow(self._first, session)

    def _offer_ks(self) -> None:
        """Give the slider of the clusters the ks of the result shown, and set it to k* once per run."""
        result, clusterings = self.session.result, self.session.clusterings
        if result is None:
            return
        if result.ks != self._k.options:
            self._k.options, self._placed = result.ks, None
        if not self.session.running and self._placed is not clusterings:
            self._placed = clusterings
            self._drawn.clear()
            if result._best_index is not None:
                self._k.value = result.best_k

    def _paint(self) -> None:
        """Update the selected tab."""
        name = TABS[self._tabs.selected_index or 0]
        getattr(self, f"_paint_{name.lower()}")(self.session.result)
        # The first result of a run is drawn at once.
        waiting = self.session.running and not self.session.status.done
        self._painted_at = 0.0 if waiting else time.monotonic()

    def _paint_image(self, name: str, subject: Any, draw: Callable[[Any], bytes], *more: Any) -> None:
        """Draw the subject, unless the picture shows it already; without a subject, hide the picture."""
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
        self._paint_image("Curve", result, render.curve)

    def _paint_weights(self, result: SelectionResult | None) -> None:
        self._paint_image("Weights", result, render.weights)

    def _paint_stability(self, result: SelectionResult | None) -> None:
        delta = self.session.reading.delta
        self._paint_image("Stability", result, partial(render.stability, delta=delta), delta)
        self._notes["Stability"].value = "" if result is None else texts.guarantee(result, delta)

    def _paint_clusters(self, result: SelectionResult | None) -> None:
        clusterings, k, note = self.session.clusterings, self._k.value, self._notes["Clusters"]
        if result is None or clusterings is None or self.session.running:
            self._hide("Clusters")
            note.value = texts.muted("Clusters are shown when the run has ended.")
            return
        clusterings.want(k)
        found = clusterings.get(k)
        note.value = texts.clusters(clusterings, found, k)
        if isinstance(found, Clustering):
            self._paint_image("Clusters", found, partial(self._picture_of, clusterings))
        elif found is not None:
            self._hide("Clusters")

    def _paint_compare(self, _: SelectionResult | None) -> None:
        found, status = self.session.comparison, self.session.comparing
        self._compare.disabled = status.phase == "running"
        self._cancel.disabled = not self._compare.disabled
        self._paint_image("Compare", found, render.comparison)
        self._notes["Compare"].value = texts.comparing(status, found)

    def _paint_table(self, result: SelectionResult | None) -> None:
        self._notes["Table"].value = "" if result is None else texts.numbers(result)

    def _paint_code(self, _: SelectionResult | None) -> None:
        self._notes["Code"].value = texts.lines(self._code())

    def _code(self) -> str:
        ready = self.session.clusterings is not None and not self.session.running
        expression = self.session.expression or _name_of(self.session.data)
        return code(self.session, expression, self._k.value if ready else None)

    def _save_report(self) -> None:
        self._save("compsil-report.html", "text/html", self.session.report)

    def _save_code(self) -> None:
        self._save("compsil_selection.py", "text/x-python", lambda path: path.write_text(self._code(), "utf-8"))

    def _save(self, name: str, kind: str, write: Callable[[Path], object]) -> None:
        path = _free(Path(name))
        try:
            write(path)
        except (ValueError, OSError) as problem:
            self._saved.value = texts.error(f"Not saved: {problem}")
        else:
            self._saved.value = texts.saved(path, kind)


def _button(text: str, icon: str, name: str, act: Callable[[], None], style: str = "") -> widgets.Button:
    button = widgets.Button(description=text, icon=icon, button_style=style)
    button.add_class(f"compsil-{name}")
    button.on_click(lambda _: act())
    return button


def _image(name: str) -> widgets.Image:
    image = widgets.Image(format="png", layout={"max_width": "100%", "display": "none", "object_fit": "contain"})
    image.add_class(f"compsil-image-{name.lower()}")
    return image


def _parts(widget: Any) -> list[Any]:
    """Return a widget and everything inside it."""
    return [widget, *(part for child in getattr(widget, "children", ()) for part in _parts(child))]


def _free(path: Path) -> Path:
    """Return the path, with a number added if it exists: no file is overwritten."""
    others = (path.with_stem(f"{path.stem}-{number}") for number in count(2))
    return path if not path.exists() else next(other for other in others if not other.exists())


def _name_of(data: Any) -> str | None:
    """Return the name of the data in the notebook, if it has one."""
    from IPython import get_ipython

    shell = get_ipython()
    names = {} if shell is None else shell.user_ns
    found = (name for name, value in list(names.items()) if value is data and not name.startswith("_"))
    return next(found, None)
