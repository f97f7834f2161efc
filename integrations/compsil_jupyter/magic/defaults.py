"""The defaults of ``%compsil``, which ``%config CompsilMagics.<name> = ...`` changes; a wrong value is refused."""

from __future__ import annotations

import inspect
import sys
from argparse import ArgumentTypeError
from collections.abc import Callable
from functools import partial
from typing import Any

import traitlets
from IPython.core.magic import Magics
from traitlets.config import Config

from compsil_jupyter.data import AUTO
from compsil_kit import select_k
from compsil_kit.cli.options import parse_ks
from compsil_kit.data.table import MISSING, SCALERS
from compsil_kit.method.clusterers import NAMED, resolve_clusterer
from compsil_kit.method.metrics import resolve_metric
from compsil_kit.method.plan import MOST, check_ks, resolve_sample_size
from compsil_kit.method.selection import RULES
from compsil_kit.method.subsample import make_seeds
from compsil_kit.method.weights import check_transform
from compsil_kit.run.request import ON_FAILURE, check_n_jobs
from compsil_kit.util.checks import check_choice, check_integer, check_real

SCALES = (AUTO, *SCALERS, "none")


def _clusterer(value: Any) -> None:
    # By name only: building one would import the package that it comes from.
    if isinstance(value, str):
        check_choice("clusterer", value, NAMED)
    else:
        resolve_clusterer(value, resolve_metric("euclidean"))


def _ks(value: Any) -> None:
    if isinstance(value, str):
        parse_ks(value)
    else:
        check_ks(value)


def _seeds(value: Any) -> None:
    make_seeds(value, len(value) if hasattr(value, "__len__") and not isinstance(value, str) else 1, 0)


_CHECKS: dict[str, Callable[[Any], Any]] = {
    "ks": _ks,
    "clusterer": _clusterer,
    "n_subsamples": partial(check_integer, "n_subsamples", minimum=1, maximum=MOST),
    "sample_size": lambda value: resolve_sample_size(value, sys.maxsize, 2),
    "metric": resolve_metric,
    "transform": check_transform,
    "rule": lambda value: check_choice("rule", value, RULES),
    "z": lambda value: check_real("z", value, low=0.0, high=1e6),
    "on_failure": lambda value: check_choice("on_failure", value, ON_FAILURE),
    "n_jobs": check_n_jobs,
    "random_state": _seeds,
    "scale": lambda value: None if value is None else check_choice("scale", value, SCALES),
    "missing": lambda value: check_choice("missing", value, MISSING),
}
_ENGINE = inspect.signature(select_k).parameters


def _default(name: str, text: str) -> Any:
    """Return a trait that starts with the engine's own default."""
    return traitlets.Any(_ENGINE[name].default, help=text).tag(config=True)


class Defaults(Magics):
    """Magics with a default for every option that is worth setting once in a notebook."""

    ks = _default("ks", "Candidate counts: '2:10' (both ends included), '2,3,5', a range or a list.")
    clusterer = _default("clusterer", "A clusterer's name, a scikit-learn estimator, or a function f(X, k, seed).")
    n_subsamples = _default("n_subsamples", "Subsamples to score.")
    sample_size = _default("sample_size", "Rows in a subsample, a fraction such as 0.5, or 'auto'.")
    metric = _default("metric", "Distance of the silhouettes: a name or a function.")
    transform = _default("transform", "From discrepancy to weight: a name or a function.")
    rule = _default("rule", "'max' maximises the score, 'lcb' its lower bound.")
    z = _default("z", "Standard errors below the score with rule 'lcb'.")
    on_failure = _default("on_failure", "When a clustering fails: 'raise', or 'skip' to count it and go on.")
    n_jobs = _default("n_jobs", "Workers; -1 for all cores.")
    random_state = _default("random_state", "Seed, None for fresh ones, or one seed per subsample.")
    scale = traitlets.Any(AUTO, help="'standard', 'robust', 'minmax', 'none', or 'auto': frames standard, arrays none.")
    missing = traitlets.Any("raise", help="Rows with missing values: 'raise', or 'drop' them.")
    scale.tag(config=True)
    missing.tag(config=True)

    @traitlets.validate(*_CHECKS)
    def _check(self, proposal: Any) -> Any:
        try:
            _CHECKS[proposal.trait.name](proposal.value)
        except (ValueError, TypeError, ArgumentTypeError) as error:
            raise traitlets.TraitError(f"CompsilMagics.{proposal.trait.name}: {error}") from error
        return proposal.value

    def update_config(self, config: Config) -> None:
        """Take new defaults, all or none: a refused value must not stay behind and be refused again with the next."""
        before = self.config
        try:
            super().update_config(config)
        except traitlets.TraitError:
            self.config = before
            raise

    def settings(self) -> dict[str, Any]:
        """Return the defaults as keywords."""
        found = {name: getattr(self, name) for name in _CHECKS}
        return found | {"ks": parse_ks(self.ks) if isinstance(self.ks, str) else self.ks}
