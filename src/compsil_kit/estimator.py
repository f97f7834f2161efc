"""``CompositeSilhouette``: the selection as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from compsil_kit._data.given import in_memory
from compsil_kit._data.matrix import as_matrix
from compsil_kit._method.clusterers import resolve_clusterer, takes_sparse
from compsil_kit._method.metrics import resolve_metric
from compsil_kit._method.silhouette import silhouettes
from compsil_kit._run.refit import cluster_rows
from compsil_kit._settings.keywords import SelectKeywords, defaults_of
from compsil_kit._settings.surfaces import documented
from compsil_kit._util.checks import check_bool
from compsil_kit.select import select_k

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from compsil_kit.result import SelectionResult


# A tuple, as scikit-learn compares parameters that were given with their defaults.
_DEFAULT_KS = tuple(defaults_of(SelectKeywords)["ks"])


def _refitted_can_predict(self: CompositeSilhouette) -> bool:
    """Tell whether the refitted clusterer can label new points; before fit, leave it open."""
    return not hasattr(self, "result_") or hasattr(self.best_estimator_, "predict")


def _refits(self: CompositeSilhouette) -> bool:
    """Tell whether ``fit`` leaves labels behind."""
    return bool(self.refit)


class _Parameter:
    """A parameter that scikit-learn reads through ``get_params`` but that is no attribute of the estimator.

    scikit-learn takes whatever has an attribute ``transform`` for a transformer: pipelines and checks would call it.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        raise AttributeError(f"{self._name!r} is a parameter, not a method: read get_params()[{self._name!r}].")

    def __set__(self, instance: object, value: Any) -> None:
        instance.__dict__[self._name] = value


@documented(SelectKeywords)
class CompositeSilhouette(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Select the number of clusters by Composite Silhouette and fit the clusterer with it.

    The default candidates stop earlier where X has fewer rows. The seed of the first subsample also serves the refit.

    Parameters
    ----------
    {keywords}
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
    >>> model = CompositeSilhouette(ks=[4, 5, 6]).fit(X)
    >>> model.best_k_, len(set(model.predict(X)))
    (5, 5)
    """

    best_k_: int
    best_score_: float
    result_: SelectionResult
    best_estimator_: Any
    labels_: NDArray[Any]
    n_features_in_: int
    ks: Any
    clusterer: Any
    refit: bool
    transform = _Parameter()

    def __init__(
        self,
        ks: Any = _DEFAULT_KS,
        *,
        clusterer: Any = "kmeans",
        n_subsamples: int | str = 30,
        sample_size: str | int | float = "auto",
        metric: str | Callable[..., float] = "euclidean",
        on_failure: str = "raise",
        random_state: Any = 42,
        n_starts: int | str = "auto",
        n_calibration: int = 0,
        structure: bool = False,
        criterion: str = "composite",
        transform: Any = "tanh",
        rule: str = "max",
        z: float = 1.0,
        n_jobs: int | str | None = None,
        checkpoint: Any = None,
        progress: Any = None,
        refit: bool = True,
    ) -> None:
        """Keep the parameters as they are; ``fit`` checks them."""
        given = dict(locals())
        for name in self._get_param_names():
            setattr(self, name, given[name])

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name, as scikit-learn's estimators do.

        Parameters
        ----------
        deep : bool, default=True
            Whether to add the parameters of a clusterer that is an estimator, as ``clusterer__name``.

        Returns
        -------
        dict
            Names and values.
        """
        params = {name: vars(self)[name] for name in self._get_param_names()}
        if deep and hasattr(self.clusterer, "get_params") and not isinstance(self.clusterer, type):
            params.update((f"clusterer__{name}", value) for name, value in self.clusterer.get_params().items())
        return params

    def fit(self, X: Any, y: Any = None) -> CompositeSilhouette:  # noqa: ARG002  (scikit-learn's signature)
        """Select k, and refit the clusterer with it.

        Parameters
        ----------
        X : array, sparse matrix or table of shape (n_rows, n_features)
            The data. A table outside memory is loaded.
        y : ignored
            For scikit-learn's sake.

        Returns
        -------
        CompositeSilhouette
            The fitted estimator.
        """
        refit = check_bool("refit", self.refit)
        X = in_memory(X)
        matrix = as_matrix(X)
        validate_data(self, X, skip_check_array=True)
        settings = self.get_params(deep=False)
        settings.pop("refit")
        settings["ks"] = self._candidates(matrix.shape[0])
        self.result_ = select_k(matrix, **settings)
        self.best_k_ = self.result_.best_k
        self.best_score_ = self.result_.best_score
        self.__dict__.pop("best_estimator_", None)
        self.__dict__.pop("labels_", None)
        if refit:
            settings["random_state"] = self.result_.plan.seeds
            self.best_estimator_, self.labels_ = cluster_rows(matrix, self.best_k_, settings)
        return self

    def _candidates(self, n_rows: int) -> Any:
        """Return ks; the default ones end where the rows do, while those that were asked for are left to be checked."""
        if not isinstance(self.ks, tuple) or self.ks != _DEFAULT_KS:
            return self.ks
        return tuple(k for k in _DEFAULT_KS if k == 2 or k < n_rows)

    @available_if(_refits)  # type: ignore[untyped-decorator]
    def fit_predict(self, X: Any, y: Any = None) -> NDArray[Any]:
        """Select k, refit the clusterer with it, and return the labels of X.

        Parameters
        ----------
        X : array, sparse matrix or table of shape (n_rows, n_features)
            The data.
        y : ignored
            For scikit-learn's sake.

        Returns
        -------
        ndarray of shape (n_rows,)
            Labels.
        """
        return self.fit(X, y).labels_

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
        X = in_memory(X)
        matrix = as_matrix(X, min_rows=1)
        validate_data(self, X, skip_check_array=True, reset=False)
        # Fitted on single precision, scikit-learn's k-means predicts nothing else, and the other way round.
        labels: NDArray[Any] = self.best_estimator_.predict(matrix.astype(self.result_.plan.dtype, copy=False))
        return labels

    def plot_silhouette(self, X: Any, *, ax: Axes | None = None) -> Axes:
        """Draw the silhouette of every point of the refitted clustering, cluster by cluster.

        Parameters
        ----------
        X : array, sparse matrix or table of shape (n_rows, n_features)
            The data that was fitted.
        ax : matplotlib Axes, optional
            Where to draw; a new figure if None.

        Returns
        -------
        Axes
            The axes drawn on.
        """
        from compsil_kit._show.cluster_plots import plot_silhouettes

        scores = silhouettes(self._fitted(X), self.labels_, metric=self.metric)
        assert not isinstance(scores, list)
        return plot_silhouettes(scores, self.labels_, ax=ax)

    def plot_map(self, X: Any, *, ax: Axes | None = None) -> Axes:
        """Draw the points on two principal components, coloured by the refitted clustering.

        Parameters
        ----------
        X : array, sparse matrix or table of shape (n_rows, n_features)
            The data that was fitted.
        ax : matplotlib Axes, optional
            Where to draw; a new figure if None.

        Returns
        -------
        Axes
            The axes drawn on.
        """
        from compsil_kit._show.cluster_plots import plot_map

        return plot_map(self._fitted(X), self.labels_, ax=ax)

    def _fitted(self, X: Any) -> Any:
        """Return X as a matrix if it can be the data whose labels are known."""
        check_is_fitted(self, "labels_")
        matrix = as_matrix(X)
        if matrix.shape[0] != len(self.labels_):
            raise ValueError(f"X must be the data that was fitted, {len(self.labels_)} rows; got {matrix.shape[0]}.")
        return matrix

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what this estimator takes."""
        tags = super().__sklearn_tags__()
        try:
            metric = resolve_metric(self.metric)
            clusterer = resolve_clusterer(self.clusterer, metric)
        except (TypeError, ValueError, ImportError):
            # fit says what is wrong with them.
            return tags
        tags.input_tags.sparse = metric.takes_sparse and takes_sparse(clusterer)
        tags.input_tags.pairwise = metric.precomputed
        return tags
