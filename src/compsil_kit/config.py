"""Frozen settings for a selection, a comparison and a table, validated at construction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal, get_args

from compsil_kit._config import values
from compsil_kit._config.setting import Config, Setting, interactive_defaults, one_of, setting, settings_of
from compsil_kit._config.values import AUTO, MAX_STARTS, MAX_SUBSAMPLES
from compsil_kit._data.columns import check_scale
from compsil_kit._method.clusterers import Clusterer, resolve_clusterer
from compsil_kit._method.metrics import METRIC_NAMES, Metric, resolve_metric
from compsil_kit._method.selection import MAX_AUTO_SUBSAMPLES, check_transform
from compsil_kit._method.subsample import make_seeds
from compsil_kit._types import (
    ClustererLike,
    ClustererName,
    ComparedCriterion,
    Criterion,
    MetricLike,
    Missing,
    OnFailure,
    Rule,
    Scale,
    Seeds,
    Transform,
    TransformName,
)
from compsil_kit._util.checks import check_bool, check_integer, check_real

__all__ = [
    "CHOICE", "ComparisonConfig", "SelectionConfig", "Setting", "TableConfig", "interactive_defaults",
    "settings_of",
]  # fmt: skip
# Settings that affect only how k is chosen from finished trials.
CHOICE = ("criterion", "transform", "rule", "z")


@dataclass(frozen=True, kw_only=True)
class _ClusteringConfig(Config):
    """Settings shared by selections and comparisons."""

    ks: Sequence[int] = setting(
        range(2, 11), values.validate_ks, "iterable of int, default=range(2, 11)",
        "Candidate numbers of clusters, each at least 2.", parse=values.parse_integers,
        text_form="2:10 (both ends included), 2:20:2, or 2,3,5", metavar="2:10",
    )  # fmt: skip
    clusterer: ClustererLike = setting(
        "kmeans", values.validate_clusterer, 'str, estimator or callable, default="kmeans"',
        'Clustering algorithm. ``"kmeans"`` (one k-means++ initialisation), ``"minibatch-kmeans"``, '
        '``"bisecting-kmeans"``, ``"gmm"``, ``"agglomerative"``, ``"spectral"``, ``"birch"``, ``"kmedoids"``, '
        '``"clara"``; a scikit-learn estimator with ``n_clusters`` or ``n_components``, which is cloned and never '
        "modified; or a function ``f(X, k, seed) -> labels``.",
        choices=get_args(ClustererName),
    )  # fmt: skip
    n_subsamples: int | Literal["auto"] = setting(
        30, partial(values.validate_integer_or_auto, "n_subsamples", MAX_SUBSAMPLES, "an adaptive number"),
        'int or "auto", default=30',
        'Number of subsamples to score. The same subsamples are used for every k. With ``"auto"`` the number is '
        "adaptive: subsamples are added in tens until the selection probability of the best k reaches 99 % or 200 "
        "subsamples are finished, and candidates that can no longer win are dropped.",
        parse=values.parse_integer_or_auto, flags=("-B",), choices=(AUTO,), text_form="a number, or auto", metavar="N",
    )  # fmt: skip
    sample_size: int | float | Literal["auto", "paper"] = setting(
        "auto", values.validate_sample_size, '"auto", "paper", int or float, default="auto"',
        'Number of rows in a subsample. ``"auto"`` uses the size from the paper for up to 50,000 rows and '
        '20,000 for more; ``"paper"`` always uses the size from the paper. A float is a fraction of the rows.',
        parse=values.parse_sample_size, choices=(AUTO, "paper"), metavar="M",
        text_form="auto, paper (the size used in the paper), a number, or a fraction such as 0.5",
    )  # fmt: skip
    metric: MetricLike = setting(
        "euclidean", values.validate_metric, 'str or callable, default="euclidean"',
        'Distance metric for the silhouettes. A scikit-learn metric, a function of two points, or ``"precomputed"``.',
        choices=METRIC_NAMES, metavar="NAME",
    )  # fmt: skip
    on_failure: OnFailure = one_of(
        "on_failure", get_args(OnFailure),
        "What to do when a clustering fails or does not return k clusters: raise an error, or count the failure and "
        "continue. A candidate k cannot be selected if more than a fifth of its subsamples failed.",
    )  # fmt: skip
    random_state: Seeds = setting(
        42, values.validate_random_state, "int, None or sequence of int, default=42",
        "Random seed for drawing the subsamples. An integer from which the seed of each subsample is derived, None for "
        "new seeds in every call, or one seed per subsample (``range(42, 72)`` reproduces the authors' runs).",
        parse=values.parse_optional(values.parse_seeds), flags=("--seed",), metavar="N",
    )  # fmt: skip
    n_jobs: int | Literal["auto"] | None = setting(
        None, values.validate_n_jobs, 'int or "auto", default=None',
        'Number of workers, as in joblib. None means 1 and -1 means all cores; ``"auto"`` means all cores, or fewer '
        "if memory is limited. Workers are threads unless ``joblib.parallel_config`` sets another backend. The result "
        "does not depend on the number of workers.",
        parse=values.parse_optional(values.parse_integer_or_auto), flags=("-j",), choices=(AUTO,), metavar="N",
        text_form="a number, -1 for all cores, or auto for as many as memory allows", interactive=AUTO,
    )  # fmt: skip

    def __post_init__(self) -> None:
        settings = settings_of(type(self))
        self._validate({name: each for name, each in settings.items() if name not in ("clusterer", "metric")})

    @cached_property
    def resolved_metric(self) -> Metric:
        """The metric, resolved once at construction."""
        return resolve_metric(self.metric)

    @cached_property
    def resolved_clusterer(self) -> Clusterer:
        """The clusterer, resolved once at construction."""
        return resolve_clusterer(self.clusterer, self.resolved_metric)

    @property
    def adaptive(self) -> bool:
        """Whether the number of subsamples is adaptive (``n_subsamples="auto"``)."""
        return isinstance(self.n_subsamples, str)

    @property
    def max_subsamples(self) -> int:
        """The largest number of subsamples that can be scored."""
        return MAX_AUTO_SUBSAMPLES if isinstance(self.n_subsamples, str) else self.n_subsamples

    def require_fixed_subsamples(self, purpose: str) -> None:
        """Raise if the number of subsamples is adaptive."""
        if self.adaptive:
            raise ValueError(
                f"n_subsamples must be an integer for {purpose}; got 'auto'. Pass a number, for example 30."
            )


@dataclass(frozen=True, kw_only=True)
class SelectionConfig(_ClusteringConfig):
    """All settings of a selection.

    Takes the same keywords as :func:`compsil_kit.select_k`, except ``progress`` and ``checkpoint``. The values
    and their combination are validated and normalised at construction.

    Examples
    --------
    >>> from compsil_kit import SelectionConfig
    >>> SelectionConfig.from_text({"ks": "2:5", "rule": "lcb"}).ks
    (2, 3, 4, 5)
    """

    n_starts: int | Literal["auto"] = setting(
        AUTO, partial(values.validate_integer_or_auto, "n_starts", MAX_STARTS, "the number that the criterion needs"),
        '"auto" or int, default="auto"',
        "Number of initialisations of each clustering. The score from the paper always uses the first initialisation; "
        "the best one is stored as well, for ``criterion`` and the confidence. ``\"auto\"`` is 5 with "
        '``criterion="stable"`` or ``"likely"`` and 1 otherwise. Only for clusterers with ``n_init``.',
        parse=lambda text: values.parse_integer_or_auto(text or AUTO), choices=(AUTO,), metavar="N",
        text_form="auto or a number",
    )  # fmt: skip
    n_calibration: int = setting(
        0, partial(check_integer, "n_calibration", minimum=0, maximum=MAX_SUBSAMPLES), "int, default=0",
        "Number of additional subsamples that are used only to estimate the largest discrepancy for each k. They "
        "make the Hoeffding guarantee hold strictly. With 0, the discrepancy is estimated on the scored subsamples, as "
        "in the paper.",
        parse=values.parse_integer, metavar="N",
    )  # fmt: skip
    structure: bool = setting(
        False, partial(check_bool, "structure"), "bool, default=False",
        "Also test whether the data contain any clusters. The data are compared with random data that have the "
        "same spread but no clusters; ``result.structure`` contains the p-value. Requires dense data, "
        '``clusterer="kmeans"`` and ``metric="euclidean"``.',
        parse=values.parse_switch,
    )  # fmt: skip
    criterion: Criterion = one_of(
        "criterion", get_args(Criterion),
        "Score to select by. The composite silhouette from the paper; the micro- or macro-averaged silhouette alone; "
        '``"stable"``, the micro-averaged silhouette of the best initialisation times the stability; or ``"likely"``, '
        "the confidence that k is correct, for k-means only.",
    )  # fmt: skip
    transform: Transform = setting(
        "tanh", check_transform, '{"tanh", "linear", "sigmoid", "step"} or callable, default="tanh"',
        "Function that maps the normalised discrepancy to the weight of the micro average.",
        choices=get_args(TransformName),
    )  # fmt: skip
    rule: Rule = one_of(
        "rule", get_args(Rule), "What to maximise: the score, or its lower confidence bound (``score - z*sem``)."
    )
    z: float = setting(
        1.0, partial(check_real, "z", low=0.0, high=1e6), "float, default=1.0",
        "Distance of the lower confidence bound below the score, in standard errors.",
        parse=values.parse_number, metavar="Z",
    )  # fmt: skip

    def __post_init__(self) -> None:
        """Validate each setting and their combination."""
        super().__post_init__()
        # Resolving validates the clusterer and the metric, alone and together.
        _ = self.resolved_clusterer
        if isinstance(self.random_state, tuple):
            make_seeds(self.random_state, self.max_subsamples, self.n_calibration)
        if self.rule == "lcb" and self.criterion == "likely":
            raise ValueError(
                "rule must be 'max' with criterion='likely', because a confidence has no lower confidence bound."
            )
        if self.rule == "lcb":
            check_integer("n_subsamples with rule='lcb'", self.max_subsamples, minimum=2)

    @property
    def choice(self) -> dict[str, Any]:
        """The settings that affect only how k is chosen from finished trials."""
        return {name: getattr(self, name) for name in CHOICE}


@dataclass(frozen=True, kw_only=True)
class ComparisonConfig(_ClusteringConfig):
    """All settings of a comparison. Takes the same keywords as :func:`compsil_kit.compare`, except ``progress``."""

    criteria: str | Sequence[str] = setting(
        "all", values.validate_criteria, '"all" or sequence of str, default="all"',
        'Criteria to compare. ``"composite"``, ``"micro"``, ``"macro"`` (means over subsamples), ``"full-micro"``, '
        '``"full-macro"``, ``"calinski-harabasz"``, ``"davies-bouldin"``, ``"elbow"`` (means over repeated runs on '
        'the full data set), and ``"gap"``.',
        parse=values.parse_names, choices=("all", *get_args(ComparedCriterion)),
        text_form=f"all, or any of {', '.join(get_args(ComparedCriterion))}", metavar="A,B,...",
    )  # fmt: skip
    n_repeats: int | None = setting(
        None, values.optional(partial(check_integer, "n_repeats", minimum=1)), "int, default=None",
        "Number of runs on the full data set (default: one per subsample).",
        parse=values.parse_optional(values.parse_integer), metavar="N",
    )  # fmt: skip
    n_references: int = setting(
        20, partial(check_integer, "n_references", minimum=2), "int, default=20",
        "Number of reference data sets for the gap statistic.", parse=values.parse_integer, metavar="N",
    )  # fmt: skip

    def __post_init__(self) -> None:
        """Validate the settings, and raise if the number of subsamples is adaptive."""
        super().__post_init__()
        # Validates the clusterer and the metric.
        _ = self.selection
        self.require_fixed_subsamples("a comparison")

    @cached_property
    def selection(self) -> SelectionConfig:
        """The settings for the selection on the subsamples of the comparison."""
        settings = {name: getattr(self, name) for name in settings_of(_ClusteringConfig)}
        return SelectionConfig(**settings)


@dataclass(frozen=True, kw_only=True)
class TableConfig(Config):
    """Settings for preparing a table. Takes the same keywords as :func:`compsil_kit.prepare`."""

    columns: Any = setting(
        None, lambda value: value, "name or list of names, optional",
        "Columns to use (default: all numeric and boolean columns).",
        parse=values.parse_optional(values.parse_names), metavar="A,B,...",
    )  # fmt: skip
    scale: Scale | None = setting(
        "standard", check_scale, '{"standard", "robust", "minmax"} or None, default="standard"',
        "How to scale the columns.", parse=values.parse_optional(str), choices=(*get_args(Scale), "none"),
    )  # fmt: skip
    missing: Missing = one_of(
        "missing", get_args(Missing), "Whether to raise an error for rows with missing values or drop them."
    )
