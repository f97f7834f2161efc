"""Tables from a tiny results file, and the statistics behind them."""

import json

import numpy as np
import pytest

from benchmarks.paper import analysis, calibration, tables
from benchmarks.paper.outcomes import Results, markdown, over_sets, wilson
from compsil_kit import select_k
from compsil_kit.datasets import imbalanced_blobs


def line(key, seed, chosen, *, protocol="literal", part="subsamples", k=5, values=(0.1, 0.2, 0.3)):
    names = ("composite", "micro", "macro") if part == "subsamples" else tables.CRITERIA[3:]
    return {
        "unit": f"{protocol}/{key}/kmeans/{seed}/{part}", "protocol": protocol, "set": key, "clusterer": "kmeans",
        "seed": seed, "part": part, "ks": [4, 5, 6], "k_true": k, "choices": dict.fromkeys(names, chosen),
        "values": {name: list(values) for name in names}, "seconds": 1.0,
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


def test_missing_sets_are_listed(results):
    assert results.sets == ["S1", "S3"]
    assert "Stl" in results.missing


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


def test_one_standard_error_takes_a_smaller_k_within_reach(selection):
    best = selection.ks.index(selection.best_k)
    k = analysis.one_standard_error(selection)
    assert k <= selection.best_k
    assert selection.scores[selection.ks.index(k)] >= selection.best_score - selection.sem[best]


def test_another_run_is_less_sure_than_this_one_redrawn(selection):
    found = calibration.estimates(selection)
    assert found["repeat"] == selection.probability[selection.best_index]
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
    assert calibration.gap(said, came) == pytest.approx(said.mean() - 0.5)
    assert calibration.brier(np.array([1.0, 0.0]), np.array([1.0, 0.5])) == 0.125
