"""Fuzz stored results, checkpoints and batches with damaged bytes or forged values."""

from __future__ import annotations

import copy
import json
import math
import tempfile
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from compsil_airflow.summary import MAX_BYTES, Decision, summarise
from compsil_kit import SelectionResult, combine_batches, plan_batches, prepare, run_batch, select_k
from compsil_kit._util.schema import signed
from fuzz.judge import require
from fuzz.mutate import mutated
from fuzz.target import Target
from fuzz.words import values

X = np.random.default_rng(5).normal(np.repeat([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]], 8, axis=0))
SETTINGS: dict[str, Any] = {"ks": (2, 3), "n_subsamples": 3, "sample_size": 12}
# Placeholder for lists nested deeper than the recursion limit.
DEEP = "(deep)"


def check_result(result: SelectionResult) -> None:
    """Require that a result has values in valid ranges and is the same after a round trip through strict JSON."""
    require(list(result.ks) == sorted(set(result.ks)) and result.ks[0] >= 2, "ks are ascending and at least 2")
    for name, low in (("scores", -1.0), ("probability", 0.0), ("weights", 0.0)):
        found = np.asarray(getattr(result, name))
        # NaN is allowed for a k without a score.
        require(not (found < low - 1e-6).any() and not (found > 1 + 1e-6).any(), f"{name} are in range")
    require(result._best_index is None or result.best_k in result.ks, "the choice is a candidate")
    plain = result.to_dict()
    again = SelectionResult.from_dict(json.loads(json.dumps(plain, allow_nan=False)))
    require(json.dumps(again.to_dict()) == json.dumps(plain), "a result is the same after JSON")
    require(
        all(isinstance(view, str) for view in (repr(result), result.explain(), result._repr_html_())), "views are text"
    )
    if result._best_index is not None:
        require(math.isfinite(result.best_score), "the best score is a number")
        summary = summarise(result, Decision("accepted", result.best_k), {})
        require(len(json.dumps(summary, allow_nan=False)) <= MAX_BYTES, "the summary for XCom is small")


@cache
def _results() -> list[Any]:
    frame = pd.DataFrame(X, columns=["a", "<b>"]).assign(word="x")

    def picky(rows: Any, k: int, seed: int) -> Any:
        if k == 3 and seed % 2:
            raise ValueError("odd")
        return np.arange(len(rows)) % k

    found = [
        select_k(X, **SETTINGS),
        select_k(prepare(frame), **SETTINGS, rule="lcb", n_calibration=2),
        select_k(X, **SETTINGS, transform=lambda ratio: np.clip(ratio, 0, 1), clusterer=picky, on_failure="skip"),
    ]
    return [json.loads(json.dumps(result.to_dict())) for result in found]


@cache
def _batches(n_batches: int) -> list[Any]:
    planned = plan_batches(prepare(pd.DataFrame(X)), n_batches=n_batches, **SETTINGS)
    return [json.loads(json.dumps(run_batch(prepare(pd.DataFrame(X)), batch))) for batch in planned]


@cache
def _checkpoint() -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "c.json"
        select_k(X, **SETTINGS, checkpoint=path)
        return json.loads(path.read_bytes())


def forged(document: Any, steps: list[int], value: Any, how: str) -> Any:
    """Return a document with one changed value, and with its digest removed, recomputed or unchanged."""
    document = copy.deepcopy(document)
    place, key = None, None
    here = document
    for step in steps:
        keys = list(here) if isinstance(here, dict) else list(range(len(here))) if isinstance(here, list) else []
        if not keys:
            break
        place, key = here, keys[step % len(keys)]
        here = here[key]
    if place is not None and how == "delete":
        del place[key]
    elif place is not None:
        place[key] = value
    part = document[0] if isinstance(document, list) and document else document
    if isinstance(part, dict) and how != "keep":
        part.pop("digest", None)
    return signed(document) if how == "sign" and isinstance(document, dict) else document


def _expanded(value: Any) -> Any:
    """Replace the placeholder with deeply nested lists."""
    if value == DEEP:
        deep: list[Any] = []
        for _ in range(20_000):
            deep = [deep]
        return deep
    if isinstance(value, dict):
        return {name: _expanded(item) for name, item in value.items()}
    return [_expanded(item) for item in value] if isinstance(value, list) else value


def _check_result(given: Any) -> None:
    check_result(SelectionResult.from_dict(_expanded(_document(given))))


def _check_batches(given: Any) -> None:
    document = _expanded(_document(given))
    # A single batch is not compared with other batches.
    if isinstance(document, list) and len(document) == 1:
        run_batch(prepare(pd.DataFrame(X)), document[0])
    check_result(combine_batches(document))


def _check_checkpoint(given: Any) -> None:
    content = given if isinstance(given, bytes) else json.dumps(given).replace(f'"{DEEP}"', "[" * 20_000).encode()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "c.json"
        path.write_bytes(content)
        try:
            result = select_k(X, **SETTINGS, checkpoint=path)
        except ValueError:
            require(path.read_bytes() == content, "a rejected file is unchanged")
            raise
        check_result(result)
        if b"digest" in content:
            whole = select_k(X, **SETTINGS)
            require(np.array_equal(result.micro, whole.micro), "a file with a digest is read unchanged")


def _document(given: Any) -> Any:
    """Parse damaged bytes as JSON; return None if they are not valid JSON."""
    if not isinstance(given, bytes):
        return given
    try:
        return json.loads(given)
    except (ValueError, RecursionError):
        return None


def _damaged(document: Any, random: Random) -> bytes:
    # Also test without a digest, so that the damage is not detected by the digest.
    part = document[0] if isinstance(document, list) else document
    unsigned = json.dumps({name: value for name, value in part.items() if name != "digest"})
    text = unsigned if isinstance(document, dict) else f"[{', '.join([unsigned, *map(json.dumps, document[1:])])}]"
    return mutated([json.dumps(document).encode(), text.encode()], random)


def _forgeries(documents: list[Any]) -> st.SearchStrategy[Any]:
    how = st.sampled_from(["drop", "drop", "sign", "keep", "delete"])
    steps = st.lists(st.integers(0, 40), min_size=1, max_size=5)
    return st.builds(forged, st.sampled_from(documents), steps, values | st.just(DEEP), how)


TARGETS = (
    Target(
        "result", _check_result, st.deferred(lambda: _forgeries(_results())),
        lambda random: _damaged(random.choice(_results()), random),
    ),
    Target(
        "batches", _check_batches, st.deferred(lambda: _forgeries([_batches(1), _batches(1), _batches(2)])),
        lambda random: _damaged(_batches(random.choice((1, 2))), random),
    ),
    Target(
        "checkpoint", _check_checkpoint, st.deferred(lambda: _forgeries([_checkpoint()])),
        lambda random: _damaged(_checkpoint(), random),
    ),
)  # fmt: skip
