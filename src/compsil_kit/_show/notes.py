"""The warnings of a result: reasons to be careful with the choice, one or two sentences each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from compsil_kit._method.selection import LIKELY, MAX_FAILED_SHARE, MULTI_INIT_CRITERIA
from compsil_kit._method.subsample import POINTS_PER_CLUSTER
from compsil_kit._show.curve import SCORED, at_best
from compsil_kit._util.format import percent, whole_percent

if TYPE_CHECKING:
    from compsil_kit.result import SelectionResult

# Below this mean silhouette, Kaufman and Rousseeuw see no substantial structure.
WEAK = 0.25
# Below this selection probability, in percent as printed, the two best ks are nearly tied.
TIE_PERCENT = 80


def warnings(result: SelectionResult) -> list[str]:
    """Return the warnings; those about the choice only if a k is selected."""
    found = list(_about_run(result))
    if result._best_index is not None:
        found += [*_about_averages(result), *_about_choice(result)]
    found += _about_subsamples(result)
    return [*found, *(result.preparation.notes if result.preparation is not None else ())]


def _about_run(result: SelectionResult) -> Iterator[str]:
    plan, n, n_calibration = result.plan, result.n_subsamples, len(result.calibration.subsamples)
    if n < plan.n_subsamples:
        yield f"this is a partial result: {n} of {plan.n_subsamples} subsamples are finished."
    if result.n_failed.any():
        excluded = ", ".join(str(k) for k, ok in zip(result.ks, result._selectable, strict=True) if not ok)
        limit = percent(MAX_FAILED_SHARE)
        yield f"the clustering failed on some of the {n} subsamples {failures(result)}" + (
            f" Excluded from the selection because more than {limit} failed: k = {excluded}." if excluded else ""
        )
    if n_calibration < plan.n_calibration:
        yield f"only {n_calibration} of {plan.n_calibration} calibration subsamples are finished."
    n_repeated = len(plan.seeds) - len(set(plan.seeds))
    if n_repeated:
        yield (
            f"{n_repeated} of {len(plan.seeds)} seeds repeat an earlier seed: identical subsamples are counted more "
            "than once, so the standard errors are too small."
        )


def failures(result: SelectionResult) -> str:
    """Return the failures per k and their most frequent cause, as the end of a sentence about subsamples."""
    counts = ", ".join(f"k = {k}: {n}" for k, n in zip(result.ks, result.n_failed, strict=True) if n)
    cause = Counter(failure.cause for failure in result.failures).most_common(1)
    return f"({counts})." + (f" Most frequent cause: {cause[0][0].rstrip('.')}." if cause else "")


def _about_averages(result: SelectionResult) -> Iterator[str]:
    if result.second_opinion is not None:
        choices = ((result.criterion, result.best_k), result.second_opinion)
        own, other = (
            f"k = {k} is the most likely to be correct" if name == LIKELY else f"the {SCORED[name]} selects k = {k}"
            for name, k in choices
        )
        name, k = result.second_opinion
        known = f" (confidence {percent(result.confidence[result.ks.index(k)])})" if name == LIKELY else ""
        yield f"{own}, but {other}{known}. Compare the two clusterings, for example by their silhouette plots."
    averages = {name: result.choices[name] for name in ("micro", "macro")}
    if result.criterion != "composite" or {*averages.values(), result.best_k} - {None} == {result.best_k}:
        return
    same = [name for name, k in averages.items() if k == result.best_k]
    if same:
        yield (
            f"the micro and macro averages select different k; the composite agrees with {same[0]}. "
            "Inspect both clusterings."
        )
    else:
        yield (
            f"neither the micro nor the macro average alone selects k = {result.best_k}. "
            "Inspect the clusterings before relying on it."
        )


def _about_choice(result: SelectionResult) -> Iterator[str]:
    best, ks, second = result.best_k, result.ks, result._runner_up
    probability = at_best(result, result.selection_probability)
    if second is not None and np.isfinite(probability) and whole_percent(probability) < TIE_PERCENT:
        yield f"k = {best} and k = {ks[second]} are nearly tied; more subsamples may separate them."
    if len(ks) > 1 and best == ks[-1]:
        yield f"k = {best} is the largest candidate; a larger k may score higher. Extend ks."
    elif len(ks) > 1 and best == 2:
        yield "k = 2 is the smallest k with a silhouette; the score cannot distinguish two clusters from one."
    elif len(ks) > 1 and best == ks[0]:
        yield f"k = {best} is the smallest candidate; a smaller k may score higher. Extend ks."
    name, silhouette = "score", result.best_score
    if result.criterion in MULTI_INIT_CRITERIA:
        # These scores are not plain silhouettes.
        name, silhouette = "silhouette", float(np.nanmean(result.micro[result._best_index]))
    if silhouette < WEAK:
        yield f"the {name} is low ({silhouette:.2f}): the clusters overlap, or the data have no clusters."


def _about_subsamples(result: SelectionResult) -> Iterator[str]:
    plan, criterion = result.plan, result.criterion
    one_start = plan.n_starts == 1 and plan.config.resolved_clusterer.takes_starts
    if result._reweighed and criterion in MULTI_INIT_CRITERIA and one_start:
        yield (
            f"criterion={criterion!r} scores the best of several initialisations, but this run has one per clustering: "
            f"select_k(X, criterion={criterion!r}) computes several and may select another k."
        )
    if plan.whole_data:
        yield (
            f"every subsample is the whole data set ({plan.n_rows:,} rows): only the clusterer's seed can differ, so "
            "the standard errors and the selection probability do not reflect sampling noise. Pass a smaller "
            "sample_size."
        )
    elif result._best_index is not None:
        small = result.trials.small[result._best_index]
        n_small, n_known = int(np.nansum(small)), int(np.isfinite(small).sum())
        if n_known and n_small * 2 >= n_known:
            yield (
                f"the smallest cluster at k = {result.best_k} has fewer than {POINTS_PER_CLUSTER} rows in {n_small} of "
                f"{n_known} subsamples of {plan.sample_size:,} rows, too few to assess it. Pass a larger sample_size."
            )
    if plan.structure and result.structure is None:
        yield "the structure test is not finished."
