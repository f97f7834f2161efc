"""The page says what the committed results say, and the results say what the paper and the authors' package do."""

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


def test_the_page_is_up_to_date(results):
    assert (evidence.DOCS / "evidence.md").read_text() == evidence.text(results)


def test_figures_written_by_hand_are_those_of_the_results(results):
    decision = (evidence.DOCS / "decisions/0003-how-sure.md").read_text()
    said, method = evidence.text(results), (evidence.DOCS / "method.md").read_text()
    same = trust.questions(results)[trust.SAME]
    for sure in (same["plain"] >= 0.9, same["plain"] < 0.9):
        said += f" {same['right'][sure].sum()} of {sure.sum()} "
    one_start = method[method.index("## Why one k-means initialisation") :].split("## ")[1]
    readme = re.findall(r"\d+ of \d+ (?:runs )?where", (evidence.DOCS.parent / "README.md").read_text())
    assert [text for text in readme if text not in said] == []
    assert len(readme) == 2
    quoted = re.findall(r"\d+ of \d+", decision) + re.findall(r"\d+ of \d\d", one_start)
    assert len(quoted) >= 10
    assert set(quoted) - set(re.findall(r"\d+ of \d+", said)) == set()

    first, other = trust.questions(results).values()
    for name in calibration.ESTIMATES:
        figures_of = []
        for runs, outcome in ((first, "agree"), (other, "agree"), (first, "right")):
            known = runs[runs[name].notna()]
            brier = calibration.squared(known[name].to_numpy(), known[outcome].to_numpy()).mean()
            figures_of += [points(trust.excess(runs, name, outcome)), f"{brier:.3f}"]
        row = next(line for line in decision.splitlines() if line.startswith(f"| {name}: "))
        assert row.replace("−", "-").split(" | ", 1)[1].rstrip(" |").split(" | ") == figures_of


def test_every_figure_of_the_page_is_there():
    pictures = set(re.findall(r"_static/(\S+?\.png)", evidence.TEMPLATE.read_text()))
    assert pictures == {f"evidence-{name}.png" for name in figures.FIGURES}
    for name in pictures:
        assert (evidence.DOCS / "_static" / name).stat().st_size > 10_000


def test_the_template_holds_no_results():
    """Numbers in the fixed text are settings and definitions; results come in through the fields."""
    fixed = re.sub(r"```.*?```|\$\w+|`[^`]*`", "", evidence.TEMPLATE.read_text(), flags=re.DOTALL)
    numbers = set(re.findall(r"\d[\d,.]*", re.sub(r"\bS[1-4]\b|Minds-14|Banking77", "", fixed)))
    settings = {"2", "3", "5", "6", "10", "16", "20", "25", "90", "95", "200", "0", "20,000"}
    # Rows and dimensions of the data; what the paper claims, and how far its figure goes.
    settings |= {"64", "49", "100", "50", "85", "541", "2,797", "539"} | {"0.01", "0.05", "500,000"}
    # Rates on other collections, which are not part of these results.
    settings |= {"149", "169", "104", "197"}
    assert {number.rstrip(",.") for number in numbers} - settings == set()


def test_every_table_says_where_it_comes_from():
    text = evidence.TEMPLATE.read_text()
    parts, named = re.split(r"^## ", text, flags=re.MULTILINE)[2:-1], set(re.findall(r"From `(\S+)`", text))
    assert len(parts) > 5
    assert [part.splitlines()[0] for part in parts if "<small>From `" not in part] == []
    assert len(named) > 5
    assert [name for name in named if not (RESULTS / name).exists()] == []


def test_a_page_with_holes_is_refused(tmp_path):
    with pytest.raises(RuntimeError, match="needs runs that are not there yet: authors kmeans subsamples"):
        evidence.text(Results(tmp_path))


def test_published_figures_come_out(results):
    exact = [row for row in tables.values(results) if PUBLISHED[row[0]]["exact"] and row[1] in tables.ON_SUBSAMPLES]
    assert len(exact) == 3 * 13
    assert all(equal for *_, equal in exact)


def test_published_choices_come_out(results):
    for key, published in PUBLISHED.items():
        if published["exact"]:
            # The gap statistic has many variants, and the paper's is not known.
            for criterion in tables.CRITERIA[:-1]:
                assert results.choices(criterion, key, protocol="authors") == [published["kmeans"][criterion]]


def test_equal_to_the_authors_package(results):
    peers = results.find(protocol="authors", part="compsil")
    assert {unit["set"] for unit in peers} == {key for key in PUBLISHED if key != "Stl"}
    for unit in peers:
        # scikit-learn's distances between equal rows are not quite zero; see tests/parity/test_paper.py.
        found = unit.get("differences_exact", unit["differences"])
        # BBC's rows are numbers of single precision.
        assert max(found.values()) < (1e-12 if PUBLISHED[unit["set"]]["exact"] else 1e-9)
        assert [unit["choices"]["composite"]] == results.choices("composite", unit["set"], protocol="authors")


@pytest.mark.parametrize(("name", "column"), [("ablation", "tanh"), ("rules", "max"), ("calibration", "k")])
def test_tables_of_the_analysis_agree_with_the_units(results, name, column):
    table = results.table(name)
    if "n_subsamples" in table:
        table = table[table["n_subsamples"] == table["n_subsamples"].max()]
    chosen = {
        unit["unit"]: unit["choices"]["composite"] for unit in results.units if "composite" in unit.get("choices", {})
    }
    assert len(table)
    assert table[column].tolist() == [chosen[unit] for unit in table["unit"]]


@pytest.mark.parametrize(
    ("name", "protocols"),
    [
        ("ablation", ("authors", "literal")),
        ("rules", tuple(VARIANTS)),
        ("calibration", tuple(analysis.PEERS)),
        ("fewer", ("literal",)),
    ],
)
def test_no_run_is_left_out_of_the_tables(results, name, protocols):
    runs = [unit for unit in results.find(clusterer="kmeans", part="subsamples") if unit["protocol"] in protocols]
    assert set(results.table(name)["unit"]) == {unit["unit"] for unit in runs}


def test_no_set_is_left_out_of_the_tables(results):
    for name in ("convergence", "subsamples"):
        assert set(results.table(name)["set"]) == set(results.with_choices())
    expected = pd.DataFrame(analysis.recovery(results))
    pd.testing.assert_frame_equal(results.table("recovery"), expected, rtol=1e-5)


def test_agreement_follows_from_the_units(results):
    table = results.table("calibration")
    literal = table[table["protocol"] == "literal"]
    assert set(literal["set"]) == set(results.with_choices())
    for key, runs in literal.groupby("set"):
        chosen = pd.Series(results.choices("composite", key))
        expected = [(chosen.eq(k).sum() - 1) / (len(chosen) - 1) for k in runs["k"]]
        assert runs["agree"].tolist() == pytest.approx(expected, abs=1e-5)
