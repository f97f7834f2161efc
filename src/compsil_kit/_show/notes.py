"""What should be known before a choice is trusted: the warnings of a result, one sentence or two each."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from compsil_kit._method.selection import MAX_FAILED_SHARE, MULTI_INIT_CRITERIA
from compsil_kit._method.subsample import POINTS_PER_CLUSTER
from compsil_kit._show.chances import MOSTLY_STABLE, second_opinion
from compsil_kit._util.format import percent, whole_percent

if TYPE_CHECKING:
    from compsil_kit.result import SelectionResult

# Below this mean silhouette, Kaufman and Rousseeuw speak of no substantial structure.
WEAK = 0.25


def warnings(result: SelectionResult) -> list[str]:
    """Return what should be known before the choice is trusted."""
    found = [_partial(result), _failed(result), _calibration(result), _repeated_seeds(result)]
    if result._best_index is not None:
        found += [second_opinion(result), _disagreement(result), _near_tie(result), _edge(result), _weak(result)]
    found += [_few_initialisations(result), _whole_data(result), _small(result), _untested(result)]
    found += [] if result.preparation is None else result.preparation.notes
    return [text for text in found if text]


def _partial(result: SelectionResult) -> str:
    done, planned = result.n_subsamples, result.plan.n_subsamples
    return f"this is a partial result: {done} of {planned} subsamples are finished." if done < planned else ""


def _calibration(result: SelectionResult) -> str:
    done, planned = len(result.calibration.subsamples), result.plan.n_calibration
    return f"only {done} of {planned} calibration subsamples are finished." if done < planned else ""


def _untested(result: SelectionResult) -> str:
    untested = result.plan.structure and result.structure is None
    return "the test whether the data have clusters is not finished." if untested else ""


def _few_initialisations(result: SelectionResult) -> str:
    plan, criterion = result.plan, result.criterion
    if not result._reweighed or criterion not in MULTI_INIT_CRITERIA or plan.n_starts > 1:
        return ""
    if not plan.config.resolved_clusterer.takes_starts:
        return ""
    return (
        f"criterion={criterion!r} scores the best of several initialisations, but this run has one per clustering: "
        f"select_k(X, criterion={criterion!r}) computes several and may choose another k."
    )


def _repeated_seeds(result: SelectionResult) -> str:
    repeated = len(result.plan.seeds) - len(set(result.plan.seeds))
    if not repeated:
        return ""
    return (
        f"{repeated} of {len(result.plan.seeds)} seeds repeat an earlier one: equal subsamples are counted more than "
        "once, and the standard errors are too small."
    )


def _failed(result: SelectionResult) -> str:
    if not result.n_failed.any():
        return ""
    excluded = ", ".join(str(k) for k, ok in zip(result.ks, result._selectable, strict=True) if not ok)
    limit = percent(MAX_FAILED_SHARE)
    return f"the clustering failed on some of the {result.n_subsamples} subsamples {failures(result)}" + (
        f" Excluded from the selection because more than {limit} failed: k = {excluded}." if excluded else ""
    )


def failures(result: SelectionResult) -> str:
    """Return the failures per k and their most frequent cause, as the end of a sentence about subsamples."""
    counts = ", ".join(f"k = {k}: {n}" for k, n in zip(result.ks, result.n_failed, strict=True) if n)
    cause = Counter(failure.cause for failure in result.failures).most_common(1)
    return f"({counts})." + (f" Most frequent cause: {cause[0][0].rstrip('.')}." if cause else "")


def _disagreement(result: SelectionResult) -> str:
    micro, macro = result.choices["micro"], result.choices["macro"]
    if result.criterion != "composite" or len({micro, macro, result.best_k} - {None}) == 1:
        return ""
    if result.best_k in (micro, macro):
        same = "micro" if result.best_k == micro else "macro"
        return (
            f"the micro and macro averages choose different k; the composite agrees with {same}. "
            "Inspect both clusterings."
        )
    return (
        f"neither the micro nor the macro average alone chooses k = {result.best_k}. "
        "Inspect the clusterings before relying on it."
    )


def _near_tie(result: SelectionResult) -> str:
    assert result._best_index is not None
    probability, second = result.selection_probability[result._best_index], result._runner_up
    if second is None or not np.isfinite(probability) or whole_percent(probability) >= MOSTLY_STABLE:
        return ""
    return f"k = {result.best_k} and k = {result.ks[second]} are nearly tied; more subsamples may separate them."


def _edge(result: SelectionResult) -> str:
    best, ks = result.best_k, result.ks
    if len(ks) == 1:
        return ""
    if best == ks[-1]:
        return f"k = {best} is the largest candidate; a larger k may score higher. Extend ks."
    if best == 2:
        return "k = 2 is the smallest k that has a silhouette; the score cannot tell two clusters from one."
    if best == ks[0]:
        return f"k = {best} is the smallest candidate; a smaller k may score higher. Extend ks."
    return ""


def _weak(result: SelectionResult) -> str:
    name, silhouette = "score", result.best_score
    if result.criterion in MULTI_INIT_CRITERIA:
        # These scores are no plain silhouettes.
        name, silhouette = "silhouette", float(np.nanmean(result.micro[result._best_index]))
    if silhouette >= WEAK:
        return ""
    return f"the {name} is low ({silhouette:.2f}): the clusters overlap, or the data have no clusters."


def _small(result: SelectionResult) -> str:
    """Say that a cluster is too small in the subsamples to be judged, where larger ones are possible."""
    if result._best_index is None or result.plan.whole_data:
        return ""
    known = result.trials.small[result._best_index]
    n_small, n_known = int(np.nansum(known)), int(np.isfinite(known).sum())
    if not n_known or n_small * 2 < n_known:
        return ""
    return (
        f"the smallest cluster at k = {result.best_k} has fewer than {POINTS_PER_CLUSTER} rows in {n_small} of "
        f"{n_known} subsamples of {result.plan.sample_size:,} rows: too few to judge it. Pass a larger sample_size."
    )


def _whole_data(result: SelectionResult) -> str:
    if not result.plan.whole_data:
        return ""
    return (
        f"every subsample is the whole data set ({result.plan.n_rows:,} rows): they differ at most in the clusterer's "
        "seed, so the standard errors and the selection probability do not show sampling noise. Pass a smaller "
        "sample_size."
    )
