"""Batches: plan a selection, run its parts anywhere, and combine them into the same result as one run."""

from __future__ import annotations

import json
from base64 import b64encode

import numpy as np
import pandas as pd
import pytest
import small_runs
from small_runs import Counting, X, identical, split

from compsil_kit import ClusteringError, SelectionError, combine_batches, plan_batches, prepare, run_batch, select_k

SETTINGS = {**small_runs.SETTINGS, "n_subsamples": 7}


def plan(data=X, **keywords):
    keywords = keywords if "batch_size" in keywords else {"n_batches": 3, **keywords}
    return plan_batches(data, **{**SETTINGS, **keywords})


def travel(batch):
    """Convert a batch to strict JSON and back, as a scheduler does between two tasks."""
    return json.loads(json.dumps(batch, allow_nan=False))


def finished(data=X, again=None, **keywords):
    return [travel(run_batch(data, travel(batch), **(again or {}))) for batch in plan(data, **keywords)]


def test_choice_settings_can_be_passed_when_combining():
    batches = finished()
    for settings in ({"transform": "step", "rule": "lcb", "z": 2.0}, {"transform": np.abs}):
        assert identical(combine_batches(batches, **settings), select_k(X, **SETTINGS, **settings))


def test_random_seeds_are_drawn_only_when_planning():
    batches = finished(random_state=None)
    seeds = batches[0]["plan"]["seeds"]
    assert seeds != plan(random_state=None)[0]["plan"]["seeds"]
    assert identical(combine_batches(batches), select_k(X, **SETTINGS, random_state=seeds))


@pytest.mark.parametrize(
    ("keywords", "sizes"),
    [
        ({"n_batches": 3}, [2, 2, 3]),
        ({"n_batches": 50}, [1] * 7),
        ({"batch_size": 3}, [3, 3, 1]),
        ({"batch_size": 7}, [7]),
        ({"batch_size": 100}, [7]),
        ({"batch_size": 4, "n_calibration": 3}, [4, 4, 2]),
    ],
)
def test_every_subsample_is_in_one_batch(keywords, sizes):
    batches = plan(**keywords)
    assert [len(batch["indices"]) for batch in batches] == sizes
    assert [index for batch in batches for index in batch["indices"]] == list(range(sum(sizes)))


def test_only_the_subsamples_of_the_batch_are_computed():
    counting = Counting()
    batch = plan(clusterer=counting)[1]
    before_run = json.dumps(batch)
    done = run_batch(X, batch, clusterer=counting, n_jobs=2)
    assert json.dumps(batch) == before_run
    seeds = [batch["plan"]["seeds"][index] for index in batch["indices"]]
    # The previous subsample is clustered too, because the first subsample of the batch is compared with it.
    before = batch["plan"]["seeds"][batch["indices"][0] - 1]
    assert sorted(counting.calls) == sorted([before, *seeds] * 3)
    assert len(done["trials"]) == len(seeds)


@pytest.mark.parametrize(("keywords", "least"), [({}, 8), ({"n_starts": 5}, 10)], ids=["one start", "several starts"])
def test_batches_stay_small(keywords, least):
    """Check the default of nine candidates and 30 subsamples; schedulers accept batches of up to 4 KB."""
    settings = {"ks": range(2, 11), "n_subsamples": 30, "sample_size": 60, **keywords}
    for n_batches in (least, 16, 30):
        planned = plan_batches(X, **settings, n_batches=n_batches)
        assert max(len(json.dumps(batch)) for batch in planned) < 2048
        # Run only the longest batch.
        batch = max(planned, key=lambda batch: len(batch["indices"]))
        assert len(json.dumps(run_batch(X, batch), allow_nan=False)) < 4096


def test_long_column_names_are_not_stored_in_batches():
    names = [f"a rather long name of column {at}" for at in range(2000)]
    wide = prepare(pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2000)), columns=names))
    settings = {"ks": [2, 3], "n_subsamples": 4, "sample_size": 40}
    planned = plan_batches(wide, n_batches=2, **settings)
    done = [run_batch(wide, travel(batch)) for batch in planned]
    assert max(len(json.dumps(batch)) for batch in [*planned, *done]) < 2048
    assert identical(combine_batches(done, preparation=wide.preparation), select_k(wide, **settings))
    with pytest.warns(RuntimeWarning, match="the names of 2,000 columns"):
        assert combine_batches(done).preparation is None
    with pytest.raises(ValueError, match="preparation does not match the table"):
        combine_batches(done, preparation=prepare(wide.raw.iloc[:, ::-1]).preparation)


def test_batches_of_an_earlier_release_contain_every_name():
    table = prepare(pd.DataFrame(X[:, :2], columns=["x", "y"]))
    batches = plan(table)
    assert batches[0]["preparation"]["columns"] == ["x", "y"]
    long = [f"column {at}" for at in range(2000)]
    old = [{**batch, "preparation": {**batch["preparation"], "columns": long}} for batch in batches]
    assert combine_batches([run_batch(table, batch) for batch in old]).preparation.columns == tuple(long)


def unlucky(X, k, seed):
    return np.zeros(X.shape[0])


def test_failures_raise_in_the_batch_or_when_combining():
    with pytest.raises(ClusteringError, match=r"failed on subsample 1 .*on_failure='skip'"):
        run_batch(X, plan(clusterer=unlucky)[1], clusterer=unlucky)
    batches = finished(clusterer=unlucky, on_failure="skip", again={"clusterer": unlucky})
    with pytest.raises(SelectionError) as caught:
        combine_batches(batches)
    assert len(caught.value.result.failures) == 21


# --- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keywords", [{"n_batches": None}, {"n_batches": 2, "batch_size": 2}])
def test_either_n_batches_or_batch_size_is_required(keywords):
    with pytest.raises(ValueError, match="pass either n_batches or batch_size"):
        plan_batches(X, **SETTINGS, **keywords)


@pytest.mark.parametrize("name", ["n_batches", "batch_size"])
@pytest.mark.parametrize(("value", "error"), [(0, ValueError), (1.5, TypeError)])
def test_invalid_batch_sizes_raise(name, value, error):
    with pytest.raises(error, match=f"{name} must be an integer of at least 1; got"):
        plan_batches(X, **SETTINGS, **{name: value})


def test_invalid_settings_raise_when_planning():
    with pytest.raises(ValueError, match="ks must be smaller than the number of rows"):
        plan(ks=[500])
    with pytest.raises(ValueError, match=r"^n_subsamples must be an integer for batches"):
        plan(n_subsamples="auto")
    with pytest.raises(TypeError, match="unexpected keyword argument 'n_jobs'"):
        plan(n_jobs=2)


MOVED = X.copy()
MOVED[0, 0] += 1e-9
OTHER = {
    "cell": ({"X": MOVED}, "the contents of X differ"),
    "rows": ({"X": X[:-1]}, "rows was 90 and is now 89"),
    "clusterer": ({"X": X, "clusterer": "gmm"}, "clusterer was kmeans and is now gmm"),
    "metric": ({"X": X, "metric": "manhattan"}, "metric was euclidean and is now manhattan"),
}


@pytest.mark.parametrize(("keywords", "message"), OTHER.values(), ids=OTHER)
def test_a_batch_of_another_selection_raises(keywords, message):
    with pytest.raises(ValueError, match=f"batch was planned for another selection: .*{message}.*or plan again"):
        run_batch(batch=plan()[0], **keywords)


@pytest.mark.parametrize("name", ["clusterer", "metric"])
def test_functions_must_be_passed_to_run_batch_again(name):
    def kmeans(*given):
        return split(*given) if name == "clusterer" else float(np.abs(given[0] - given[1]).max())

    batch = plan(**{name: kmeans})[0]
    with pytest.raises(ValueError, match=rf"batch was planned with {name}=.*kmeans \[.*Pass the same {name}= again"):
        run_batch(X, batch)
    run_batch(X, batch, **{name: kmeans})


@pytest.mark.parametrize("batch", [None, [], {"format": "compsil-kit/checkpoint"}])
def test_objects_that_are_not_batches_raise(batch):
    with pytest.raises(ValueError, match="batch must be a batch returned by plan_batches or run_batch"):
        run_batch(X, batch)
    with pytest.raises(ValueError, match=r"batches\[0\] must be a batch returned by plan_batches or run_batch"):
        combine_batches([batch])


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("version", 2, "batch has version 2 of compsil-kit/batch; this release reads version 1"),
        ("indices", [-1], "must be a whole number of at least 0 and at most 6"),
        ("indices", [0, 7], "must be a whole number of at least 0 and at most 6"),
        *((name, None, f"batch is incomplete; missing: {name}") for name in ("plan", "fingerprint", "preparation")),
    ],
)
def test_invalid_and_missing_parts_are_named(name, value, message):
    batch = {key: part for key, part in plan()[0].items() if key != name}
    with pytest.raises(ValueError, match=message):
        run_batch(X, batch if value is None else {**batch, name: value})


@pytest.mark.parametrize("batches", [[], None, "batches", {}])
def test_combine_batches_requires_a_list(batches):
    with pytest.raises(ValueError, match="batches must be a non-empty list of batches returned by run_batch"):
        combine_batches(batches)


def test_missing_and_duplicate_batches_are_named():
    first, second, third = finished()
    with pytest.raises(ValueError, match="batches are missing subsamples 2, 3 of 7"):
        combine_batches([first, third])
    with pytest.raises(ValueError, match="batches contain subsamples 0, 1 more than once"):
        combine_batches([first, second, third, first])
    with pytest.raises(ValueError, match=r"batches\[1\] has not been run"):
        combine_batches([first, plan()[1], third])


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"data": MOVED}, "the contents of X differ"),
        ({"ks": (2, 3)}, r"ks was \[2, 3\] and is now \[2, 3, 4\]"),
        ({"random_state": 1}, "the plan has other seeds or another number of subsamples"),
        ({"n_subsamples": 8}, "the plan has other seeds or another number of subsamples"),
    ],
)
def test_batches_of_two_selections_raise(keywords, message):
    mixed = [*finished()[:2], finished(**keywords)[2]]
    with pytest.raises(ValueError, match=rf"all batches must belong to the same selection; batches\[2\] .*{message}"):
        combine_batches(mixed)


REORDERED = [lambda batch: batch["trials"].reverse(), lambda batch: batch["indices"].reverse()]
FORGED = [
    lambda batch: batch["trials"].pop(),
    lambda batch: batch["trials"][0].pop("numbers"),
    lambda batch: batch["trials"][0].update(numbers=None),
    lambda batch: batch["trials"][0].update(numbers="no base64"),
    lambda batch: batch["trials"][0].update(numbers=batch["trials"][0]["numbers"][:-4]),
    lambda batch: batch["trials"][0].update(numbers=batch["trials"][0]["numbers"] + "AAAA"),
    lambda batch: batch["trials"][0].update(numbers=packed(1.5)),
    lambda batch: batch["trials"][0].update(numbers=packed(np.nan)),
    lambda batch: batch["trials"][0].update(failures=[{"k": 2, "cause": "none"}]),
    lambda batch: batch.update(trials=None),
]


@pytest.mark.parametrize("change", [*REORDERED, *FORGED])
def test_changed_trials_raise(change):
    """The digest reveals changes in order; all other changes are detected even without a digest."""
    batches = finished()
    change(batches[1])
    if change in FORGED:
        del batches[1]["digest"]
    with pytest.raises(ValueError, match=r"batches\[1\] is corrupted: .*Run the batch again"):
        combine_batches(batches)


def packed(value):
    """Return a packed trial for three values of k in which all numbers are equal."""
    return b64encode(np.full(6, value).tobytes() + np.full(6, value, dtype=np.float32).tobytes()).decode()


def test_an_invalid_rule_raises_before_combining():
    batches = finished(n_subsamples=1, n_batches=1)
    with pytest.raises(ValueError, match="n_subsamples with rule='lcb' must be an integer of at least 2"):
        combine_batches(batches, rule="lcb")


def test_choice_settings_of_combine_batches_match_reweigh():
    batches = finished()
    result = combine_batches(batches, criterion="stable")
    assert identical(result, select_k(X, **SETTINGS).reweigh(criterion="stable"))
    (warning,) = [text for text in result.warnings if "initialisations" in text]
    assert "criterion='stable' scores the best of several initialisations, but this run used only one" in warning
    with pytest.raises(TypeError, match="unexpected keyword argument 'ks'"):
        combine_batches(batches, ks=[2])
    with pytest.raises(ValueError, match="rule must be one of"):
        combine_batches(batches, rule="best")


def test_a_transform_function_must_be_passed_again():
    def half(x):
        return np.full_like(x, 0.5)

    batches = finished(transform=half)
    with pytest.raises(ValueError, match="transform=half, a function, which cannot be stored"):
        combine_batches(batches)
    assert identical(combine_batches(batches, transform=half), select_k(X, **SETTINGS, transform=half))
