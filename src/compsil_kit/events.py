"""How a run reports its progress, saves finished subsamples, and is stopped."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Event

from compsil_kit._config import values
from compsil_kit._config.setting import Config, setting
from compsil_kit._types import PathLikeOrStr, Progress, Seeds


@dataclass(frozen=True, kw_only=True)
class Events(Config):
    """Settings for reporting the progress of a run, saving finished subsamples, and stopping the run.

    Attributes
    ----------
    progress, checkpoint
        The same as in :func:`compsil_kit.select_k`.
    stop : threading.Event or None
        An event that another thread sets to end the run after the subsamples in progress.
    pause_between : bool
        Whether the threads pause while the caller processes a result.
    """

    checkpoint: PathLikeOrStr | None = setting(
        None, values.validate_checkpoint, "str or path, default=None",
        "Save finished subsamples to this file, and resume from it. After an interruption, repeat the same call; it "
        "may use more subsamples or another transform, rule or z. The result is bit-for-bit identical to an "
        "uninterrupted run. A file written for other data, settings or library versions raises an error and is never "
        "overwritten. Estimators are compared by class and parameters; functions passed as ``clusterer`` or ``metric`` "
        "are compared by name, code, defaults and the plain values they capture. Changes in the functions they call, "
        "in global variables and inside other objects are not detected. Only one run at a time may use a file.",
        metavar="FILE",
    )  # fmt: skip
    progress: Progress = setting(
        None, values.validate_progress, "bool or callable, default=None",
        "Whether to show a progress bar. None shows it only in a terminal or a notebook. A function is called with "
        "``(done, total)``. If the function has a ``rows`` attribute, that attribute is called with the number of rows "
        "read and the total number of rows while an out-of-core table is read.",
    )  # fmt: skip
    stop: Event | None = None
    pause_between: bool = False

    @property
    def stopped(self) -> bool:
        """Whether the ``stop`` event is set."""
        return self.stop is not None and self.stop.is_set()

    def require_repeatable(self, random_state: Seeds) -> None:
        """Raise if a checkpoint is requested but the subsamples differ in every run.

        Parameters
        ----------
        random_state : int, None or sequence of int
            The seed of the selection.
        """
        if self.checkpoint is not None and random_state is None:
            raise ValueError(
                "checkpoint needs the same seeds in every run, but random_state=None draws new seeds each time. Pass "
                "an integer as random_state."
            )
