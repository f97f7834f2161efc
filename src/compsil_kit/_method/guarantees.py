"""Hoeffding bounds for a number of subsamples (method, "Guarantees").

They hold strictly if the largest discrepancies are estimated on separate subsamples (``n_calibration``); otherwise they
are a guide.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from compsil_kit._util.checks import check_integer, check_real


def hoeffding_radius(n_subsamples: int, *, delta: float = 0.05, n_ks: int = 1) -> float:
    """Return the half-width of an interval that covers the expected score with probability 1 - delta.

    Parameters
    ----------
    n_subsamples : int
        Number of scored subsamples.
    delta : float, default=0.05
        Error probability.
    n_ks : int, default=1
        Number of candidates covered simultaneously; 1 for a single k.

    Returns
    -------
    float
        ``sqrt(2 ln(2 n_ks / delta) / n_subsamples)``.

    Examples
    --------
    >>> from compsil_kit import hoeffding_radius
    >>> round(hoeffding_radius(30), 4)
    0.4959
    """
    n_subsamples = check_integer("n_subsamples", n_subsamples, minimum=1)
    n_ks = check_integer("n_ks", n_ks, minimum=1)
    delta = check_real("delta", delta, low=0.0, high=1.0, open_ends=True)
    return math.sqrt(2.0 * math.log(2.0 * n_ks / delta) / n_subsamples)


def subsamples_for_margin(margin: float, *, n_ks: int, delta: float = 0.05) -> int:
    """Return the number of subsamples that finds the best k with probability 1 - delta if it leads by ``margin``.

    Parameters
    ----------
    margin : float
        Expected lead of the best k over the second, in (0, 2].
    n_ks : int
        Number of candidates.
    delta : float, default=0.05
        Error probability.

    Returns
    -------
    int
        ``(8 / margin^2) ln(2 n_ks / delta)``, rounded up.

    Examples
    --------
    >>> from compsil_kit import subsamples_for_margin
    >>> subsamples_for_margin(0.5, n_ks=9)
    189
    """
    margin = check_real("margin", margin, low=0.0, high=2.0)
    if margin == 0.0:
        raise ValueError("margin must be a number in (0, 2]; got 0.0: no number of subsamples resolves a tie.")
    n_ks = check_integer("n_ks", n_ks, minimum=1)
    delta = check_real("delta", delta, low=0.0, high=1.0, open_ends=True)
    return math.ceil(8.0 / margin**2 * math.log(2.0 * n_ks / delta))


@dataclass(frozen=True)
class Guarantee:
    """Hoeffding bounds of a finished run.

    Attributes
    ----------
    delta : float
        Error probability.
    n_subsamples : int
        Smallest number of scored subsamples of any k.
    radius_one, radius_all : float
        Half-width for the score of a single k, and for all ks simultaneously.
    lead : float
        Lead of the best k over the second; NaN with a single k.
    needed : int or None
        Subsamples that would prove the choice if the observed lead is the true one; None with a tie or a single k.
    proven : bool
        Whether the lead exceeds twice ``radius_all``, so that the best k also has the highest expected score.
    independent : bool
        Whether the bounds hold strictly: the largest discrepancies were estimated on separate subsamples.
    """

    delta: float
    n_subsamples: int
    radius_one: float
    radius_all: float
    lead: float
    needed: int | None
    proven: bool
    independent: bool


def achieved(lead: float, *, n_subsamples: int, n_ks: int, delta: float, independent: bool) -> Guarantee:
    """Return the bounds of a run whose best k leads by ``lead``."""
    radius_all = hoeffding_radius(n_subsamples, delta=delta, n_ks=n_ks)
    return Guarantee(
        delta=delta,
        n_subsamples=n_subsamples,
        radius_one=hoeffding_radius(n_subsamples, delta=delta),
        radius_all=radius_all,
        lead=lead,
        needed=subsamples_for_margin(lead, n_ks=n_ks, delta=delta) if lead > 0 else None,
        proven=independent and lead > 2.0 * radius_all,
        independent=independent,
    )
