"""Progress, checkpoint and stop of a run."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Event

from compsil_kit._config import values
from compsil_kit._config.setting import Config, setting
from compsil_kit._types import PathLikeOrStr, Progress, Seeds


@dataclass(frozen=True, kw_only=True)
class Events(Config):
    """How a run reports its progress, where it keeps finished subsamples, and how it can be stopped.

    Attributes
    ----------
    progress, checkpoint
        The keywords of :func:`compsil_kit.select_k`.
    stop : threading.Event or None
        Setting it in another thread ends the run after the subsamples in progress.
    pause_between : bool
        Whether the threads pause while the caller processes a result.
    """

    checkpoint: PathLikeOrStr | None = setting(
        None, values.validate_checkpoint, "str or path, default=None",
        "File in which finished subsamples are kept. The same call resumes from it after an interruption, also with "
        "more subsamples or another transform, rule or z, and returns the result of an uninterrupted run bit for bit. "
        "A file of other data, settings or library versions is refused, never overwritten. Estimators are compared by "
        "class and parameters; functions passed as ``clusterer`` or ``metric`` by name, code, defaults and the plain "
        "values they capture. Changes in the functions they call, in global variables and inside other objects are "
        "not detected. Only one run at a time may use a file.",
        metavar="FILE",
    )  # fmt: skip
    progress: Progress = setting(
        None, values.validate_progress, "bool or callable, default=None",
        "Whether to show a progress bar. None shows one in a terminal or a notebook. A function is called with "
        "(done, total); if it has an attribute ``rows``, that is called with the rows read and the total number of "
        "rows while an out-of-core table is read.",
    )  # fmt: skip
    stop: Event | None = None
    pause_between: bool = False

    @property
    def stopped(self) -> bool:
        """Whether the run is to end."""
        return self.stop is not None and self.stop.is_set()

    def require_repeatable(self, random_state: Seeds) -> None:
        """Raise if a checkpoint is requested for subsamples that differ in every run.

        Parameters
        ----------
        random_state : int, None or sequence of int
            The seed of the selection.
        """
        if self.checkpoint is not None and random_state is None:
            raise ValueError(
                "checkpoint needs the same seeds in every run, but random_state=None draws new ones each time. Pass an "
                "integer as random_state."
            )
