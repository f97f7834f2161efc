"""Fixtures: results to show, and axes for plots."""

import io
from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.cluster import KMeans

from compsil_kit import select_k
from compsil_kit._data.dataset import Preparation
from compsil_kit._method import likelihood
from compsil_kit.datasets import imbalanced_blobs

mpl.use("agg")
ATTACK = "<script>alert(1)</script>"


@pytest.fixture(scope="session")
def hostile():
    """A result in which all user-defined names are HTML markup."""

    def clusterer(X, k, seed):
        if k == 4:
            raise ValueError(ATTACK)
        return KMeans(k, n_init=1, random_state=seed).fit_predict(X)

    def transform(x):
        return (1 + x) / 2

    clusterer.__name__ = transform.__name__ = ATTACK
    frame = pd.DataFrame(imbalanced_blobs()[0], columns=[ATTACK, '"><img src=x onerror=alert(1)>'])
    found = select_k(
        frame, ks=[2, 3, 4, 5], n_subsamples=4, clusterer=clusterer, transform=transform, on_failure="skip"
    )
    notes = (f"column {ATTACK!r}: odd.",)
    return replace(
        found, preparation=Preparation((*found.preparation.columns, ATTACK), (ATTACK,), "standard", 3, notes)
    )


@pytest.fixture(scope="session")
def table_result():
    """A selection on a table with two columns."""
    frame = pd.DataFrame(imbalanced_blobs()[0], columns=["x", "y"])
    return select_k(frame, ks=range(2, 8), n_subsamples=12, n_jobs=2)


@pytest.fixture
def with_confidence(monkeypatch):
    """Return a function that gives a result the specified confidences (the last is for no candidate)."""

    def make(result, *confidences):
        def fixed(known, plan):
            return np.broadcast_to(confidences, (*known["best_micro"].shape[:-1], len(confidences))).copy()

        monkeypatch.setattr(likelihood, "likelihood", fixed)
        known = np.full(result.micro.shape, 0.9)
        return replace(result, trials=replace(result.trials, agreement=known, within=known.copy()))

    return make


@pytest.fixture
def ax():
    return Figure(figsize=(7.2, 4.2), layout="constrained").subplots()


@pytest.fixture
def drawn():
    """Return a function that renders a plot, because some errors occur only during rendering."""

    def render(ax):
        ax.figure.savefig(io.BytesIO(), format="png")
        return ax

    return render
