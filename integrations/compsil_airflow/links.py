"""The button that leads from a task in Airflow's pages to its report."""

from __future__ import annotations

from typing import Any

from compsil_airflow.compat import LINKS_ARE_MADE_BY_THE_TASK, BaseOperatorLink, XCom

REPORT_URL = "report_url"


class ReportLink(BaseOperatorLink):
    """A link to where ``report_url`` says the report can be seen; without one there is no button."""

    name = "Selection report"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        """Return the address that the task was given, or nothing.

        Parameters
        ----------
        operator : BaseOperator
            The task's operator; on Airflow 2 its templates are not rendered here.
        ti_key : TaskInstanceKey
            The task instance.

        Returns
        -------
        str
            The address, or an empty text.
        """
        if LINKS_ARE_MADE_BY_THE_TASK:
            return str(operator.report_url or "")
        return str(XCom.get_value(key=REPORT_URL, ti_key=ti_key) or "")
