"""``CompositeSilhouette``, a scikit-learn estimator that selects the number of clusters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from compsil_kit._config.setting import documented
from compsil_kit._data.table import load_data, with_names
from compsil_kit._method.clusterers import takes_sparse
from compsil_kit._method.silhouette import silhouettes
from compsil_kit._run.planning import load, make_plan
from compsil_kit._run.select import run_selection
from compsil_kit._types import (
    ClustererLike,
    Criterion,
    MetricLike,
    OnFailure,
    PathLikeOrStr,
    Progress,
    Rule,
    Seeds,
    Transform,
)
from compsil_kit._util.checks import check_bool
from compsil_kit.config import SelectionConfig, settings_of
from compsil_kit.events import Events
from compsil_kit.select import fit_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from compsil_kit.result import SelectionResult


# A tuple, because scikit-learn compares parameters with their defaults.
_DEFAULT_KS = tuple(settings_of(SelectionConfig)["ks"].default)


class _Parameter:
    """Hide a parameter as an attribute, because scikit-learn treats any object with ``transform`` as a transformer."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        raise AttributeError(f"{self._name!r} is a parameter, not a method. Read get_params()[{self._name!r}].")

    def __set__(self, instance: object, value: Any) -> None:
        instance.__dict__[self._name] = value


@documented(SelectionConfig, Events)
class CompositeSilhouette(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Select the number of clusters using Composite Silhouette, and fit the clusterer with the selected k.

    The default candidates are limited to values of k below the number of rows. The refit uses the seed of the first
    subsample.

    Parameters
    ----------
    {keywords}
    refit : bool, default=True
        Whether to fit the clusterer to all of X with the selected k. If it is ``"kmeans"``, the best of ten
        initialisations is kept.

    Attributes
    ----------
    best_k_ : int
        The selected number of clusters.
    best_score_ : float
        The score of the selected k.
    result_ : SelectionResult
        The complete result of the selection.
    best_estimator_ : estimator or None
        The clusterer fitted to all of X, or None if the clusterer is a function. Only with ``refit=True``.
    labels_ : ndarray of shape (n_rows,)
        Labels of X. Only with ``refit=True``.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray
        Names of the features if X is a table whose column names are strings.

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
        ks: Iterable[int] | int = _DEFAULT_KS,
        *,
        clusterer: ClustererLike = "kmeans",
        n_subsamples: int | Literal["auto"] = 30,
        sample_size: int | float | Literal["auto", "paper"] = "auto",
        metric: MetricLike = "euclidean",
        on_failure: OnFailure = "raise",
        random_state: Seeds = 42,
        n_jobs: int | Literal["auto"] | None = None,
        n_starts: int | Literal["auto"] = "auto",
        n_calibration: int = 0,
        structure: bool = False,
        criterion: Criterion = "composite",
        transform: Transform = "tanh",
        rule: Rule = "max",
        z: float = 1.0,
        checkpoint: PathLikeOrStr | None = None,
        progress: Progress = None,
        refit: bool = True,
    ) -> None:
        """Store the parameters; ``fit`` validates them."""
        passed = dict(locals())
        for name in self._get_param_names():
            setattr(self, name, passed[name])

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name, as in scikit-learn.

        Parameters
        ----------
        deep : bool, default=True
            Whether to include the parameters of the clusterer, as ``clusterer__name``, if it is an estimator.

        Returns
        -------
        dict
            Parameter names and values.
        """
        params = {name: vars(self)[name] for name in self._get_param_names()}
        if deep and hasattr(self.clusterer, "get_params") and not isinstance(self.clusterer, type):
            params.update((f"clusterer__{name}", value) for name, value in self.clusterer.get_params().items())
        return params

    def fit(self, X: Any, y: Any = None) -> CompositeSilhouette:  # noqa: ARG002  (scikit-learn's signature)
        """Select k, and refit the clusterer with the selected k.

        Parameters
        ----------
        X : array, sparse matrix or table of shape (n_rows, n_features)
            The data, or a table returned by :func:`prepare`. An out-of-core table is loaded into memory.
        y : ignored
            Present for compatibility with scikit-learn.

        Returns
        -------
        CompositeSilhouette
            The fitted estimator.
        """
        refit = check_bool("refit", self.refit)
        params = self.get_params(deep=False)
        events = Events(checkpoint=params.pop("checkpoint"), progress=params.pop("progress"))
        params.pop("refit")
        table = load_data(X)
        if isinstance(self.ks, tuple) and self.ks == _DEFAULT_KS:
            params["ks"] = tuple(k for k in _DEFAULT_KS if k == 2 or k < table.shape[0])
        self._config = config = SelectionConfig.from_dict(params)
        validate_data(self, with_names(X, table), skip_check_array=True)
        events.require_repeatable(config.random_state)
        plan = make_plan(table, config)
        data = load(table, plan, events)
        self.result_ = run_selection(plan, data, events)
        self.best_k_ = self.result_.best_k
        self.best_score_ = self.result_.best_score
        self.__dict__.pop("best_estimator_", None)
        self.__dict__.pop("labels_", None)
        if refit:
            self.best_estimator_, self.labels_ = fit_rows(config, data.matrix, self.best_k_, plan.seeds[0])
        return self

    @available_if(lambda self: self.refit)  # type: ignore[untyped-decorator]
    def fit_predict(self, X: Any, y: Any = None) -> NDArray[Any]:
        """Select k, refit the clusterer with the selected k, and return the labels of X.

        Parameters
        ----------
        X : array, sparse matrix or table of shape (n_rows, n_features)
            The data.
        y : ignored
            Present for compatibility with scikit-learn.

        Returns
        -------
        ndarray of shape (n_rows,)
            Labels.
        """
        return self.fit(X, y).labels_

    # Before fitting, it is unknown whether the clusterer can label new points.
    @available_if(lambda self: not hasattr(self, "result_") or hasattr(self.best_estimator_, "predict"))  # type: ignore[untyped-decorator]
    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the cluster of each row with the refitted clusterer.

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
        table = load_data(X, min_rows=1)
        validate_data(self, with_names(X, table), skip_check_array=True, reset=False)
        # scikit-learn's k-means can predict only data of the dtype to which it was fitted.
        labels: NDArray[Any] = self.best_estimator_.predict(table.matrix.astype(self.result_.plan.dtype, copy=False))
        return labels

    def plot_silhouette(self, X: Any, *, ax: Axes | None = None) -> Axes:
        """Plot the silhouette of every point in the refitted clustering, grouped by cluster.

        Parameters
        ----------
        X : array, sparse matrix or table of shape (n_rows, n_features)
            The data passed to ``fit``.
        ax : matplotlib Axes, optional
            Axes to draw on. If None, a new figure is created.

        Returns
        -------
        Axes
            The axes with the plot.
        """
        from compsil_kit._show.cluster_plots import plot_silhouettes

        scores = silhouettes(self._fitted(X), self.labels_, metric=self.metric)
        assert not isinstance(scores, list)
        return plot_silhouettes(scores, self.labels_, ax=ax)

    def plot_map(self, X: Any, *, ax: Axes | None = None) -> Axes:
        """Plot the points on two principal components, coloured by cluster of the refitted clustering.

        Parameters
        ----------
        X : array, sparse matrix or table of shape (n_rows, n_features)
            The data passed to ``fit``.
        ax : matplotlib Axes, optional
            Axes to draw on. If None, a new figure is created.

        Returns
        -------
        Axes
            The axes with the plot.
        """
        from compsil_kit._show.cluster_plots import plot_map

        return plot_map(self._fitted(X), self.labels_, ax=ax)

    def _fitted(self, X: Any) -> Any:
        """Return X as a matrix; raise unless it has as many rows as the fitted data."""
        check_is_fitted(self, "labels_")
        matrix = load_data(X).matrix
        if matrix.shape[0] != len(self.labels_):
            raise ValueError(
                f"X must be the data passed to fit, with {len(self.labels_)} rows; got {matrix.shape[0]} rows."
            )
        return matrix

    def __sklearn_tags__(self) -> Any:
        """Return the tags that describe the supported input to scikit-learn."""
        tags = super().__sklearn_tags__()
        config = self.__dict__.get("_config")
        try:
            if config is None or config.clusterer is not self.clusterer or config.metric is not self.metric:
                config = SelectionConfig(clusterer=self.clusterer, metric=self.metric)
        except (TypeError, ValueError, ImportError):
            # The error is raised in fit, with an explanation.
            return tags
        tags.input_tags.sparse = config.resolved_metric.takes_sparse and takes_sparse(config.resolved_clusterer)
        tags.input_tags.pairwise = config.resolved_metric.precomputed
        return tags
