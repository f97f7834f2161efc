"""Argument types: literals, protocols, and keyword dicts of the public functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from typing import Any, Literal, Protocol, TypedDict

import numpy as np

ClustererName = Literal[
    "kmeans", "minibatch-kmeans", "bisecting-kmeans", "gmm", "agglomerative", "spectral", "birch", "kmedoids", "clara"
]
ComparedCriterion = Literal[
    "composite", "micro", "macro", "full-micro", "full-macro", "calinski-harabasz", "davies-bouldin", "elbow", "gap"
]
Criterion = Literal["composite", "micro", "macro", "stable", "likely"]
Missing = Literal["raise", "drop"]
OnFailure = Literal["raise", "skip"]
PlotKind = Literal["curve", "weights", "convergence", "probability", "stability"]
Rule = Literal["max", "lcb"]
Scale = Literal["standard", "robust", "minmax"]
TransformName = Literal["tanh", "linear", "sigmoid", "step"]


class Estimator(Protocol):
    """A scikit-learn clusterer."""

    def get_params(self, deep: bool = ...) -> dict[str, Any]: ...
    def set_params(self, **params: Any) -> Any: ...


class Column(Protocol):
    """A column of a pandas or Polars table."""

    def to_list(self) -> list[Any]: ...


OneLabeling = np.ndarray[tuple[int], Any] | Column | Sequence[int] | Sequence[str]
ManyLabelings = (
    np.ndarray[tuple[int, int], Any]
    | Sequence[np.ndarray[Any, Any]]
    | Sequence[Sequence[int]]
    | Sequence[Sequence[str]]
)
ClustererLike = ClustererName | Estimator | Callable[[Any, int, int], Any]
MetricLike = str | Callable[..., float]
PathLikeOrStr = str | PathLike[str]
Progress = bool | Callable[[int, int], None] | None
Seeds = int | Sequence[int] | None
Transform = TransformName | Callable[[Any], Any]


class ClusteringKeywords(TypedDict, total=False):
    """Keywords shared by selections and comparisons."""

    ks: Iterable[int] | int
    clusterer: ClustererLike
    n_subsamples: int | Literal["auto"]
    sample_size: int | float | Literal["auto", "paper"]
    metric: MetricLike
    on_failure: OnFailure
    random_state: Seeds
    n_jobs: int | Literal["auto"] | None


class ChoiceKeywords(TypedDict, total=False):
    """Keywords that affect only how k is chosen from finished trials."""

    criterion: Criterion
    transform: Transform
    rule: Rule
    z: float


class SelectionKeywords(ClusteringKeywords, ChoiceKeywords, total=False):
    """Keywords of ``SelectionConfig``."""

    n_starts: int | Literal["auto"]
    n_calibration: int
    structure: bool


class StreamKeywords(SelectionKeywords, total=False):
    """Keywords of ``stream``."""

    checkpoint: PathLikeOrStr | None


class SelectKeywords(StreamKeywords, total=False):
    """Keywords of ``select_k``."""

    progress: Progress


class CompareKeywords(ClusteringKeywords, total=False):
    """Keywords of ``compare``."""

    criteria: str | Sequence[str]
    n_repeats: int | None
    n_references: int
    progress: Progress
