"""Everything that is decided before computing, as a frozen :class:`Plan` that can be printed and saved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Annotated, Any, NoReturn, Self, get_args

from compsil_kit._config.values import MAX_STARTS, MAX_SUBSAMPLES
from compsil_kit._method.clusterers import NAMED_CLUSTERERS, PLAIN_KMEANS
from compsil_kit._method.cost import cost_of
from compsil_kit._method.labels import MIN_SHARED_PER_CLUSTER
from compsil_kit._method.metrics import CLOSED_FORMS, METRIC_NAMES
from compsil_kit._method.selection import CRITERIA, ROUND
from compsil_kit._method.subsample import SEED_LIMIT
from compsil_kit._types import OnFailure
from compsil_kit._util import schema
from compsil_kit._util.format import format_bytes, format_ks, format_seconds
from compsil_kit.config import SelectionConfig

# Subsamples of less than this share of the rows have too few rows in common to compare their clusterings on those.
MIN_SHARED_FRACTION = 1 / 20
MAX_COMMON_ROWS = 2_000


@dataclass(frozen=True)
class Plan:
    """What a selection will compute: its settings, and everything that follows from them and from the data.

    Attributes
    ----------
    n_rows, n_features : int
        Shape of the data.
    ks : tuple of int
        Candidate numbers of clusters, ascending.
    n_subsamples, n_calibration : int
        Number of scored subsamples, and of additional ones that only estimate the largest discrepancies.
    sample_size : int
        Number of rows in each subsample.
    seeds : tuple of int
        One seed per subsample, the scored ones first.
    clusterer, metric, dtype : str
        Names of the clusterer, of the metric and of the data type.
    n_starts : int
        Number of initialisations of each clustering. The first and the best of them are kept.
    structure : bool
        Whether the structure test runs.
    adaptive : str
        The criterion that decides when enough subsamples are done and which ks are dropped; empty if the number of
        subsamples is fixed. ``n_subsamples`` is then the maximum and, in a result, the number that was run.
    scanned_bytes : int
        Approximate uncompressed size of an out-of-core table; 0 for data in memory.
    on_failure : {"raise", "skip"}
        What to do when a clustering fails.
    config : SelectionConfig
        The settings. Plans read from a file have settings that reproduce the run; functions and estimators are
        replaced by placeholders that raise when they are called.
    """

    # With the validation of plans that come from a file.
    n_rows: Annotated[int, schema.integer(2)]
    n_features: Annotated[int, schema.integer(1)]
    ks: Annotated[tuple[int, ...], schema.list_of(schema.integer(2))]
    n_subsamples: Annotated[int, schema.integer(1, MAX_SUBSAMPLES)]
    n_calibration: Annotated[int, schema.integer(0, MAX_SUBSAMPLES)]
    sample_size: Annotated[int, schema.integer(3)]
    seeds: Annotated[tuple[int, ...], schema.list_of(schema.integer(0, SEED_LIMIT - 1))]
    clusterer: Annotated[str, schema.text]
    metric: Annotated[str, schema.text]
    dtype: Annotated[str, schema.choice(("float32", "float64"))]
    n_starts: Annotated[int, schema.integer(1, MAX_STARTS)] = 1
    structure: Annotated[bool, schema.flag] = False
    adaptive: Annotated[str, schema.choice(("", *CRITERIA))] = ""
    scanned_bytes: Annotated[int, schema.integer(0)] = 0
    on_failure: Annotated[OnFailure, schema.choice(get_args(OnFailure))] = "raise"
    config: SelectionConfig = field(default=None, compare=False, repr=False)  # type: ignore[assignment]  # see below

    def __post_init__(self) -> None:
        """Rebuild the settings of a plan that has none."""
        if self.config is None:
            object.__setattr__(self, "config", _rebuild_config(self))

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain data for JSON."""
        # Files of plans that raise, the default, stay as they were before on_failure was stored.
        left_out = {"scanned_bytes", *(["on_failure"] if self.on_failure == "raise" else [])}
        values = {name: getattr(self, name) for name in _RECORD if name not in left_out}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    @classmethod
    def from_dict(cls, data: Any, where: str = "plan") -> Self:
        """Validate and rebuild a plan from :meth:`to_dict`.

        Parameters
        ----------
        data : mapping
            What ``to_dict`` returned, or what JSON made of it.
        where : str
            Name of the data in error messages.
        """
        defaults = {each.name: each.default for each in fields(cls) if each.default is not MISSING}
        found = schema.record(_RECORD)({**defaults, **data} if isinstance(data, Mapping) else data, where)
        ks, seeds = tuple(found["ks"]), tuple(found["seeds"])
        if not ks or list(ks) != sorted(set(ks)):
            raise ValueError(f"{where}.ks must be ascending and contain at least one candidate.")
        if len(seeds) != found["n_subsamples"] + found["n_calibration"]:
            raise ValueError(f"{where}.seeds must contain one seed per subsample.")
        if not ks[-1] < found["sample_size"] <= found["n_rows"]:
            raise ValueError(f"{where}.sample_size must lie between the largest k and the number of rows.")
        try:
            return cls(**{**found, "ks": ks, "seeds": seeds})
        except (ValueError, TypeError) as error:
            raise ValueError(f"{where} is not a plan of this package ({type(error).__name__}).") from error

    def before(self, index: int) -> int | None:
        """Return the seed of the subsample whose clusterings are compared with those of this one, or None.

        Parameters
        ----------
        index : int
            Position of a subsample. The first one and the calibration subsamples have no predecessor.
        """
        return self.seeds[index - 1] if 0 < index < self.n_subsamples else None

    @property
    def n_pairs(self) -> int:
        """Number of pairs of points whose distance is computed, over all subsamples."""
        if self.metric in (*CLOSED_FORMS, "precomputed"):
            return 0
        return len(self.seeds) * (self.sample_size * (self.sample_size - 1) // 2)

    @property
    def n_clusterings(self) -> int:
        """Number of clusterings, over all subsamples and ks."""
        return len(self.seeds) * len(self.ks)

    @property
    def n_fetched(self) -> int:
        """Expected number of distinct rows in all subsamples and in the common rows."""
        untouched = (1 - self.sample_size / self.n_rows) ** len(self.seeds) * (1 - self.n_common / self.n_rows)
        return round(self.n_rows * (1 - untouched))

    @property
    def n_shared(self) -> int:
        """Expected number of rows that two subsamples share."""
        return self.sample_size**2 // self.n_rows

    @property
    def n_common(self) -> int:
        """Number of rows on which the clusterings of all subsamples are compared; 0 if the shared rows are used."""
        by_means = self.clusterer in PLAIN_KMEANS and self.metric == "euclidean"
        small = self.sample_size < MIN_SHARED_FRACTION * self.n_rows
        few = small or self.n_shared < MIN_SHARED_PER_CLUSTER * self.ks[-1]
        return min(self.sample_size, MAX_COMMON_ROWS) if by_means and few else 0

    @property
    def whole_data(self) -> bool:
        """Whether every subsample is the whole data set."""
        return self.sample_size == self.n_rows

    def estimate_seconds(self, n_workers: int = 1) -> float:
        """Return a rough estimate of the run time; the cost of clusterers without a name is not known.

        Parameters
        ----------
        n_workers : int, default=1
            Number of workers that share the subsamples.

        Returns
        -------
        float
            Seconds, accurate to a factor of two for k-means on data with clusters, and of three for other clusterers.
            On data without clusters k-means needs more iterations: up to seven times as long in our measurements.
        """
        return cost_of(self).seconds(n_workers)

    def __str__(self) -> str:
        """Describe the computation in a few lines."""
        calibration = f" and {self.n_calibration} for calibration" if self.n_calibration else ""
        starts = f" of {self.n_starts} initialisations" if self.n_starts > 1 else ""
        least = f"{ROUND} to " if self.adaptive else ""
        most = "at most " if self.adaptive else ""
        read = (
            f"reads {self.n_rows:,} rows once ({format_bytes(self.scanned_bytes)}), keeps about {self.n_fetched:,}\n"
            if self.scanned_bytes
            else ""
        )
        return (
            f"{read}{least}{self.n_subsamples} subsamples{calibration} of {self.sample_size:,} of {self.n_rows:,} rows "
            f"({self.n_features:,} features, {self.dtype})\n"
            f"k in {format_ks(self.ks)}, clusterer {self.clusterer}, metric {self.metric}\n"
            f"{most}{self.n_clusterings:,} clusterings{starts}, {self.n_pairs:,} pairs of distances, "
            f"about {format_seconds(self.estimate_seconds())} with one worker"
        )


_RECORD = schema.checks_of(Plan)


class NotStored:
    """Stand in for a function or an estimator of a run that was read from a file; calling it raises."""

    def __init__(self, name: str) -> None:
        """Keep the name."""
        self.__name__ = name

    def __call__(self, *_: Any) -> NoReturn:
        """Raise, because files contain names only."""
        raise ValueError(f"{self.__name__} is not stored with a plan; pass it again.")


def _rebuild_config(plan: Plan) -> SelectionConfig:
    clusterer: Any = plan.clusterer if plan.clusterer in NAMED_CLUSTERERS else NotStored(plan.clusterer)
    metric: Any = plan.metric if plan.metric in METRIC_NAMES else NotStored(plan.metric)
    names = ("ks", "n_subsamples", "sample_size", "n_starts", "n_calibration", "structure", "on_failure")
    same = {name: getattr(plan, name) for name in names}
    return SelectionConfig(clusterer=clusterer, metric=metric, random_state=plan.seeds, **same)
