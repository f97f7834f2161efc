"""Load the paper's sixteen data sets from a local folder, from scikit-learn, or from their public sources.

Unavailable sets are reported as missing and never replaced.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits, load_wine, make_blobs
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from benchmarks.paper import online
from compsil_kit.datasets import imbalanced_blobs

Array = NDArray[Any]
ROOT = Path(__file__).parents[2]
# Default location of the prepared sets; COMPSIL_DATA overrides it.
DEFAULT_FOLDER = ROOT.parent / "shared" / "data"

# Number of rows in the local folder and at the public source. For Minds-14, the number depends on the definition of
# duplicate sentences.
ROWS = {
    "parkinsons": 195, "blood": 748, "bbc": 2_225, "htru2": 17_898, "stl10": 5_000, "newsgroups": 11_314,
    "spambase": 4_601, "bank": 45_211, "banking77": 13_083,
}  # fmt: skip


class MissingData(LookupError):
    """A data set is neither in the local folder nor available from its public source."""


@dataclass(frozen=True)
class DataSet:
    """One of the paper's data sets.

    ``published`` loads the form used for the published figures, ``written`` the form described in the paper's text.
    They differ for Digits, Newsgroups and Minds-14.
    """

    key: str
    name: str
    k: int
    kind: str
    published: Callable[[], Array]
    written: Callable[[], Array]

    def load(self, form: str) -> Array:
        """Return the rows to cluster, in the form ``"published"`` or ``"written"``."""
        X = {"published": self.published, "written": self.written}[form]()
        return np.ascontiguousarray(X)


def folder() -> Path | None:
    """Return the local folder with prepared sets, or None if it is missing; raise if COMPSIL_DATA is not a folder."""
    named = os.environ.get("COMPSIL_DATA")
    if named and not Path(named).is_dir():
        raise NotADirectoryError(f"COMPSIL_DATA must be a folder; got {named!r}.")
    return Path(named) if named else DEFAULT_FOLDER if DEFAULT_FOLDER.is_dir() else None


def prepared(name: str, array: str, fetch: Callable[[], Array]) -> Array:
    """Return an array from a prepared set in the local folder or, if there is none, from the public source."""
    local = folder()
    path = None if local is None else local / f"{name}.npz"
    if path is not None and path.exists():
        with np.load(path) as stored:
            X = np.asarray(stored[array])
        if len(X) != ROWS.get(name, len(X)):
            raise ValueError(f"{path.name} in the local folder has {len(X):,} rows instead of {ROWS[name]:,}.")
        return X
    reason = "COMPSIL_DATA is not set" if path is None else f"{path.name} is not in the local folder"
    try:
        X = fetch()
    except online.Unavailable as error:
        raise MissingData(f"{reason}, and the public source is unavailable: {error}") from error
    if len(X) != ROWS.get(name, len(X)):
        raise MissingData(f"{reason}, and the public source has changed: {len(X):,} rows instead of {ROWS[name]:,}")
    return X


def standardised(X: Array) -> Array:
    """Return the columns with mean 0 and variance 1."""
    return np.asarray(StandardScaler().fit_transform(X))


def s1() -> Array:
    """Return five well-separated clusters of equal size."""
    return standardised(make_blobs(10_000, centers=5, cluster_std=0.5, random_state=100)[0])


def s2() -> Array:
    """Return six clusters of equal size, some of them close to each other."""
    return standardised(make_blobs(10_000, centers=6, cluster_std=0.9, random_state=20)[0])


def s3() -> Array:
    """Return two large, loose clusters and three small, tight ones."""
    return imbalanced_blobs()[0]


def s4() -> Array:
    """Return twelve clusters of four sizes, from 1,500 points to 30."""
    inner = [(0, 0), (3, 3), (8, 0), (0, 8)]
    outer = [(18, 18), (-18, 18), (18, -18), (-18, -18), (22, 0), (0, 25), (25, 25), (25, -25)]
    sizes = [1500] * 2 + [300] * 2 + [80] * 5 + [30] * 3
    spread = [2.2] * 2 + [1.2] * 2 + [0.9] * 5 + [0.6] * 3
    return standardised(make_blobs(sizes, centers=inner + outer, cluster_std=spread, random_state=47)[0])


def digits() -> Array:
    """Return the 64 pixels, unscaled."""
    return np.asarray(load_digits(return_X_y=True)[0])


def _same(key: str, name: str, k: int, kind: str, load: Callable[[], Array]) -> DataSet:
    return DataSet(key, name, k, kind, load, load)


def _tabular(key: str, name: str, file: str, fetch: Callable[[], Array]) -> DataSet:
    return _same(key, name, 2, "tabular", lambda: standardised(prepared(file, "X", fetch)))


SETS = {
    data.key: data
    for data in (
        _same("S1", "S1", 5, "synthetic", s1),
        _same("S2", "S2", 6, "synthetic", s2),
        _same("S3", "S3", 5, "synthetic", s3),
        _same("S4", "S4", 12, "synthetic", s4),
        _tabular("Pks", "Parkinsons", "parkinsons", online.parkinsons),
        _same("Wne", "Wine", 3, "tabular", lambda: standardised(load_wine(return_X_y=True)[0])),
        _tabular("Bld", "Blood", "blood", online.blood),
        # The published figures use principal components with 99.9 % of the variance.
        DataSet("Dgt", "Digits", 10, "images", lambda: PCA(0.999).fit_transform(digits()), digits),
        _same("Bbc", "BBC", 5, "text", lambda: prepared("bbc", "X", online.bbc)),
        _tabular("Htr", "HTRU2", "htru2", online.htru2),
        _same("Stl", "STL-10", 10, "images", lambda: prepared("stl10", "X", online.stl10)),
        DataSet(
            "Nsg", "Newsgroups", 20, "text",
            lambda: prepared("newsgroups", "X50", lambda: online.newsgroups(50)),
            lambda: prepared("newsgroups", "X", lambda: online.newsgroups(100)),
        ),
        _tabular("Spm", "Spambase", "spambase", online.spambase),
        DataSet(
            "Mds", "Minds-14", 14, "text",
            lambda: prepared("minds14", "X85", lambda: online.minds14(85)),
            lambda: prepared("minds14", "X", lambda: online.minds14(100)),
        ),
        _tabular("Bnk", "Bank", "bank", online.bank),
        _same("B77", "Banking77", 77, "text", lambda: prepared("banking77", "X", online.banking77)),
    )
}  # fmt: skip
