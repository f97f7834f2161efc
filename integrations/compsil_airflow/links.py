"""The link from a task in the Airflow UI to its report."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from compsil_airflow.compat import LINKS_ARE_MADE_BY_THE_TASK, BaseOperatorLink, XCom

REPORT_URL = "report_url"


def is_link(url: Any) -> bool:
    """Tell whether a URL leads to a page, and not to a script or a file."""
    parts = urlsplit(str(url).strip())
    return parts.scheme in ("http", "https") and bool(parts.netloc)


def check_report_url(url: Any) -> None:
    """Refuse anything but a page: the link is shown to whoever opens the task."""
    if url is not None and not is_link(url):
        raise ValueError(f"report_url must begin with http:// or https://; got {str(url)!r}.")


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
        made_here = LINKS_ARE_MADE_BY_THE_TASK
        url = operator.report_url if made_here else XCom.get_value(key=REPORT_URL, ti_key=ti_key)
        return str(url) if is_link(url) else ""
