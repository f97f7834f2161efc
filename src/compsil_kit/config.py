"""The settings of a selection, a comparison, a table and a run: frozen, and validated only at construction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from threading import Event
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
    PathLikeOrStr,
    Progress,
    Rule,
    Scale,
    Seeds,
    Transform,
    TransformName,
)
from compsil_kit._util.checks import check_bool, check_integer, check_real

__all__ = [
    "CHOICE", "ComparisonConfig", "Events", "SelectionConfig", "Setting", "TableConfig", "interactive_defaults",
    "settings_of",
]  # fmt: skip
# The settings that only decide how k is chosen from finished trials.
CHOICE = ("criterion", "transform", "rule", "z")


@dataclass(frozen=True, kw_only=True)
class _ClusteringConfig(Config):
    """Settings of both selections and comparisons."""

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
        'Number of subsamples to score. The same subsamples are used for every k. ``"auto"`` adapts it: subsamples '
        "are added in tens until the selection probability of the best k reaches 99 % or 200 are done, and ks that "
        "can no longer win are dropped.",
        parse=values.parse_integer_or_auto, flags=("-B",), choices=(AUTO,), text_form="a number, or auto", metavar="N",
    )  # fmt: skip
    sample_size: int | float | Literal["auto", "paper"] = setting(
        "auto", values.validate_sample_size, '"auto", "paper", int or float, default="auto"',
        'Number of rows in a subsample. ``"auto"`` follows the paper up to 50,000 rows and takes 20,000 above; '
        '``"paper"`` follows the paper at any number of rows. A float is a fraction of the rows.',
        parse=values.parse_sample_size, choices=(AUTO, "paper"), metavar="M",
        text_form="auto, paper, a number, or a fraction such as 0.5",
    )  # fmt: skip
    metric: MetricLike = setting(
        "euclidean", values.validate_metric, 'str or callable, default="euclidean"',
        'Distance used by the silhouettes. A scikit-learn metric, a function of two points, or ``"precomputed"``.',
        choices=METRIC_NAMES, metavar="NAME",
    )  # fmt: skip
    on_failure: OnFailure = one_of(
        "on_failure", get_args(OnFailure),
        "What to do when a clustering fails or does not return k clusters: raise an error, or count the failure and "
        "continue. A k with more than a fifth of its subsamples failed cannot be selected.",
    )  # fmt: skip
    random_state: Seeds = setting(
        42, values.validate_random_state, "int, None or sequence of int, default=42",
        "Seed of the subsamples. An integer from which the seed of each subsample is derived, None for new seeds in "
        "every call, or one seed per subsample (``range(42, 72)`` reproduces the authors' runs).",
        parse=values.parse_optional(values.parse_seeds), flags=("--seed",), metavar="N",
    )  # fmt: skip
    n_jobs: int | Literal["auto"] | None = setting(
        None, values.validate_n_jobs, 'int or "auto", default=None',
        'Number of workers, as in joblib. None means 1 and -1 means all cores; ``"auto"`` means all cores, or fewer '
        "if memory is short. Workers are threads unless ``joblib.parallel_config`` sets another backend. The result "
        "does not depend on it.",
        parse=values.parse_optional(values.parse_integer_or_auto), flags=("-j",), choices=(AUTO,), metavar="N",
        text_form="a number, -1 for all cores, or auto for as many as memory allows", interactive=AUTO,
    )  # fmt: skip

    def __post_init__(self) -> None:
        settings = settings_of(type(self))
        self._validate({name: each for name, each in settings.items() if name not in ("clusterer", "metric")})
        # Resolving validates both, alone and together.
        _ = self.resolved_clusterer

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

    The keywords are those of :func:`compsil_kit.select_k`, except ``progress`` and ``checkpoint``. Values are validated
    and normalised at construction, alone and against each other.

    Examples
    --------
    >>> from compsil_kit import SelectionConfig
    >>> SelectionConfig.from_text({"ks": "2:5", "rule": "lcb"}).ks
    (2, 3, 4, 5)
    """

    n_starts: int | Literal["auto"] = setting(
        AUTO, partial(values.validate_integer_or_auto, "n_starts", MAX_STARTS, "what the criterion needs"),
        '"auto" or int, default="auto"',
        "Number of initialisations of each clustering. The paper's score uses the first one, whatever the number; the "
        "best one is stored as well, for ``criterion`` and the confidence. ``\"auto\"`` is 5 with "
        '``criterion="stable"`` or ``"likely"`` and 1 otherwise. Only for clusterers with ``n_init``.',
        parse=lambda text: values.parse_integer_or_auto(text or AUTO), choices=(AUTO,), metavar="N",
        text_form="auto or a number",
    )  # fmt: skip
    n_calibration: int = setting(
        0, partial(check_integer, "n_calibration", minimum=0, maximum=MAX_SUBSAMPLES), "int, default=0",
        "Number of additional subsamples that are used only to estimate the largest discrepancy of each k. With them "
        "the Hoeffding guarantee holds strictly. 0 estimates it on the scored subsamples, as in the paper.",
        parse=values.parse_integer, metavar="N",
    )  # fmt: skip
    structure: bool = setting(
        False, partial(check_bool, "structure"), "bool, default=False",
        "Also test whether the data contain any clusters. The data are compared with random data of the same spread "
        "that have none; ``result.structure`` holds the p-value. For dense data, ``clusterer=\"kmeans\"`` and "
        '``metric="euclidean"`` only.',
        parse=values.parse_switch,
    )  # fmt: skip
    criterion: Criterion = one_of(
        "criterion", get_args(Criterion),
        "Score to select by. The composite silhouette of the paper; the micro- or macro-averaged silhouette alone; "
        '``"stable"``, the micro-averaged silhouette of the best initialisation times the stability; or ``"likely"``, '
        "the confidence that k is correct, for k-means only.",
    )  # fmt: skip
    transform: Transform = setting(
        "tanh", check_transform, '{"tanh", "linear", "sigmoid", "step"} or callable, default="tanh"',
        "Transformation of the normalised discrepancy into the weight of micro.", choices=get_args(TransformName),
    )  # fmt: skip
    rule: Rule = one_of(
        "rule", get_args(Rule), "What to maximise: the score, or its lower confidence bound ``score - z * sem``."
    )
    z: float = setting(
        1.0, partial(check_real, "z", low=0.0, high=1e6), "float, default=1.0",
        "Width of the lower confidence bound in standard errors.", parse=values.parse_number, metavar="Z",
    )  # fmt: skip

    def __post_init__(self) -> None:
        """Validate the settings, alone and together."""
        super().__post_init__()
        if isinstance(self.random_state, tuple):
            make_seeds(self.random_state, self.max_subsamples, self.n_calibration)
        if self.rule == "lcb" and self.criterion == "likely":
            raise ValueError("rule must be 'max' with criterion='likely': a confidence has no lower confidence bound.")
        if self.rule == "lcb":
            check_integer("n_subsamples with rule='lcb'", self.max_subsamples, minimum=2)

    @property
    def choice(self) -> dict[str, Any]:
        """The settings that only decide how k is chosen from finished trials."""
        return {name: getattr(self, name) for name in CHOICE}


@dataclass(frozen=True, kw_only=True)
class ComparisonConfig(_ClusteringConfig):
    """All settings of a comparison; the keywords are those of :func:`compsil_kit.compare`, except ``progress``."""

    criteria: str | Sequence[str] = setting(
        "all", values.validate_criteria, '"all" or sequence of str, default="all"',
        'Criteria to compare. ``"composite"``, ``"micro"``, ``"macro"`` (means over subsamples), ``"full-micro"``, '
        '``"full-macro"``, ``"calinski-harabasz"``, ``"davies-bouldin"``, ``"elbow"`` (means over repeated runs on '
        'all the data), and ``"gap"``.',
        parse=values.parse_names, choices=("all", *get_args(ComparedCriterion)),
        text_form=f"all, or some of {', '.join(get_args(ComparedCriterion))}", metavar="A,B,...",
    )  # fmt: skip
    n_repeats: int | None = setting(
        None, values.optional(partial(check_integer, "n_repeats", minimum=1)), "int, default=None",
        "Number of runs on all the data. None means one per subsample.",
        parse=values.parse_optional(values.parse_integer), metavar="N",
    )  # fmt: skip
    n_references: int = setting(
        20, partial(check_integer, "n_references", minimum=2), "int, default=20",
        "Number of reference data sets of the gap statistic.", parse=values.parse_integer, metavar="N",
    )  # fmt: skip

    def __post_init__(self) -> None:
        """Validate the settings."""
        super().__post_init__()
        self.require_fixed_subsamples("a comparison")

    def selection(self) -> SelectionConfig:
        """Return the settings of the selection on the subsamples of the comparison."""
        settings = {name: getattr(self, name) for name in settings_of(_ClusteringConfig)}
        return SelectionConfig(**settings)


@dataclass(frozen=True, kw_only=True)
class TableConfig(Config):
    """How a table is prepared; the keywords are those of :func:`compsil_kit.prepare`."""

    columns: Any = setting(
        None, lambda value: value, "name or list of names, optional",
        "Columns to use. All numeric and boolean ones if None.",
        parse=values.parse_optional(values.parse_names), text_form="a,b,...", metavar="A,B,...",
    )  # fmt: skip
    scale: Scale | None = setting(
        "standard", check_scale, '{"standard", "robust", "minmax"} or None, default="standard"',
        "How to scale the columns.", parse=values.parse_optional(str), choices=(*get_args(Scale), "none"),
    )  # fmt: skip
    missing: Missing = one_of("missing", get_args(Missing), "Rows with missing values: raise an error, or drop them.")


@dataclass(frozen=True, kw_only=True)
class Events(Config):
    """How a run reports its progress, where it keeps finished subsamples, and how it can be stopped.

    Attributes
    ----------
    progress, checkpoint
        The keywords of :func:`compsil_kit.select_k`.
    stop : threading.Event or None
        Setting it in another thread ends the run after the subsamples in progress.
    pause_between : bool
        Whether the threads pause while the caller processes a result.
    """

    checkpoint: PathLikeOrStr | None = setting(
        None, values.validate_checkpoint, "str or path, default=None",
        "File in which finished subsamples are kept. The same call resumes from it after an interruption, also with "
        "more subsamples or another transform, rule or z, and returns the result of an uninterrupted run bit for bit. "
        "A file of other data, settings or library versions is refused, never overwritten. Estimators are compared by "
        "class and parameters; functions passed as ``clusterer`` or ``metric`` by name, code, defaults and the plain "
        "values they capture. Changes in the functions they call, in global variables and inside other objects are "
        "not detected. Only one run at a time may use a file.",
        metavar="FILE",
    )  # fmt: skip
    progress: Progress = setting(
        None, values.validate_progress, "bool or callable, default=None",
        "Whether to show a progress bar. None shows one in a terminal or a notebook. A function is called with "
        "(done, total); if it has an attribute ``rows``, that is called with the rows read and the total number of "
        "rows while an out-of-core table is read.",
    )  # fmt: skip
    stop: Event | None = None
    pause_between: bool = False

    @property
    def stopped(self) -> bool:
        """Whether the run is to end."""
        return self.stop is not None and self.stop.is_set()

    def require_repeatable(self, random_state: Seeds) -> None:
        """Raise if a checkpoint is requested for subsamples that differ in every run.

        Parameters
        ----------
        random_state : int, None or sequence of int
            The seed of the selection.
        """
        if self.checkpoint is not None and random_state is None:
            raise ValueError(
                "checkpoint needs the same seeds in every run, but random_state=None draws new ones each time. Pass an "
                "integer as random_state."
            )
