"""The former place of :func:`compsil_airflow.parameters.parse_parameter`."""

from compsil_airflow.parameters import parse_parameter as coerce

__all__ = ["coerce"]
