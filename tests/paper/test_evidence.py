"""The evidence page matches the committed results, which match the paper and the authors' package."""

import re

import pandas as pd
import pytest

from benchmarks.paper import analysis, calibration, evidence, figures, tables, trust
from benchmarks.paper.outcomes import PUBLISHED, Results, points
from benchmarks.paper.protocols import VARIANTS
from benchmarks.paper.store import RESULTS


@pytest.fixture(scope="module")
def results():
    return Results(RESULTS)


def test_page_is_up_to_date(results):
    assert (evidence.DOCS / "evidence.md").read_text() == evidence.text(results)


def test_handwritten_figures_match_the_results(results):
    decision = (evidence.DOCS / "decisions/0003-how-sure.md").read_text()
    page, method = evidence.text(results), (evidence.DOCS / "method.md").read_text()
    same, other = trust.questions(results).values()
    one_initialisation = method[method.index("## Why one k-means initialisation") :].split("## ")[1]
    readme = re.findall(r"(\d+ of \d+) (?:runs )?on\s+data", (evidence.DOCS.parent / "README.md").read_text())
    assert [text for text in readme if f"in {text} runs" not in page] == []
    assert len(readme) == 2
    quoted = re.findall(r"\d+ of \d+", decision) + re.findall(r"\d+ of \d\d", one_initialisation)
    assert len(quoted) >= 10
    assert set(quoted) - set(re.findall(r"\d+ of \d+", page)) == set()

    for name in calibration.ESTIMATES:
        expected = []
        for runs, outcome in ((same, "agree"), (other, "agree"), (same, "right")):
            known = runs[runs[name].notna()]
            brier = calibration.squared(known[name].to_numpy(), known[outcome].to_numpy()).mean()
            expected += [points(trust.excess(runs, name, outcome)), f"{brier:.3f}"]
        row = next(line for line in decision.splitlines() if line.startswith(f"| {name} ("))
        assert row.replace("−", "-").split(" | ", 1)[1].rstrip(" |").split(" | ") == expected


def test_page_contains_every_plot():
    plots = set(re.findall(r"_static/(\S+?\.png)", evidence.TEMPLATE.read_text()))
    assert plots == {f"evidence-{name}.png" for name in figures.FIGURES}
    for name in plots:
        assert (evidence.DOCS / "_static" / name).stat().st_size > 10_000


def test_missing_runs_raise(tmp_path):
    with pytest.raises(RuntimeError, match="needs runs that are missing: authors kmeans subsamples"):
        evidence.text(Results(tmp_path))


def test_published_figures_and_choices_are_reproduced(results):
    exact = [row for row in tables.values(results) if PUBLISHED[row[0]]["exact"] and row[1] in tables.ON_SUBSAMPLES]
    assert len(exact) == 3 * 13
    assert all(equal for *_, equal in exact)
    for key, published in PUBLISHED.items():
        if published["exact"]:
            # The paper does not specify which variant of the gap statistic it uses.
            for criterion in tables.CRITERIA[:-1]:
                assert results.choices(criterion, key, protocol="authors") == [published["kmeans"][criterion]]


def test_committed_results_equal_the_authors_package(results):
    peers = results.find(protocol="authors", part="compsil")
    assert {unit["set"] for unit in peers} == {key for key in PUBLISHED if key != "Stl"}
    for unit in peers:
        # scikit-learn's distances between identical rows are not exactly zero; see tests/parity/test_compsil.py.
        found = unit.get("differences_exact", unit["differences"])
        # The BBC data are in single precision.
        assert max(found.values()) < (1e-12 if PUBLISHED[unit["set"]]["exact"] else 1e-9)
        assert [unit["choices"]["composite"]] == results.choices("composite", unit["set"], protocol="authors")


@pytest.mark.parametrize(
    ("name", "column", "protocols"),
    [
        ("ablation", "tanh", ("authors", "literal")),
        ("rules", "max", tuple(VARIANTS)),
        ("calibration", "k", tuple(analysis.PEERS)),
        ("fewer", "k", ("literal",)),
    ],
)
def test_tables_contain_every_run_and_its_choice(results, name, column, protocols):
    runs = [unit for unit in results.find(clusterer="kmeans", part="subsamples") if unit["protocol"] in protocols]
    chosen = {unit["unit"]: unit["choices"]["composite"] for unit in runs}
    table = results.table(name)
    if "n_subsamples" in table:
        table = table[table["n_subsamples"] == table["n_subsamples"].max()]
    assert dict(zip(table["unit"], table[column], strict=True)) == chosen


def test_tables_contain_every_set(results):
    for name in ("convergence", "subsamples"):
        assert set(results.table(name)["set"]) == set(results.with_choices())
    expected = pd.DataFrame(analysis.recovery(results))
    pd.testing.assert_frame_equal(results.table("recovery"), expected, rtol=1e-5)


def test_agreement_is_the_share_of_other_seeds_with_the_same_choice(results):
    table = results.table("calibration")
    for key, runs in table[table["protocol"] == "literal"].groupby("set"):
        chosen = pd.Series(results.choices("composite", key))
        expected = [(chosen.eq(k).sum() - 1) / (len(chosen) - 1) for k in runs["k"]]
        assert runs["agree"].tolist() == pytest.approx(expected, abs=1e-5)
