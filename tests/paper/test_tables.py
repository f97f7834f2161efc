"""Tables and statistics computed from a small results file."""

import json
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.paper import analysis, calibration, evidence, tables
from benchmarks.paper.data import ROOT, SETS
from benchmarks.paper.outcomes import Results, over_sets, wilson
from benchmarks.paper.protocols import SEEDS, units
from benchmarks.paper.store import RESULTS, Store
from compsil_kit import select_k
from compsil_kit.datasets import imbalanced_blobs


def record(key, seed, chosen, *, protocol="literal", part="subsamples", k=5, values=(0.1, 0.2, 0.3)):
    names = ("composite", "micro", "macro") if part == "subsamples" else tables.CRITERIA[3:]
    return {
        "unit": f"{protocol}/{key}/kmeans/{seed}/{part}", "protocol": protocol, "set": key, "clusterer": "kmeans",
        "seed": seed, "part": part, "ks": [4, 5, 6], "k_true": k, "choices": dict.fromkeys(names, chosen),
        "values": {name: list(values) for name in names}, "seconds": 1.0, "versions": "compsil-kit 0",
    }  # fmt: skip


@pytest.fixture
def results(tmp_path):
    records = [record("S1", 42, 5), record("S1", 142, 4), record("S3", 42, 5), record("S3", 142, None)]
    records += [record("S1", 42, 5, part="full"), record("S1", 142, 6, part="full")]
    records += [record("S1", 42, 5, protocol="authors", values=(0.5, 0.87285, 0.4))]
    (tmp_path / "units.jsonl").write_text("".join(json.dumps(each) + "\n" for each in records))
    return Results(tmp_path)


def test_recovery_counts_correct_choices(results):
    header, _, *rows = tables.recovery(results).splitlines()
    assert header.startswith("| data | composite |")
    assert rows[0].startswith("| S1, k = 5 | 1/2 (4) | 1/2 (4) | 1/2 (4) | 1/2 (6) |")
    # A run without a choice counts as wrong and is shown as 0.
    assert rows[1].startswith("| S3, k = 5 | 1/2 (0) | 1/2 (0) | 1/2 (0) | – |")
    # Totals include only the data sets that all criteria have in common.
    assert tables.common_sets(results) == ["S1"]
    assert {(right, runs) for _, right, runs, *_ in tables.totals(results)} == {(1, 2)}


def test_rates_have_wilson_intervals(results):
    rows = {(row["criterion"], row["set"]): row for row in analysis.recovery(results)}
    assert set(rows) == {
        (c, key) for c in tables.CRITERIA for key in ("S1", "S3") if key == "S1" or c in tables.ON_SUBSAMPLES
    }
    row = rows["composite", "S1"]
    assert (row["clusterer"], row["right"], row["runs"], row["rate"]) == ("kmeans", 1, 2, 0.5)
    assert (row["low"], row["high"]) == wilson(1, 2)


def test_published_figures_are_truncated_not_rounded(results):
    found = {criterion: equal for _, criterion, _, _, equal in tables.values(results)}
    # The paper prints 0.8728 for composite and macro, and 0.8727 for micro. All three are 0.87285 here.
    assert found == {"composite": True, "micro": False, "macro": True}
    assert "0.872850 (0.8727)" in tables.values_table(results)


def test_only_data_sets_without_results_are_listed_as_missing(results):
    assert evidence.overview(results)["missing"] == ""
    Store(results.folder).note_missing({"Stl": "no network", "S3": "no network"}, found=())
    again = Results(results.folder)
    assert again.missing == {"S3": "no network", "Stl": "no network"}
    # There are results for S3 from an earlier run.
    assert evidence.overview(again)["missing"].endswith(": STL-10.")
    planned = [unit for unit in units() if unit.data != "Stl"]
    done = [unit for unit in planned if unit.name in {each["unit"] for each in again.units}]
    assert f"**{len(planned) - len(done)} of {len(planned)} planned" in evidence.overview(again)["progress"]


def test_committed_reasons_contain_no_paths():
    missing = Store().missing()
    assert set(missing) <= set(SETS) - set(Results(RESULTS).sets)
    for reason in missing.values():
        assert str(ROOT.parent) not in reason
        assert str(Path.home()) not in reason


def test_wilson_and_over_sets_return_the_expected_intervals():
    assert wilson(10, 10) == pytest.approx((0.7225, 1), abs=1e-4)
    assert wilson(5, 10) == pytest.approx((0.2366, 0.7634), abs=1e-4)
    mean, low, high = over_sets([1, 1, 0, 0.5])
    assert mean == 0.625
    assert 0 < low < mean < high <= 1
    assert over_sets([0.5, 0.5]) == (0.5, 0.5, 0.5)


@pytest.fixture
def analysed(tmp_path):
    """Return a store with units for two data sets in alternating order, their trials and their tables."""
    store, selection = Store(tmp_path / "results"), select_k(imbalanced_blobs()[0][::4], n_subsamples=30)
    with store.writing():
        for seed, key in product(SEEDS, ("Pks", "S3")):
            store.add({**record(key, seed, 5), "ks": list(selection.ks)}, selection.to_dict())
    _, notes = analysis.write(store)
    assert notes == []
    return store


def files(store):
    return {path.name: path.read_text() for path in sorted(store.folder.glob("*.csv"))}


def test_rows_of_data_sets_without_trials_are_kept(analysed):
    before = files(analysed)
    assert set(before) == {f"{name}.csv" for name in (*analysis.TABLES, "recovery")}
    analysed.trials_of("literal/Pks/kmeans/142/subsamples").unlink()
    _, notes = analysis.write(analysed)
    assert notes == ["Rows kept unchanged because their trials are missing: Pks."]
    assert files(analysed) == before

    for path in analysed.trials.iterdir():
        path.unlink()
    _, notes = analysis.write(analysed)
    assert notes == ["Rows kept unchanged because their trials are missing: Pks, S3."]
    assert files(analysed) == before


def test_rows_that_cannot_be_kept_are_reported(analysed):
    before = files(analysed)
    analysed.trials_of("literal/Pks/kmeans/42/subsamples").unlink()
    folder = analysed.folder
    (folder / "rules.csv").unlink()
    (folder / "ablation.csv").write_text(before["ablation.csv"].replace("tanh", "sinh"))
    (folder / "subsamples.csv").write_text(before["subsamples.csv"].replace("Pks", "Bld"))
    _, notes = analysis.write(analysed)
    assert notes[1:] == [
        "No rows of Pks: ablation.csv has other columns.",
        "No rows of Pks: rules.csv does not exist.",
        "No rows of Pks: subsamples.csv has none.",
    ]
    for name in ("ablation", "rules", "subsamples"):
        assert set(Results(folder).table(name)["set"]) == {"S3"}
    assert files(analysed)["convergence.csv"] == before["convergence.csv"]


def pool(seeds):
    """Return one (record, result) pair per seed for S3, with 20 trials for k = 2, 3, 4; scores increase with k."""
    micro = np.array([[0.1], [0.2], [0.3]]) + np.linspace(0, 0.01, 60).reshape(3, 20)
    records = [{**record("S3", seed, 4, k=4), "ks": [2, 3, 4]} for seed in seeds]
    return [(each, SimpleNamespace(micro=micro.copy(), macro=micro.copy())) for each in records]


def test_pools_require_all_seeds_and_ignore_failed_trials():
    assert list(analysis.pools(pool(SEEDS))) == ["S3"]
    assert analysis.pools(pool(SEEDS[:-1])) == {}
    pairs = pool(SEEDS)
    for _, result in pairs:
        # The first k fails on every fourth subsample, and the second k on all subsamples.
        result.micro[0, ::4] = result.macro[0, ::4] = np.nan
        result.micro[1] = result.macro[1] = np.nan
    (_, micro, macro) = analysis.pools(pairs)["S3"]
    low, undefined, high = analysis.scores(micro, macro)
    assert np.isnan(undefined)
    assert low == pytest.approx(np.nanmean(micro[0]))
    assert high == pytest.approx(micro[2].mean())
    rows = list(analysis.subsamples(pairs))
    assert {(row["k_pool"], row["right"], row["agree"]) for row in rows} == {(4, 1, 1)}

    errors = [row["high"] for row in analysis.convergence([({**each, "k_true": 2}, result) for each, result in pairs])]
    assert len(errors) > 0
    assert np.isfinite(errors).all()
    assert list(analysis.convergence([({**each, "k_true": 3}, result) for each, result in pairs])) == []


@pytest.mark.parametrize(("sem", "k"), [(0.005, 5), (0.02, 4), (0.2, 3), (0.5, 2)])
def test_one_standard_error_selects_the_smallest_k_within_the_bound(sem, k):
    found = SimpleNamespace(
        ks=(2, 3, 4, 5, 6), scores=[0.2, 0.5, 0.59, 0.6, 0.4], sem=[9, 9, 9, sem, 9], best_k=5, best_score=0.6
    )
    assert analysis.one_standard_error(found) == k


def test_estimates_are_ordered_and_use_the_jackknife_variance():
    selection = select_k(imbalanced_blobs()[0], n_subsamples=20)
    found = calibration.estimates(selection)
    assert found["repeat"] == selection.selection_probability[selection.ks.index(selection.best_k)]
    assert 0 < found["sample"] < found["repeat"] < found["plain"] < 1
    drawn = calibration.resampled(selection, np.random.default_rng(0))
    n, m = selection.plan.n_rows, selection.plan.sample_size
    expected = 2 * m / (n - m) * selection.composite.var(axis=1, ddof=1)
    np.testing.assert_allclose(drawn.var(axis=1), expected, rtol=0.2)
    np.testing.assert_allclose(np.corrcoef(drawn), np.corrcoef(selection.composite), atol=0.12)
    # The "sample" estimate is undefined if the subsamples contain all rows.
    whole = select_k(imbalanced_blobs()[0][::20], n_subsamples=5, sample_size=1.0)
    assert np.isnan(calibration.estimates(whole)["sample"])


def test_reliability_compares_estimates_with_outcomes_by_bin():
    estimate, outcome = np.array([0.55, 0.95, 1.0, 0.97]), np.array([0.0, 1.0, 1.0, 0.0])
    low, high = calibration.reliability(estimate, outcome)
    assert (low["n"], low["observed"], high["n"]) == (1, 0.0, 3)
    assert high["observed"] == pytest.approx(2 / 3)
    assert calibration.squared(np.array([1.0, 0.0]), np.array([1.0, 0.5])).tolist() == [0.0, 0.5]
