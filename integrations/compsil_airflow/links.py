"""The link from a task in the Airflow UI to its report."""

from __future__ import annotations

from typing import Any

from compsil_airflow.compat import LINKS_ARE_MADE_BY_THE_TASK, BaseOperatorLink, XCom

REPORT_URL = "report_url"


class ReportLink(BaseOperatorLink):
    """A link to ``report_url``; without that parameter there is no link."""

    name = "Selection report"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        """Return the URL of the report.

        Parameters
        ----------
        operator : BaseOperator
            The operator of the task; on Airflow 2 its templates are not rendered here.
        ti_key : TaskInstanceKey
            The task instance.

        Returns
        -------
        str
            The URL, or an empty string.
        """
        if LINKS_ARE_MADE_BY_THE_TASK:
            return str(operator.report_url or "")
        return str(XCom.get_value(key=REPORT_URL, ti_key=ti_key) or "")
