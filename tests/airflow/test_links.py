"""The button to the report."""

import pytest
from runs import run_select

from compsil_airflow import ReportLink, SelectKOperator
from compsil_airflow.lineage import check_report_url


@pytest.mark.parametrize("url", [None, "http://a.example", "https://a.example/r.html", " https://a.example/r.html\n"])
def test_pages(url):
    check_report_url(url)


@pytest.mark.parametrize(
    "url", ["", "r.html", "file:///r.html", "ftp://a.example/r.html", "https:r.html", "//a.example", 5]
)
def test_no_pages(url):
    with pytest.raises(ValueError, match=r"^report_url must begin with http:// or https://; got "):
        check_report_url(url)


def test_the_link_leads_to_the_address_that_was_given(csv, tmp_path):
    done = run_select(
        data=str(csv), report_path=str(tmp_path / "r.html"), report_url="https://reports.example/{{ dag.dag_id }}.html"
    )
    address = f"https://reports.example/{done.dag_run.dag_id}.html"
    assert done.xcom("report_url") == address
    link = ReportLink()
    if hasattr(link, "xcom_key"):
        assert done.xcom(link.xcom_key) == address
    else:
        operator = SelectKOperator(task_id="select_k", report_url="{{ not rendered }}")
        assert link.get_link(operator, ti_key=done.task().key) == address


def test_no_address_no_link(csv):
    done = run_select(data=str(csv))
    link = ReportLink()
    if hasattr(link, "xcom_key"):
        assert done.xcom(link.xcom_key) in (None, "")
    else:
        assert link.get_link(SelectKOperator(task_id="select_k"), ti_key=done.task().key) == ""


def test_the_operator_has_it():
    assert [link.name for link in SelectKOperator(task_id="t").operator_extra_links] == ["Selection report"]
