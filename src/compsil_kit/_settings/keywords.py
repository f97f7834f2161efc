"""Every keyword of a selection: its type, default and check, and the words for docstrings and help texts."""

# Not ``from __future__ import annotations``: the definitions are read from the annotations.
from collections.abc import Callable, Sequence
from functools import cache
from os import PathLike
from typing import Annotated, Any, TypedDict, get_type_hints

from compsil_kit._data.scaling import SCALERS, check_scale
from compsil_kit._data.table import MISSING, check_missing
from compsil_kit._method.clusterers import NAMED
from compsil_kit._method.metrics import NAMES as METRICS
from compsil_kit._method.plan import MOST, check_ks, check_sample_size, check_starts, check_subsamples
from compsil_kit._method.selection import CRITERIA, RULES
from compsil_kit._method.weights import TRANSFORMS, Transform, check_transform
from compsil_kit._settings import reading, rules
from compsil_kit._settings.definition import Keyword
from compsil_kit._util.checks import check_bool, check_real


class TableKeywords(TypedDict, total=False):
    """What is done to a table before it is clustered."""

    columns: Annotated[
        Any,
        Keyword(
            "list of names, optional", None, lambda value: value,
            "Columns to use. All numeric and boolean ones if None.",
            reading.read_optional(reading.read_names), spelling="a,b,...", metavar="A,B,...",
        ),
    ]  # fmt: skip
    scale: Annotated[
        str | None,
        Keyword(
            '{"standard", "robust", "minmax"} or None, default="standard"', "standard", check_scale,
            "How to scale the columns.", reading.read_optional(str), choices=(*SCALERS, "none"),
        ),
    ]  # fmt: skip
    missing: Annotated[
        str,
        Keyword(
            '{"raise", "drop"}, default="raise"', "raise", check_missing,
            "Rows with missing values: refuse them, or leave them out.", choices=MISSING,
        ),
    ]  # fmt: skip


class ClusteringKeywords(TypedDict, total=False):
    """What is clustered, and how often."""

    ks: Annotated[
        Any,
        Keyword(
            "iterable of int, default=range(2, 11)", range(2, 11), check_ks,
            "Candidate numbers of clusters, each at least 2.", reading.read_counts,
            spelling="2:10 (both ends included), 2:20:2, or 2,3,5", metavar="2:10",
        ),
    ]  # fmt: skip
    clusterer: Annotated[
        Any,
        Keyword(
            'str, estimator or callable, default="kmeans"', "kmeans", rules.check_clusterer,
            'Clustering algorithm. ``"kmeans"`` (one k-means++ start), ``"minibatch-kmeans"``, '
            '``"bisecting-kmeans"``, ``"gmm"``, ``"agglomerative"``, ``"spectral"``, ``"birch"``, ``"kmedoids"``, '
            '``"clara"``; a scikit-learn estimator with ``n_clusters`` or ``n_components``, which is cloned and never '
            "changed; or a function ``f(X, k, seed) -> labels``.",
            choices=tuple(NAMED),
        ),
    ]  # fmt: skip
    n_subsamples: Annotated[
        int | str,
        Keyword(
            'int or "auto", default=30', 30, check_subsamples,
            "Number of subsamples to score. The same subsamples are used for every k. ``\"auto\"`` takes as many as "
            "needed: it goes on in tens until the selection probability of the best k is 99 %, or 200 are done, and "
            "leaves out ks that cannot win any more.",
            reading.read_subsamples, flags=("-B",), choices=("auto",), spelling="a number, or auto", metavar="N",
        ),
    ]  # fmt: skip
    sample_size: Annotated[
        str | int | float,
        Keyword(
            '"auto", "paper", int or float, default="auto"', "auto", check_sample_size,
            "Number of rows in a subsample. ``\"auto\"`` follows the paper up to 50,000 rows and takes 20,000 above; "
            '``"paper"`` follows it at any number of rows. A float is a fraction of the rows.',
            reading.read_size, choices=("auto", "paper"), metavar="M",
            spelling="auto, paper, a number, or a fraction such as 0.5",
        ),
    ]  # fmt: skip
    metric: Annotated[
        str | Callable[..., float],
        Keyword(
            'str or callable, default="euclidean"', "euclidean", rules.check_metric,
            'Distance used by the silhouettes. A scikit-learn metric, a function of two points, or ``"precomputed"``.',
            choices=METRICS, metavar="NAME",
        ),
    ]  # fmt: skip
    on_failure: Annotated[
        str,
        Keyword(
            '{"raise", "skip"}, default="raise"', "raise", rules.choice("on_failure", rules.ON_FAILURE),
            "What to do when a clustering fails or does not give k clusters: stop, or count the failure and continue. "
            "A k for which more than a fifth of the subsamples failed is not selected.",
            choices=rules.ON_FAILURE,
        ),
    ]  # fmt: skip
    random_state: Annotated[
        int | Sequence[int] | None,
        Keyword(
            "int, None or sequence of int, default=42", 42, rules.check_random_state,
            "Seed of the subsamples. An integer from which the seed of each subsample is derived, None for new seeds "
            "in every call, or one seed per subsample (``range(42, 72)`` repeats the authors' runs).",
            reading.read_optional(reading.read_seeds), flags=("--seed",), metavar="N",
        ),
    ]  # fmt: skip


class PlanKeywords(ClusteringKeywords, total=False):
    """What is computed."""

    n_starts: Annotated[
        int | str,
        Keyword(
            '"auto" or int, default="auto"', "auto", check_starts,
            "Number of starts of each clustering. The paper's score uses the first one, whatever the number; what the "
            "best of them gives is kept beside it, for ``criterion`` and the confidence. ``\"auto\"`` is 5 with "
            '``criterion="stable"`` or ``"likely"`` and 1 otherwise. Only for clusterers with ``n_init``.',
            reading.read_starts, choices=("auto",), spelling="auto or a number", metavar="N",
        ),
    ]  # fmt: skip
    n_calibration: Annotated[
        int,
        Keyword(
            "int, default=0", 0, rules.integer("n_calibration", minimum=0, maximum=MOST),
            "Number of additional subsamples that are used only to estimate the largest discrepancy of each k. With "
            "them the Hoeffding guarantee holds strictly. 0 estimates it on the scored subsamples, as in the paper.",
            reading.read_integer, metavar="N",
        ),
    ]  # fmt: skip
    structure: Annotated[
        bool,
        Keyword(
            "bool, default=False", False, lambda value: check_bool("structure", value),
            "Whether to test if the data have clusters at all. The data are compared with random data of the same "
            "spread that have none; ``result.structure`` holds the p-value. For dense data, ``clusterer=\"kmeans\"`` "
            'and ``metric="euclidean"`` only.',
            reading.read_switch,
        ),
    ]  # fmt: skip


class ChoiceKeywords(TypedDict, total=False):
    """How k is chosen from what was computed."""

    criterion: Annotated[
        str,
        Keyword(
            '{"composite", "micro", "macro", "stable", "likely"}, default="composite"', "composite",
            rules.choice("criterion", CRITERIA),
            "What is scored. The composite silhouette of the paper; the micro- or macro-averaged silhouette alone; "
            '``"stable"``, the micro-averaged silhouette of the best start times the stability; or ``"likely"``, the '
            "confidence that k is right, for k-means only.",
            choices=CRITERIA,
        ),
    ]  # fmt: skip
    transform: Annotated[
        Transform,
        Keyword(
            '{"tanh", "linear", "sigmoid", "step"} or callable, default="tanh"', "tanh", check_transform,
            "Transformation of the normalised discrepancy into the weight of micro.", choices=tuple(TRANSFORMS),
        ),
    ]  # fmt: skip
    rule: Annotated[
        str,
        Keyword(
            '{"max", "lcb"}, default="max"', "max", rules.choice("rule", RULES),
            "What to maximise: the score, or its lower confidence bound ``score - z * sem``.", choices=RULES,
        ),
    ]  # fmt: skip
    z: Annotated[
        float,
        Keyword(
            "float, default=1.0", 1.0, lambda value: check_real("z", value, low=0.0, high=1e6),
            "Width of the lower confidence bound in standard errors.", reading.read_number, metavar="Z",
        ),
    ]  # fmt: skip


class _Parallel(TypedDict, total=False):
    n_jobs: Annotated[
        int | str | None,
        Keyword(
            'int or "auto", default=None', None, rules.check_n_jobs,
            "Number of workers, as in joblib. None means 1 and -1 means all cores; ``\"auto\"`` means all cores, or "
            "fewer where memory is short. Workers are threads unless a ``joblib.parallel_config`` says otherwise. The "
            "result does not depend on it.",
            reading.read_workers, flags=("-j",), choices=(rules.AUTO,), metavar="N", interactive=rules.AUTO,
            spelling="a number, -1 for all cores, or auto for as many as memory allows",
        ),
    ]  # fmt: skip


class _Progress(TypedDict, total=False):
    progress: Annotated[
        bool | Callable[[int, int], None] | None,
        Keyword(
            "bool or callable, default=None", None, rules.check_progress,
            "Whether to show a progress bar. None shows one in a terminal or a notebook. A function is called with "
            "(done, total); one that has an attribute ``rows`` has that called with the rows read and all rows, while "
            "a table outside memory is read.",
        ),
    ]  # fmt: skip


class _Checkpoint(TypedDict, total=False):
    checkpoint: Annotated[
        str | PathLike[str] | None,
        Keyword(
            "str or path, default=None", None, rules.check_checkpoint,
            "File in which finished subsamples are kept. The same call continues from it after an interruption, also "
            "with more subsamples or another transform, rule or z, and gives the result of an uninterrupted run bit "
            "for bit. A file of other data, settings or library versions is refused, never overwritten. Estimators "
            "are compared by class and parameters; functions given as ``clusterer`` or ``metric`` by name, code, "
            "defaults and the plain values they capture. Changes in what these call, in global variables and inside "
            "other objects are not noticed. Only one run at a time may use a file.",
            metavar="FILE",
        ),
    ]  # fmt: skip


class CriteriaKeywords(TypedDict, total=False):
    """What a comparison computes beside the composite."""

    criteria: Annotated[
        str | Sequence[str],
        Keyword(
            '"all" or sequence of str, default="all"', "all", rules.check_criteria,
            'Criteria to compare. ``"composite"``, ``"micro"``, ``"macro"`` (means over subsamples), '
            '``"full-micro"``, ``"full-macro"``, ``"calinski-harabasz"``, ``"davies-bouldin"``, ``"elbow"`` (means '
            'over repeated runs on all the data), and ``"gap"``.',
            reading.read_criteria, choices=("all", *rules.CRITERIA),
            spelling=f"all, or some of {', '.join(rules.CRITERIA)}", metavar="A,B,...",
        ),
    ]  # fmt: skip
    n_repeats: Annotated[
        int | None,
        Keyword(
            "int, default=None", None, rules.optional(rules.integer("n_repeats", minimum=1)),
            "Number of runs on all the data. None takes as many as subsamples.",
            reading.read_optional(reading.read_integer), metavar="N",
        ),
    ]  # fmt: skip
    n_references: Annotated[
        int,
        Keyword(
            "int, default=20", 20, rules.integer("n_references", minimum=2),
            "Number of reference data sets of the gap statistic.", reading.read_integer, metavar="N",
        ),
    ]  # fmt: skip


class ExploreKeywords(PlanKeywords, ChoiceKeywords, _Parallel, total=False):
    """What the explorer takes."""


class StreamKeywords(ExploreKeywords, _Checkpoint, total=False):
    """What a selection takes that is watched by its caller."""


class SelectKeywords(StreamKeywords, _Progress, total=False):
    """What a selection takes."""


class CompareKeywords(ClusteringKeywords, _Parallel, _Progress, CriteriaKeywords, total=False):
    """What a comparison takes."""


@cache
def keywords_of(group: type, *, interactive: bool = False) -> dict[str, Keyword]:
    """Return the definitions of a group of keywords, by name; on request with the defaults where somebody waits."""
    found = {name: hint.__metadata__[0] for name, hint in get_type_hints(group, include_extras=True).items()}
    return {name: keyword.where_somebody_waits() for name, keyword in found.items()} if interactive else found


def defaults_of(group: type, *, interactive: bool = False) -> dict[str, Any]:
    """Return the defaults of a group of keywords."""
    return {name: keyword.default for name, keyword in keywords_of(group, interactive=interactive).items()}


def interactive_defaults(group: type) -> dict[str, Any]:
    """Return the defaults of a group that are others where somebody waits."""
    return {
        name: keyword.interactive for name, keyword in keywords_of(group).items() if keyword.interactive is not None
    }
