"""What Airflow may render as a template: text that the author of the DAG wrote, never text from an XCom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compsil_airflow.compat import BaseOperator, Context


class Untemplated:
    """A function or an estimator in a template field, hidden from Airflow, which calls functions that it finds there.

    Airflow shows and stores its name, which is the same whenever the DAG is parsed.
    """

    def __init__(self, value: Any) -> None:
        """Hold the function or the estimator."""
        self.value = value

    def __repr__(self) -> str:
        """Return the name of the function or of the estimator's class."""
        return str(getattr(self.value, "__qualname__", type(self.value).__name__))


def hide(value: Any) -> Any:
    """Hide functions and estimators from Airflow; text and references to XComs stay as they are."""
    return Untemplated(value) if callable(value) or hasattr(value, "get_params") else value


def reveal(value: Any) -> Any:
    """Return what :func:`hide` was given."""
    return value.value if isinstance(value, Untemplated) else value


class AuthorTemplatesOperator(BaseOperator):
    """An operator that renders only what the author of the DAG wrote.

    Airflow leaves the values of ``expand`` alone, but renders those that ``expand_kwargs`` takes from an XCom
    (https://github.com/apache/airflow/issues/38745).
    """

    _from_xcom: list[Any] | None = None

    def render_template(
        self, content: Any, context: Context, jinja_env: Any = None, seen_oids: set[int] | None = None
    ) -> Any:
        """Render a template, unless it is a value that came from an XCom.

        Parameters
        ----------
        content, context, jinja_env, seen_oids
            As in BaseOperator.

        Returns
        -------
        object
            The rendered content.
        """
        if self._from_xcom is None:
            self._from_xcom = _values_of_expand_kwargs(self, context)
        if any(content is value for value in self._from_xcom):
            return content
        return super().render_template(content, context, jinja_env, seen_oids)


def passed_by_dag(operator: Any, names: Sequence[str]) -> dict[str, str | None]:
    """Return which of these parameters the DAG passes, with the task whose XCom is passed, if it is one."""
    return {name: _task_id_of(value) for name in names if (value := getattr(operator, name)) is not None}


def passed_by_expand(operator: Any, names: Sequence[str]) -> dict[str, str | None]:
    """Return which of these parameters the DAG maps over, with the task whose XCom they are taken from."""
    dag = operator.get_dag()
    mapped = None if dag is None else dag.task_dict.get(operator.task_id)
    given = getattr(getattr(mapped, "expand_input", None), "value", None)
    return {name: _task_id_of(given[name]) for name in names if isinstance(given, Mapping) and name in given}


def _task_id_of(value: Any) -> str | None:
    task_id = getattr(getattr(value, "operator", None), "task_id", None)
    return None if task_id is None else str(task_id)


def _values_of_expand_kwargs(operator: Any, context: Context) -> list[Any]:
    """Return the values that ``expand_kwargs`` took from an XCom, as the operator holds them."""
    dag = operator.get_dag()
    mapped = None if dag is None else dag.task_dict.get(operator.task_id)
    decorated = hasattr(mapped, "op_kwargs_expand_input")
    expanded = getattr(mapped, "op_kwargs_expand_input" if decorated else "expand_input", None)
    # For expand a mapping; for expand_kwargs a list, whose items may refer to XComs, or a reference to an XCom.
    given = getattr(expanded, "value", {})
    if isinstance(given, Mapping):
        return []
    index = context["ti"].map_index
    if isinstance(given, Sequence):
        if isinstance(given[index], Mapping):
            return []
        names = given[index].resolve(context)
    else:
        names = given.resolve(context)[index]
    held = operator.op_kwargs if decorated else vars(operator)
    return [held[name] for name in names if name in held]
