"""Tables from a tiny results file, and the statistics behind them."""

import json
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.paper import analysis, calibration, evidence, tables
from benchmarks.paper.data import ROOT, SETS
from benchmarks.paper.outcomes import Results, markdown, over_sets, wilson
from benchmarks.paper.protocols import SEEDS, units
from benchmarks.paper.store import RESULTS, Store
from compsil_kit import select_k
from compsil_kit.datasets import imbalanced_blobs


def line(key, seed, chosen, *, protocol="literal", part="subsamples", k=5, values=(0.1, 0.2, 0.3)):
    names = ("composite", "micro", "macro") if part == "subsamples" else tables.CRITERIA[3:]
    return {
        "unit": f"{protocol}/{key}/kmeans/{seed}/{part}", "protocol": protocol, "set": key, "clusterer": "kmeans",
        "seed": seed, "part": part, "ks": [4, 5, 6], "k_true": k, "choices": dict.fromkeys(names, chosen),
        "values": {name: list(values) for name in names}, "seconds": 1.0, "versions": "compsil-kit 0",
    }  # fmt: skip


@pytest.fixture
def results(tmp_path):
    lines = [line("S1", 42, 5), line("S1", 142, 4), line("S3", 42, 5), line("S3", 142, 5)]
    lines += [{**line("S1", 42, 5, part="full")}, line("S1", 142, 6, part="full")]
    lines += [line("S1", 42, 5, protocol="authors", values=(0.5, 0.87285, 0.4))]
    (tmp_path / "units.jsonl").write_text("".join(json.dumps(item) + "\n" for item in lines))
    return Results(tmp_path)


def test_recovery(results):
    first, *rows = tables.recovery(results).splitlines()[0:1] + tables.recovery(results).splitlines()[2:]
    assert first.startswith("| data | composite |")
    assert rows[0].startswith("| S1, k = 5 | 1/2 (4) | 1/2 (4) | 1/2 (4) | 1/2 (6) |")
    assert rows[1].startswith("| S3, k = 5 | **2/2** | **2/2** | **2/2** | – |")


def test_a_criterion_that_chose_none_is_wrong(tmp_path):
    lines = [line("S1", 42, 5), line("S1", 142, None)]
    (tmp_path / "units.jsonl").write_text("".join(json.dumps(item) + "\n" for item in lines))
    assert "| S1, k = 5 | 1/2 (0) |" in tables.recovery(Results(tmp_path))


def test_all_criteria_are_judged_on_the_same_sets(results):
    assert tables.common_sets(results) == ["S1"]
    assert {(right, runs) for _, right, runs, *_ in tables.totals(results)} == {(1, 2)}


def test_every_rate_has_an_interval(results):
    rows = {(row["criterion"], row["set"]): row for row in analysis.recovery(results)}
    assert set(rows) == {
        (c, key) for c in tables.CRITERIA for key in ("S1", "S3") if key == "S1" or c in tables.ON_SUBSAMPLES
    }
    row = rows["composite", "S1"]
    assert (row["clusterer"], row["right"], row["runs"], row["rate"]) == ("kmeans", 1, 2, 0.5)
    assert (row["low"], row["high"]) == wilson(1, 2)


def test_published_figures_are_cut_off_not_rounded(results):
    found = {criterion: equal for _, criterion, _, _, equal in tables.values(results)}
    # Printed: composite 0.8728, micro 0.8727, macro 0.8728. Ours is 0.87285 for all three.
    assert found == {"composite": True, "micro": False, "macro": True}
    assert "0.872850 (0.8727)" in tables.values_table(results)


def test_missing_is_what_the_last_run_did_not_have(results):
    assert results.sets == ["S1", "S3"]
    assert results.missing == {}
    assert evidence.opening(results)["missing"] == ""

    Store(results.folder).note_missing({"Stl": "no network", "S3": "no network"}, found=())
    again = Results(results.folder)
    assert again.missing == {"S3": "no network", "Stl": "no network"}
    # Of S3 an earlier run left results.
    assert evidence.opening(again)["missing"].endswith(": STL-10.")
    planned = [unit for unit in units() if unit.data != "Stl"]
    done = [unit for unit in planned if unit.name in {record["unit"] for record in again.units}]
    assert f"**{len(planned) - len(done)} of {len(planned)} planned" in evidence.opening(again)["progress"]


def test_the_committed_file_says_why_sets_are_missing_and_names_no_machine():
    missing = Store().missing()
    assert set(missing) <= set(SETS) - set(Results(RESULTS).sets)
    for why in missing.values():
        assert "the public source" in why
        assert str(ROOT.parent) not in why
        assert str(Path.home()) not in why


def test_intervals():
    assert wilson(10, 10) == pytest.approx((0.7225, 1), abs=1e-4)
    assert wilson(5, 10) == pytest.approx((0.2366, 0.7634), abs=1e-4)
    mean, low, high = over_sets([1, 1, 0, 0.5])
    assert mean == 0.625
    assert 0 < low < mean < high <= 1
    assert over_sets([0.5, 0.5]) == (0.5, 0.5, 0.5)


def test_markdown():
    assert markdown(["a", "b"], [["x", 1]]).splitlines() == ["| a | b |", "|---|---:|", "| x | 1 |"]
    with pytest.raises(ValueError, match="shorter"):
        markdown(["a", "b"], [["x"]])


@pytest.fixture(scope="module")
def selection():
    return select_k(imbalanced_blobs()[0], n_subsamples=20)


@pytest.fixture
def analysed(tmp_path):
    """Units of two sets in turns, with trials, and their tables."""
    store, selection = Store(tmp_path / "results"), select_k(imbalanced_blobs()[0][::4], n_subsamples=30)
    with store.writing():
        for seed, key in product(SEEDS, ("Pks", "S3")):
            store.add({**line(key, seed, 5), "ks": list(selection.ks)}, selection.to_dict())
    _, notes = analysis.write(store)
    assert notes == []
    return store


def files(store):
    return {path.name: path.read_text() for path in sorted(store.folder.glob("*.csv"))}


def test_rows_of_sets_without_trials_are_kept(analysed):
    before = files(analysed)
    assert set(before) == {f"{name}.csv" for name in (*analysis.TABLES, "recovery")}
    analysed.trials_of("literal/Pks/kmeans/142/subsamples").unlink()
    _, notes = analysis.write(analysed)
    assert notes == ["Kept as they were, because trials are not at hand: the rows of Pks."]
    assert files(analysed) == before

    # Without any trials everything stays.
    for path in analysed.trials.iterdir():
        path.unlink()
    _, notes = analysis.write(analysed)
    assert notes == ["Kept as they were, because trials are not at hand: the rows of Pks, S3."]
    assert files(analysed) == before


def test_rows_that_cannot_be_kept_are_named(analysed):
    before = files(analysed)
    analysed.trials_of("literal/Pks/kmeans/42/subsamples").unlink()
    folder = analysed.folder
    (folder / "rules.csv").unlink()
    (folder / "ablation.csv").write_text(before["ablation.csv"].replace("tanh", "sinh"))
    (folder / "subsamples.csv").write_text(before["subsamples.csv"].replace("Pks", "Bld"))
    _, notes = analysis.write(analysed)
    assert notes[1:] == [
        "Nothing is kept of Pks: ablation.csv has other columns.",
        "Nothing is kept of Pks: rules.csv is not there.",
        "Nothing is kept of Pks: subsamples.csv has no such rows.",
    ]
    for name in ("ablation", "rules", "subsamples"):
        assert set(Results(folder).table(name)["set"]) == {"S3"}
    assert files(analysed)["convergence.csv"] == before["convergence.csv"]


def pool(seeds, ks=(2, 3, 4)):
    """Pairs of one set with ten trials per seed; the last k is the best, and the more so the larger."""
    micro = np.linspace(0.1, 0.3, len(ks))[:, None] + np.linspace(0, 0.01, 20 * len(ks)).reshape(len(ks), 20)
    return [
        (
            {**line("S3", seed, ks[-1], k=ks[-1]), "ks": list(ks)},
            SimpleNamespace(micro=micro.copy(), macro=micro.copy()),
        )
        for seed in seeds
    ]


def test_a_pool_has_all_seeds():
    assert list(analysis.pools(pool(SEEDS))) == ["S3"]
    assert analysis.pools(pool(SEEDS[:-1])) == {}


def test_failed_trials_win_nothing():
    pairs = pool(SEEDS)
    for _, result in pairs:
        # The worst k fails once in a while, the second always.
        result.micro[0, ::4] = result.macro[0, ::4] = np.nan
        result.micro[1] = result.macro[1] = np.nan
    (_, micro, macro) = analysis.pools(pairs)["S3"]
    low, none, high = analysis.scores(micro, macro)
    assert np.isnan(none)
    assert low == pytest.approx(np.nanmean(micro[0]))
    assert high == pytest.approx(micro[2].mean())
    rows = list(analysis.subsamples(pairs))
    assert len(rows) > 0
    assert {(row["k_pool"], row["right"], row["agree"]) for row in rows} == {(4, 1, 1)}

    at_true_k = [({**record, "k_true": 2}, result) for record, result in pairs]
    highs = [row["high"] for row in analysis.convergence(at_true_k)]
    assert len(highs) > 0
    assert np.isfinite(highs).all()
    assert list(analysis.convergence([({**record, "k_true": 3}, result) for record, result in pairs])) == []


@pytest.mark.parametrize(("sem", "k"), [(0.005, 5), (0.02, 4), (0.2, 3), (0.5, 2)])
def test_one_standard_error_takes_the_smallest_k_within_reach(sem, k):
    found = SimpleNamespace(
        ks=(2, 3, 4, 5, 6), scores=[0.2, 0.5, 0.59, 0.6, 0.4], sem=[9, 9, 9, sem, 9], best_k=5, best_score=0.6
    )
    assert analysis.one_standard_error(found) == k


def test_another_run_is_less_sure_than_this_one_redrawn(selection):
    found = calibration.estimates(selection)
    assert found["repeat"] == selection.selection_probability[selection._best_index]
    assert 0 < found["sample"] < found["repeat"] < found["plain"] < 1


def test_the_jackknife_has_the_spread_it_should(selection):
    drawn = calibration.resampled(selection, np.random.default_rng(0))
    n, m = selection.plan.n_rows, selection.plan.sample_size
    expected = 2 * m / (n - m) * selection.composite.var(axis=1, ddof=1)
    np.testing.assert_allclose(drawn.var(axis=1), expected, rtol=0.2)
    np.testing.assert_allclose(np.corrcoef(drawn), np.corrcoef(selection.composite), atol=0.12)


def test_nothing_is_known_of_other_samples_where_subsamples_are_all_rows():
    result = select_k(imbalanced_blobs()[0][::20], n_subsamples=5, sample_size=1.0)
    assert np.isnan(calibration.estimates(result)["sample"])


def test_reliability():
    said, came = np.array([0.55, 0.95, 1.0, 0.97]), np.array([0.0, 1.0, 1.0, 0.0])
    low, high = calibration.reliability(said, came)
    assert (low["n"], low["came"], high["n"]) == (1, 0.0, 3)
    assert high["came"] == pytest.approx(2 / 3)
    # Said to be impossible, true in half of the cases: wrong by 1 in these, by 0 in the others.
    assert calibration.squared(np.array([1.0, 0.0]), np.array([1.0, 0.5])).tolist() == [0.0, 0.5]
