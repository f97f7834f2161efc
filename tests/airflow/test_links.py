"""The button to the report."""

from runs import run_select

from compsil_airflow import ReportLink, SelectKOperator


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
