"""Plans, results and comparisons with simple numbers, so that expected values can be computed by hand."""

import numpy as np

from compsil_kit import Comparison, Plan, SelectionResult
from compsil_kit._criteria.comparison import Criterion
from compsil_kit._result.trials import Trials


def plan_of(ks, n_subsamples, *, n_calibration=0, sample_size=800, n_starts=1):
    """Return a plan for 1,000 rows, with the seeds 0, 1, 2, ..."""
    return Plan(
        n_rows=1000, n_features=2, ks=tuple(ks), n_subsamples=n_subsamples, n_calibration=n_calibration,
        sample_size=sample_size, seeds=tuple(range(n_subsamples + n_calibration)), clusterer="kmeans",
        metric="euclidean", dtype="float64", n_starts=n_starts,
    )  # fmt: skip


def made_up(micro, macro, *, ks=None, calibration=None, planned=None, sample_size=800, agreement=None, **changes):
    """Return a result with the given silhouettes (one row per k) and calibration discrepancies."""
    micro, macro = np.array(micro, dtype=float), np.array(macro, dtype=float)
    n_ks, n = micro.shape
    planned = n if planned is None else planned
    extra = np.empty((n_ks, 0)) if calibration is None else np.array(calibration, dtype=float)
    plan = plan_of(ks or range(2, 2 + n_ks), planned, n_calibration=extra.shape[1], sample_size=sample_size)
    side = Trials(tuple(range(planned, planned + extra.shape[1])), extra, np.where(np.isnan(extra), np.nan, 0.0))
    trials = Trials(tuple(range(n)), micro, macro, agreement=agreement)
    return SelectionResult(plan, trials, side, **changes)


def compared(ks, **values):
    """Return a comparison of criteria with the given values for each k; ``_`` in a name is replaced with ``-``."""
    criteria = tuple(
        Criterion(name.replace("_", "-"), np.array(row, dtype=float), np.zeros(len(row)))
        for name, row in values.items()
    )
    return Comparison(plan_of(ks, 3), None, criteria, 3, 2)


def interrupting(function, at):
    """Wrap a function so that call number ``at`` raises KeyboardInterrupt."""
    calls = []

    def interrupted(*args):
        calls.append(args)
        if len(calls) == at:
            raise KeyboardInterrupt
        return function(*args)

    return interrupted


_NAN = np.nan
UNUSUAL = {
    "one subsample": made_up([[0.5], [0.3]], [[0.4], [0.3]]),
    "one k": made_up([[0.5] * 3], [[0.4] * 3]),
    "equal scores": made_up([[0.5] * 3] * 3, [[0.5] * 3] * 3),
    "partial": made_up([[0.5, 0.4], [0.3, 0.3]], [[0.5, 0.3], [0.3, 0.3]], planned=9),
    "failures": made_up(
        [[_NAN] * 3, [0.5, 0.4, 0.3], [0.2, _NAN, 0.1]], [[_NAN] * 3, [0.5, 0.4, 0.2], [0.1, _NAN, 0.1]]
    ),
    "no choice": made_up([[_NAN] * 3] * 2, [[_NAN] * 3] * 2),
    "no lower bound": made_up([[0.5], [0.3]], [[0.5], [0.3]], rule="lcb"),
    "uneven ks": made_up(np.eye(4, 5) / 2, np.eye(4, 5) / 3, ks=[2, 3, 10, 50]),
    "40 ks": made_up(np.linspace(-1, 1, 1200).reshape(40, 30), np.linspace(0, 1, 1200).reshape(40, 30)),
}
