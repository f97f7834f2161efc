"""Facts shown in text, HTML and plots: the curve, the values at the selected k, and the warnings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from compsil_kit._method.selection import LIKELY, MAX_FAILED_SHARE, MULTI_INIT_CRITERIA
from compsil_kit._method.subsample import POINTS_PER_CLUSTER
from compsil_kit._util.format import number, percent, whole_percent

if TYPE_CHECKING:
    from compsil_kit.result import SelectionResult

Array = NDArray[np.float64]

# Names of the quantities that the criteria score.
SCORED = {
    "composite": "composite silhouette",
    "micro": "micro-averaged silhouette",
    "macro": "macro-averaged silhouette",
    "stable": "stable silhouette",
    "likely": "confidence",
}
# Maximum number of labels on an axis; more would overlap.
MAX_LABELS = 15
# Kaufman and Rousseeuw interpret a mean silhouette below this value as no substantial structure.
WEAK = 0.25
# Below this selection probability (in percent, as printed), the two best candidates are nearly tied.
TIE_PERCENT = 80
# Minimum number of subsamples for estimating the selection probability.
MIN_SUBSAMPLES = 10


def lines(result: SelectionResult) -> dict[str, Array]:
    """Return the criterion per k, and the micro and macro averages unless the criterion is the confidence."""
    averages = () if result.criterion == LIKELY else ("micro", "macro")
    return {name: result._summaries[name].mean for name in (result.criterion, *averages)}


def band(result: SelectionResult) -> tuple[Array, Array]:
    """Return the bounds of the criterion's 95 % band; they are equal where the standard error is undefined."""
    half = 1.96 * np.nan_to_num(result.sem)
    return result.scores - half, result.scores + half


def selected(result: SelectionResult, line: str) -> tuple[int, float] | None:
    """Return the k that maximises a curve, and the value of the curve at that k."""
    k = result.choices[line]
    return None if k is None else (k, float(result._summaries[line].mean[result.ks.index(k)]))


def columns(result: SelectionResult) -> dict[str, list[str]]:
    """Return the formatted cells by heading; include a column for failures only if a clustering failed."""
    micro, macro, weight = (result._summaries[name].mean for name in ("micro", "macro", "weight"))
    # With criterion="likely", the score is the confidence, which has its own column.
    scores = {} if result.criterion == LIKELY else {"score": result.scores, "± se": result.sem}

    def cells(text: Callable[[Any], str], **columns: NDArray[Any]) -> dict[str, list[str]]:
        return {heading: [text(value) for value in values] for heading, values in columns.items()}

    return {
        "k": [str(k) for k in result.ks],
        **cells(number, **scores, micro=micro, macro=macro),
        **cells(partial(number, digits=3), weight=weight, stability=result.stability),
        **cells(percent, probability=result.selection_probability, confidence=result.confidence),
        **(cells(str, failed=result.n_failed) if result.n_failed.any() else {}),
    }


def thinned(values: Any) -> list[Any]:
    """Return all values, or every nth value if there are too many to label."""
    return list(values[:: -(-len(values) // MAX_LABELS)])


def at_best(result: SelectionResult, values: Array) -> float:
    """Return the value at the selected k."""
    return float(values[result.ks.index(result.best_k)])


def confidence_text(result: SelectionResult) -> str:
    """Return the confidence in the choice, or "unknown"."""
    return "unknown" if result.confidence_note else percent(at_best(result, result.confidence))


def probability_text(result: SelectionResult) -> str:
    """Return the selection probability of the choice, or "unknown" if there are too few subsamples."""
    few = result.n_subsamples < MIN_SUBSAMPLES and len(result.ks) > 1
    return "unknown (too few subsamples)" if few else percent(at_best(result, result.selection_probability))


def no_clusters(result: SelectionResult) -> str:
    """Return the verdict of the structure test if it found no clusters, else an empty string."""
    return "" if result.structure is None or result.structure.found else result.structure.verdict


def failures(result: SelectionResult) -> str:
    """Return the failures per k and their most frequent cause, as the end of a sentence."""
    counts = ", ".join(f"k = {k}: {n}" for k, n in zip(result.ks, result.n_failed, strict=True) if n)
    cause = Counter(failure.cause for failure in result.failures).most_common(1)
    return f"({counts})." + (f" Most frequent cause: {cause[0][0].rstrip('.')}." if cause else "")


def warnings(result: SelectionResult) -> list[str]:
    """Return the warnings about a result, including warnings about the choice if a k is selected."""
    found = list(_about_run(result))
    if result._best_index is not None:
        found += [*_about_averages(result), *_about_choice(result)]
    found += _about_subsamples(result)
    return [*found, *(result.preparation.notes if result.preparation is not None else ())]


def _about_run(result: SelectionResult) -> Iterator[str]:
    plan, n, n_calibration = result.plan, result.n_subsamples, len(result.calibration.subsamples)
    if n < plan.n_subsamples:
        yield f"this is a partial result: {n} of {plan.n_subsamples} subsamples have finished."
    if result.n_failed.any():
        excluded = ", ".join(str(k) for k, ok in zip(result.ks, result._selectable, strict=True) if not ok)
        limit = percent(MAX_FAILED_SHARE)
        yield f"clustering failed on some of the {n} subsamples {failures(result)}" + (
            f" Excluded from the selection because more than {limit} failed: k = {excluded}." if excluded else ""
        )
    if n_calibration < plan.n_calibration:
        yield f"only {n_calibration} of {plan.n_calibration} calibration subsamples have finished."
    if n_repeated := len(plan.seeds) - len(set(plan.seeds)):
        yield (
            f"the seeds are not distinct ({n_repeated} of {len(plan.seeds)} are repeats), so some subsamples are "
            "counted more than once and the standard errors are too small."
        )


def _about_averages(result: SelectionResult) -> Iterator[str]:
    if result.second_opinion is not None:
        choices = ((result.criterion, result.best_k), result.second_opinion)
        own, other = (
            f"k = {k} is the most likely to be correct" if name == LIKELY else f"the {SCORED[name]} selects k = {k}"
            for name, k in choices
        )
        name, k = result.second_opinion
        known = f" (confidence {percent(result.confidence[result.ks.index(k)])})" if name == LIKELY else ""
        yield f"{own}, but {other}{known}. Compare the two clusterings, for example with silhouette plots."
    averages = {name: result.choices[name] for name in ("micro", "macro")}
    if result.criterion != "composite" or set(averages.values()) <= {None, result.best_k}:
        return
    same = [name for name, k in averages.items() if k == result.best_k]
    if same:
        yield (
            f"the micro and macro averages select different values of k; the composite agrees with {same[0]}. "
            "Inspect both clusterings."
        )
    else:
        yield (
            f"neither the micro nor the macro average selects k = {result.best_k}. "
            "Inspect the clusterings before relying on this choice."
        )


def _about_choice(result: SelectionResult) -> Iterator[str]:
    best, ks, second = result.best_k, result.ks, result._runner_up
    probability = at_best(result, result.selection_probability)
    if second is not None and np.isfinite(probability) and whole_percent(probability) < TIE_PERCENT:
        yield f"k = {best} and k = {ks[second]} are nearly tied; more subsamples may separate them."
    if len(ks) > 1 and best == 2:
        yield (
            "k = 2 is the smallest k for which silhouettes are defined; the score cannot distinguish two clusters from "
            "one."
        )
    elif len(ks) > 1 and best in (ks[0], ks[-1]):
        place, other = ("smallest", "smaller") if best == ks[0] else ("largest", "larger")
        yield f"k = {best} is the {place} candidate; a {other} k may score higher. Extend ks."
    name, silhouette = "score", result.best_score
    if result.criterion in MULTI_INIT_CRITERIA:
        # These scores are not plain silhouettes.
        name, silhouette = "silhouette", float(np.nanmean(result.micro[result._best_index]))
    if silhouette < WEAK:
        yield f"the {name} is low ({silhouette:.2f}); the clusters may overlap, or the data may contain no clusters."


def _about_subsamples(result: SelectionResult) -> Iterator[str]:
    plan, criterion = result.plan, result.criterion
    one_start = plan.n_starts == 1 and plan.config.resolved_clusterer.takes_starts
    if result._reweighed and criterion in MULTI_INIT_CRITERIA and one_start:
        yield (
            f"criterion={criterion!r} scores the best of several initialisations, but this run used only one per "
            f"clustering. select_k(X, criterion={criterion!r}) uses several and may select a different k."
        )
    if plan.whole_data:
        yield (
            f"every subsample is the whole data set ({plan.n_rows:,} rows). Subsamples differ only in the "
            "clusterer's seed, so the standard errors and the selection probability do not reflect sampling noise. "
            "Pass a smaller sample_size."
        )
    elif result._best_index is not None:
        small = result.trials.small[result._best_index]
        n_small, n_known = int(np.nansum(small)), int(np.isfinite(small).sum())
        if n_known and n_small * 2 >= n_known:
            yield (
                f"for k = {result.best_k}, the smallest cluster has fewer than {POINTS_PER_CLUSTER} rows in {n_small} "
                f"of {n_known} subsamples of {plan.sample_size:,} rows, too few to assess the cluster. Pass a "
                "larger sample_size."
            )
    if plan.structure and result.structure is None:
        yield "the structure test has not finished."
