"""Render task parameters that are templates, and parse the rendered strings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from compsil_airflow.compat import BaseOperator, Context

if TYPE_CHECKING:
    from compsil_kit.config import SelectionConfig, TableConfig

Config = TypeVar("Config", "SelectionConfig", "TableConfig")
# Settings that may be lists of integers; the items may also be strings.
LISTS_OF_INTEGERS = ("ks", "random_state")


def parse_settings(config: type[Config], operator: Any) -> Config:
    """Build a config from the parameters of an operator; strings are parsed, and errors name the parameter."""
    from compsil_kit.config import settings_of

    given = {name: _parse_items(name, unwrap(getattr(operator, name))) for name in settings_of(config)}
    return config.from_text(given)


def _parse_items(name: str, value: Any) -> Any:
    from compsil_kit.adapters import parse_integer

    if name not in LISTS_OF_INTEGERS or not isinstance(value, list | tuple):
        return value
    try:
        return [parse_integer(item) if isinstance(item, str) else item for item in value]
    except ValueError as error:
        raise ValueError(f"{name} {error}") from None


def parse_operator_parameters(operator: Any) -> None:
    """Parse strings in the parameters that are not engine settings."""
    from compsil_kit.adapters import parse_integer, parse_names, parse_number, parse_optional

    texts = ("labels_path", "report_path", "report_url", "checkpoint", "base_dir", "on_unsure")
    parsers: dict[str, Callable[[str], Any]] = {
        "labels_keep": parse_optional(parse_names),
        "min_probability": parse_optional(parse_number),
        "min_confidence": parse_optional(parse_number),
        "fallback_k": parse_optional(parse_integer),
        "n_batches": parse_integer,
        **dict.fromkeys(texts, parse_optional(str)),
    }
    for name, parse in parsers.items():
        value = getattr(operator, name, None)
        if isinstance(value, str):
            try:
                setattr(operator, name, parse(value))
            except ValueError as error:
                raise ValueError(f"{name} {error}") from None


class Untemplated:
    """A wrapper for a function or an estimator in a template field, because Airflow calls functions in such fields.

    Airflow shows and stores the repr of the wrapper, which does not change when the DAG is parsed again.
    """

    def __init__(self, value: Any) -> None:
        """Wrap a function or an estimator."""
        self.value = value

    def __repr__(self) -> str:
        """Return the name of the function or the estimator class."""
        return str(getattr(self.value, "__qualname__", type(self.value).__name__))


def wrap(value: Any) -> Any:
    """Wrap functions and estimators; return other values, such as strings and XCom references, unchanged."""
    return Untemplated(value) if callable(value) or hasattr(value, "get_params") else value


def unwrap(value: Any) -> Any:
    """Return the value passed to :func:`wrap`."""
    return value.value if isinstance(value, Untemplated) else value


class AuthorTemplatesOperator(BaseOperator):
    """An operator that renders only templates written by the DAG author, never strings from an XCom.

    Airflow does not render values passed to ``expand``, but it renders values that ``expand_kwargs`` takes from an XCom
    (https://github.com/apache/airflow/issues/38745).
    """

    _from_xcom: list[Any] | None = None

    def render_template(
        self, content: Any, context: Context, jinja_env: Any = None, seen_oids: set[int] | None = None
    ) -> Any:
        """Render a template, but return values from XComs unchanged.

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
    """Return the parameters that the DAG passes, each with the id of the task whose XCom is passed, or None."""
    return {name: _task_id_of(value) for name in names if (value := getattr(operator, name)) is not None}


def passed_by_expand(operator: Any, names: Sequence[str]) -> dict[str, str | None]:
    """Return the parameters that the DAG maps over, each with the id of the task whose XCom is used, or None."""
    given = getattr(getattr(_mapped_operator_of(operator), "expand_input", None), "value", None)
    return {name: _task_id_of(given[name]) for name in names if isinstance(given, Mapping) and name in given}


def _mapped_operator_of(operator: Any) -> Any:
    """Return the mapped operator that this operator was expanded from, or None."""
    dag = operator.get_dag()
    return None if dag is None else dag.task_dict.get(operator.task_id)


def _task_id_of(value: Any) -> str | None:
    task_id = getattr(getattr(value, "operator", None), "task_id", None)
    return None if task_id is None else str(task_id)


def _values_of_expand_kwargs(operator: Any, context: Context) -> list[Any]:
    """Return the parameter values that ``expand_kwargs`` took from an XCom."""
    mapped = _mapped_operator_of(operator)
    decorated = hasattr(mapped, "op_kwargs_expand_input")
    expanded = getattr(mapped, "op_kwargs_expand_input" if decorated else "expand_input", None)
    # For expand, this is a mapping; for expand_kwargs, an XCom reference, or a list whose items may be XCom references.
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
