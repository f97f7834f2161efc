"""The numbers that a result has, by the names under which users find them; all come from its scores."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from compsil_kit._result.scores import Scores

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]


class Derived:
    """What is derived from trials, weights and the choice. The result supplies its scores."""

    @cached_property
    def _numbers(self) -> Scores:
        raise NotImplementedError

    @property
    def micro(self) -> Array:
        """Micro-averaged silhouettes, ks by subsamples; NaN where a clustering failed."""
        return self._numbers.trials.micro

    @property
    def macro(self) -> Array:
        """Macro-averaged silhouettes, ks by subsamples; NaN where a clustering failed."""
        return self._numbers.trials.macro

    @property
    def weights(self) -> Array:
        """Weights of micro, ks by subsamples; NaN where a clustering failed."""
        return self._numbers.weights

    @property
    def composite(self) -> Array:
        """Composite silhouettes, ks by subsamples; NaN where a clustering failed."""
        return self._numbers.composite

    @property
    def stability(self) -> Array:
        """How well clusterings of neighbouring subsamples agree, per k: the mean adjusted Rand index on shared rows.

        Where k-means clusters subsamples of less than a twentieth of the rows, on rows that are the same for all
        subsamples and belong to the nearest mean. NaN with one subsample, or where neighbours share too few rows.
        """
        return self._numbers.stability

    @property
    def scores(self) -> Array:
        """Score per k: the mean over subsamples of the criterion, the composite silhouette unless told otherwise."""
        return self._numbers.summary.mean

    @property
    def sem(self) -> Array:
        """Standard error of the score per k; NaN below two subsamples."""
        return self._numbers.summary.sem

    @property
    def lcb(self) -> Array:
        """Lower confidence bound per k: score - z * sem."""
        return self._numbers.summary.lcb

    @property
    def probability(self) -> Array:
        """Selection probability per k: how often a new run on these data would choose it, by estimate, or NaN."""
        return self._numbers.probability

    @property
    def confidence(self) -> Array:
        """Confidence per k: on data like these, how often such a k was the true one. NaN where this is not known.

        It comes from a model fitted on generated data sets. Unlike ``probability``, which is about another run, it is
        about being right. The candidates share what ``confidence_none`` leaves.
        """
        return self._numbers.chances[:-1]

    @property
    def confidence_none(self) -> float:
        """Confidence that none of the candidates is right, for instance because the data have no clusters."""
        return float(self._numbers.chances[-1])

    @property
    def why_no_confidence(self) -> str:
        """Why the confidence is not known for this selection; an empty text if it is."""
        return self._numbers.why_no_confidence

    @property
    def n_failed(self) -> NDArray[np.int64]:
        """Failed subsamples per k."""
        return self._numbers.n_failed

    @property
    def selectable(self) -> NDArray[np.bool_]:
        """Whether each k kept enough subsamples to be selected."""
        return self._numbers.selectable

    @property
    def choices(self) -> dict[str, int | None]:
        """The k that each criterion chooses; None where there is none."""
        return self._numbers.choices

    @property
    def second_opinion(self) -> tuple[str, int] | None:
        """The best other criterion and the k that it chooses, where the two disagree; None where they do not.

        That is ``"likely"`` where the confidence is known, else ``"stable"``; the composite beside these two.
        """
        return self._numbers.second_opinion

    @property
    def runner_up(self) -> int | None:
        """Position in ``ks`` of the second-best k, or None."""
        return self._numbers.runner_up

    @property
    def lead(self) -> float:
        """Lead of the best k over the second, in what the rule maximises; NaN when there is no second."""
        return self._numbers.lead

    @property
    def running(self) -> tuple[Array, tuple[int | None, ...]]:
        """The score per k, and the choice, from the first 1, 2, ... subsamples."""
        return self._numbers.running

    @property
    def curve(self) -> pd.DataFrame:
        """One row per k: score, sem, lcb, micro, macro, weight, stability, n_subsamples, n_failed, probability,
        confidence.
        """
        return self._numbers.curve()

    def to_frame(self) -> pd.DataFrame:
        """Return the trials as a tidy table, one row per k and subsample."""
        return self._numbers.frame()
