"""Numbers derived from the trials of a selection: weights, scores per candidate k, the choice and its certainty."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compsil_kit._method import likelihood, selection
from compsil_kit._method.selection import (
    CRITERIA,
    LIKELY,
    STABLE,
    combine,
    finite_mean,
    largest_discrepancy,
    second_criterion,
    weigh,
)
from compsil_kit._result.trials import Array, Failure, Saved, Trials
from compsil_kit._types import Transform
from compsil_kit.plan import Plan

ALL = slice(None)


@dataclass(frozen=True, eq=False, repr=False)
class Scores:
    """Trials, how to weight them and how to choose k; every number is computed on first access.

    ``_saved`` holds the weights and probabilities of a loaded result whose transform was a function.
    """

    plan: Plan
    trials: Trials
    calibration: Trials
    transform: Transform = "tanh"
    rule: str = "max"
    z: float = 1.0
    criterion: str = "composite"
    _saved: Saved | None = None
    failures: tuple[Failure, ...] = ()

    @property
    def ks(self) -> tuple[int, ...]:
        """The candidate numbers of clusters, ascending."""
        return self.plan.ks

    @property
    def n_subsamples(self) -> int:
        """Number of scored subsamples."""
        return len(self.trials.subsamples)

    @property
    def micro(self) -> Array:
        """Micro-averaged silhouettes, shape (n_ks, n_subsamples); NaN where a clustering failed."""
        return self.trials.micro

    @property
    def macro(self) -> Array:
        """Macro-averaged silhouettes, shape (n_ks, n_subsamples); NaN where a clustering failed."""
        return self.trials.macro

    @cached_property
    def weights(self) -> Array:
        """Weights of the micro average, shape (n_ks, n_subsamples); NaN where a clustering failed."""
        return _frozen(self._weigh(ALL))

    @cached_property
    def composite(self) -> Array:
        """Composite silhouettes, shape (n_ks, n_subsamples); NaN where a clustering failed."""
        return _frozen(combine(self.micro, self.macro, self.weights))

    @cached_property
    def stability(self) -> Array:
        """Stability per k: the mean adjusted Rand index between the clusterings of consecutive subsamples.

        Two clusterings are compared on the rows that both subsamples contain. If k-means runs on subsamples of less
        than a twentieth of the rows, all clusterings are compared on one fixed set of rows, each assigned to its
        nearest centre. NaN with a single subsample, or if consecutive subsamples share too few rows.
        """
        return _frozen(finite_mean(self.trials.agreement))

    @property
    def scores(self) -> Array:
        """Score per k: the mean of the criterion over the subsamples."""
        return self._summary.mean

    @property
    def sem(self) -> Array:
        """Standard error of the score per k; NaN with fewer than two subsamples."""
        return self._summary.sem

    @property
    def lcb(self) -> Array:
        """Lower confidence bound per k: score - z * sem."""
        return self._summary.lcb

    @cached_property
    def selection_probability(self) -> Array:
        """Estimated probability per k that a new run on the same data would select it; NaN if unknown."""
        if self._saved is not None:
            return self._saved.probability

        def maximised(draws: NDArray[np.int64]) -> Array:
            return selection.maximised(self._summarise(self.criterion, draws), self.rule)

        return _frozen(selection.selection_probability(self.n_subsamples, self._selectable, maximised))

    @property
    def confidence(self) -> Array:
        """Confidence per k: how often such a k was the true number of clusters in comparable simulated data.

        ``selection_probability`` describes whether another run would agree; ``confidence`` describes whether the answer
        is correct. Together with ``confidence_none`` the values sum to 1. NaN if unknown; see ``confidence_note``.
        """
        return self._chances[:-1]

    @property
    def confidence_none(self) -> float:
        """Confidence that no candidate is correct, for example because the data contain no clusters."""
        return float(self._chances[-1])

    @cached_property
    def confidence_note(self) -> str:
        """Reason why the confidence is unknown; empty if it is known."""
        if reason := likelihood.why_unknown(self.plan, self.n_subsamples):
            return reason
        known = all(np.isfinite(values).all() for values in self._means(ALL).values())
        return "" if known else "confidence requires dense data and a successful clustering for every k"

    @property
    def n_failed(self) -> NDArray[np.int64]:
        """Number of subsamples per k on which the clustering failed."""
        return self._n_run - self._summary.count

    @cached_property
    def choices(self) -> dict[str, int | None]:
        """The k that each criterion selects; None if it cannot select any."""
        found: dict[str, int | None] = {}
        for name in CRITERIA:
            # The confidence has no standard error, hence no lower bound.
            values = selection.maximised(self._summaries[name], "max" if name == LIKELY else self.rule)
            at = selection.choose(values, self._selectable_by(name))
            found[name] = None if at is None else self.ks[at]
        return found

    @cached_property
    def second_opinion(self) -> tuple[str, int] | None:
        """The best alternative criterion and the k it selects, if that differs from ``best_k``; else None.

        The alternative is ``"likely"`` if the confidence is known, else ``"stable"``; for a result that already uses
        the best one, it is ``"composite"``.
        """
        if self._best_index is None:
            return None
        other = second_criterion(self.criterion, confidence_known=not self.confidence_note)
        if other == STABLE and not np.isfinite(self.stability[self._selectable]).all():
            # Without stability this criterion is the micro average.
            return None
        k = self.choices[other]
        return None if k is None or k == self.ks[self._best_index] else (other, k)

    @cached_property
    def _n_run(self) -> NDArray[np.int64]:
        """Number of subsamples on which each k ran; an adaptive run drops candidates that can no longer win."""
        if not self.plan.adaptive:
            return np.full(len(self.ks), self.n_subsamples)
        scored = set(self.trials.subsamples)
        failed = Counter(failure.k for failure in self.failures if failure.subsample in scored)
        counted: NDArray[np.int64] = np.isfinite(self.micro).sum(axis=1) + np.array([failed[k] for k in self.ks])
        return counted

    @cached_property
    def _largest(self) -> Array | None:
        """Largest discrepancy per k from the calibration subsamples, or None without any."""
        held = self.calibration
        return largest_discrepancy(held.micro, held.macro) if held.subsamples else None

    def _weigh(self, at: Any) -> Array:
        """Return the weights derived from a selection of subsamples, or from bootstrap draws of them."""
        if self._saved is not None:
            return self._saved.weights[:, at]
        micro, largest = self.micro[:, at], self._largest
        fixed = largest if largest is None or micro.ndim == 2 else largest[:, None, :]
        return weigh(micro, self.macro[:, at], self.transform, fixed)

    def _means(self, at: Any) -> dict[str, Array]:
        """Return the means that the confidence model needs, over subsamples or bootstrap draws; ks last."""
        means = likelihood.means({name: getattr(self.trials, name)[:, at] for name in likelihood.INPUTS})
        return {name: np.moveaxis(values, 0, -1) for name, values in means.items()}

    @cached_property
    def _chances(self) -> Array:
        """The confidence in each k and, last, in none of them."""
        if self.confidence_note:
            return np.full(len(self.ks) + 1, np.nan)
        return _frozen(likelihood.likelihood(self._means(ALL), self.plan))

    def _values(self, criterion: str, at: Any) -> Array:
        """Return the values of a criterion, which is not a confidence, on subsamples or bootstrap draws."""
        micro, macro = self.micro[:, at], self.macro[:, at]
        if criterion == "composite":
            return self.composite if at is ALL else combine(micro, macro, self._weigh(at))
        if criterion != STABLE:
            return micro if criterion == "micro" else macro
        stability = finite_mean(self.trials.agreement[:, at])
        # Stability is undefined for a single subsample, and for subsamples that share no rows.
        factor = np.where(np.isfinite(stability), np.maximum(stability, 0.0), 1.0)
        return self.trials.best_micro[:, at] * factor[..., None]

    def _summarise(self, criterion: str, at: Any) -> selection.Summary:
        """Return mean, standard error and lower bound per k over subsamples or bootstrap draws."""
        if criterion != LIKELY:
            return selection.summarise(self._values(criterion, at), self.z)
        known = selection.summarise(self.micro[:, at], self.z)
        unknown = np.full(known.mean.shape, np.nan)
        chances = unknown
        if not self.confidence_note:
            chances = np.moveaxis(likelihood.likelihood(self._means(at), self.plan)[..., :-1], -1, 0)
        return selection.Summary(chances, unknown, unknown, known.count)

    @cached_property
    def _summaries(self) -> dict[str, selection.Summary]:
        """Mean, standard error and lower bound per k of every criterion, and of the weights."""
        return {
            **{name: self._summarise(name, ALL) for name in CRITERIA},
            "weight": selection.summarise(self.weights, self.z),
        }

    @property
    def _summary(self) -> selection.Summary:
        return self._summaries[self.criterion]

    @property
    def _maximised(self) -> Array:
        return selection.maximised(self._summary, self.rule)

    @cached_property
    def _selectable(self) -> NDArray[np.bool_]:
        """Whether each k can be selected: the clustering succeeded on enough subsamples."""
        return self._selectable_by(self.criterion)

    def _selectable_by(self, criterion: str) -> NDArray[np.bool_]:
        kept = selection.selectable(self.micro, self._n_run)
        if criterion == self.plan.adaptive:
            # Candidates dropped by this criterion have scores from fewer subsamples, which are hardly comparable.
            kept &= self._n_run == self._n_run.max()
        return kept

    @cached_property
    def _best_index(self) -> int | None:
        """Position of the selected k in ``ks``, or None if no k can be selected."""
        return selection.choose(self._maximised, self._selectable)

    @property
    def _runner_up(self) -> int | None:
        """Position of the second-best k in ``ks``, or None."""
        if self._best_index is None:
            return None
        rest = self._selectable.copy()
        rest[self._best_index] = False
        return selection.choose(self._maximised, rest)

    @property
    def _lead(self) -> float:
        """Difference between the best and the second-best k in what the rule maximises; NaN without a second."""
        best, second = self._best_index, self._runner_up
        return float("nan") if second is None else float(self._maximised[best] - self._maximised[second])

    @cached_property
    def _running(self) -> tuple[Array, tuple[int | None, ...]]:
        """The score per k, and the selected k, from the first 1, 2, ... subsamples."""
        scores, chosen = [], []
        for n in range(1, self.n_subsamples + 1):
            summary = self._summarise(self.criterion, slice(n))
            kept = selection.selectable(self.micro[:, :n], np.minimum(self._n_run, n))
            at = selection.choose(selection.maximised(summary, self.rule), kept)
            scores.append(summary.mean)
            chosen.append(None if at is None else self.ks[at])
        return np.array(scores).reshape(-1, len(self.ks)).T, tuple(chosen)


def _frozen(array: Array) -> Array:
    array.setflags(write=False)
    return array
