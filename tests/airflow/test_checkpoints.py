"""What one attempt leaves for the next."""

from datetime import timedelta

import numpy as np
from runs import run_select

from compsil_kit import select_k


def test_a_retry_continues_from_the_checkpoint(csv, home, capfd):
    """The first attempt dies in its third subsample; the second computes only what is missing, to the same result."""
    seen = []

    def fragile(X, k, seed):
        seen.append(seed)
        if len(seen) == 7:
            raise MemoryError
        return np.digitize(X[:, 0], np.quantile(X[:, 0], np.arange(1, k) / k))

    settings = {"data": str(csv), "clusterer": fragile, "retries": 1, "retry_delay": timedelta(0)}
    done = run_select(**settings)
    printed = capfd.readouterr()
    assert (done.state, done.task().try_number) == ("success", 2)
    assert "Resuming: 2 of 4 subsamples were finished by an earlier attempt" in printed.out + printed.err
    # Three ks each, once; what the third one had begun is lost.
    assert [seen.count(seed) for seed in list(dict.fromkeys(seen))[:2]] == [3, 3]
    # What was kept is removed when the task is done.
    assert list((home / "compsil-checkpoints" / done.dag_run.dag_id).iterdir()) == []
    whole = run_select(**settings)
    assert whole.task().try_number == 1
    assert whole.xcom("selection") == done.xcom("selection")


def test_other_data_make_an_old_checkpoint_useless_not_fatal(csv, frame, capfd):
    calls = []

    def fragile(X, k, seed):
        calls.append(k)
        if len(calls) == 4:
            raise MemoryError
        return np.arange(len(X)) % k

    def correct(context):
        frame.iloc[10:].to_csv(csv, index=False)

    done = run_select(data=str(csv), clusterer=fragile, retries=1, retry_delay=timedelta(0), on_retry_callback=correct)
    printed = capfd.readouterr()
    assert done.state == "success"
    assert "changed since the last attempt" in printed.out + printed.err
    assert done.xcom("selection")["plan"]["n_rows"] == 290


def test_a_checkpoint_of_ones_own_is_refused_if_it_belongs_elsewhere(csv, tmp_path, frame, capfd):
    place = tmp_path / "own.json"
    select_k(frame[["x", "y"]].to_numpy() + 1.0, ks=[2, 3, 4], n_subsamples=4, checkpoint=place)
    done = run_select(data=str(csv), checkpoint=str(place), retries=1, retry_delay=timedelta(0))
    assert (done.state, done.task().try_number) == ("failed", 1)
    printed = capfd.readouterr()
    assert "belongs to another selection" in printed.out + printed.err
    assert place.exists()


def test_fresh_seeds_go_without_a_checkpoint(csv):
    assert run_select(data=str(csv), random_state=None).state == "success"


def test_fresh_seeds_and_a_checkpoint_of_ones_own_are_refused(csv, tmp_path, capfd):
    done = run_select(data=str(csv), random_state=None, checkpoint=str(tmp_path / "own.json"))
    assert done.state == "failed"
    printed = capfd.readouterr()
    assert "checkpoint needs the same seeds in every run" in printed.out + printed.err


def test_a_checkpoint_of_ones_own_is_used_and_removed(csv, tmp_path):
    place = tmp_path / "new" / "own.json"
    kept = []

    def look(X, k, seed):
        kept.append(place.exists())
        return np.arange(len(X)) % k

    assert run_select(data=str(csv), checkpoint=str(place), clusterer=look, n_subsamples=30).state == "success"
    assert place.parent.is_dir()
    assert not place.exists()
