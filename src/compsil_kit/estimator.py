"""``CompositeSilhouette``: the selection as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from compsil_kit._checks import check_bool
from compsil_kit.api import DEFAULT_KS, select_k
from compsil_kit.cluster import fit_final, resolve_clusterer
from compsil_kit.metrics import resolve_metric
from compsil_kit.sources import as_matrix

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from compsil_kit.result import SelectionResult


def _refitted_can_predict(self: CompositeSilhouette) -> bool:
    """Tell whether the refitted clusterer can label new points; before fit, leave it open."""
    return not hasattr(self, "result_") or hasattr(self.best_estimator_, "predict")


class CompositeSilhouette(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Select the number of clusters by Composite Silhouette and fit the clusterer with it.

    Parameters are those of :func:`compsil_kit.select_k`, and ``refit``.

    Parameters
    ----------
    ks : iterable of int, default=(2, ..., 10)
        Candidate counts, each at least 2.
    clusterer : str, estimator or callable, default="kmeans"
        What clusters; it is cloned, never changed.
    n_subsamples : int, default=30
        Subsamples to score.
    sample_size : "auto", int or float, default="auto"
        Rows in a subsample.
    metric : str or callable, default="euclidean"
        Distance of the silhouettes.
    transform : str or callable, default="tanh"
        From normalised discrepancy to the weight of micro.
    rule : {"max", "lcb"}, default="max"
        What is maximised.
    z : float, default=1.0
        Width of the lower confidence bound.
    n_calibration : int, default=0
        Further subsamples that only estimate the largest discrepancies.
    on_failure : {"raise", "skip"}, default="raise"
        What to do when a clustering fails.
    n_jobs : int, optional
        Workers.
    random_state : int, None or sequence of int, default=42
        Seed of the subsamples; the first subsample's seed also serves the refit.
    progress : bool or callable, optional
        Progress bar.
    refit : bool, default=True
        Whether to fit the clusterer on all of X with the selected k. The name ``"kmeans"`` uses ten starts there.

    Attributes
    ----------
    best_k_ : int
        The selected number of clusters.
    best_score_ : float
        Its score.
    result_ : SelectionResult
        Everything else.
    best_estimator_ : estimator or None
        The clusterer fitted on all of X; None for a function. Only with ``refit``.
    labels_ : ndarray of shape (n_rows,)
        Labels of X. Only with ``refit``.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray
        Names of the features, if X was a table with string names.

    Examples
    --------
    >>> from compsil_kit import CompositeSilhouette
    >>> from compsil_kit.datasets import imbalanced_blobs
    >>> X, _ = imbalanced_blobs()
    >>> model = CompositeSilhouette(ks=[4, 5, 6], n_subsamples=5).fit(X)
    >>> model.best_k_, len(set(model.predict(X)))
    (5, 5)
    """

    best_k_: int
    best_score_: float
    result_: SelectionResult
    best_estimator_: Any
    labels_: NDArray[Any]
    n_features_in_: int

    def __init__(
        self,
        ks: Any = tuple(DEFAULT_KS),
        *,
        clusterer: Any = "kmeans",
        n_subsamples: int = 30,
        sample_size: str | int | float = "auto",
        metric: str | Callable[..., float] = "euclidean",
        transform: Any = "tanh",
        rule: str = "max",
        z: float = 1.0,
        n_calibration: int = 0,
        on_failure: str = "raise",
        n_jobs: int | None = None,
        random_state: Any = 42,
        progress: Any = None,
        refit: bool = True,
    ) -> None:
        """Keep the parameters as they are; ``fit`` checks them."""
        self.ks = ks
        self.clusterer = clusterer
        self.n_subsamples = n_subsamples
        self.sample_size = sample_size
        self.metric = metric
        self.transform = transform
        self.rule = rule
        self.z = z
        self.n_calibration = n_calibration
        self.on_failure = on_failure
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.progress = progress
        self.refit = refit

    def fit(self, X: Any, y: Any = None) -> CompositeSilhouette:  # noqa: ARG002  (scikit-learn's signature)
        """Select k, and refit the clusterer with it.

        Parameters
        ----------
        X : array, sparse matrix or table of shape (n_rows, n_features)
            The data.
        y : ignored
            For scikit-learn's sake.

        Returns
        -------
        CompositeSilhouette
            The fitted estimator.
        """
        refit = check_bool("refit", self.refit)
        matrix = as_matrix(X)
        validate_data(self, X, skip_check_array=True)
        settings = self.get_params(deep=False)
        settings.pop("refit")
        self.result_ = select_k(matrix, **settings)
        self.best_k_ = self.result_.best_k
        self.best_score_ = self.result_.best_score
        if refit:
            clusterer = resolve_clusterer(self.clusterer, resolve_metric(self.metric))
            seed = self.result_.plan.seeds[0]
            self.best_estimator_, self.labels_ = fit_final(clusterer, matrix, self.best_k_, seed)
        return self

    @available_if(_refitted_can_predict)  # type: ignore[untyped-decorator]
    def predict(self, X: Any) -> NDArray[Any]:
        """Return the cluster of each row, from the clusterer fitted with the selected k.

        Parameters
        ----------
        X : array, sparse matrix or table of shape (n_rows, n_features)
            The data.

        Returns
        -------
        ndarray of shape (n_rows,)
            Labels.
        """
        check_is_fitted(self, "best_estimator_")
        validate_data(self, X, skip_check_array=True, reset=False)
        labels: NDArray[Any] = self.best_estimator_.predict(as_matrix(X))
        return labels

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what this estimator takes."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags
