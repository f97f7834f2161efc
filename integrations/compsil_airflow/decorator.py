"""``@task.compsil``: the decorated function returns the data, and the task returns k*."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from compsil_airflow.compat import DecoratedOperator, task_decorator_factory
from compsil_airflow.operator import SelectKOperator


class CompsilDecoratedOperator(DecoratedOperator, SelectKOperator):
    """A :class:`SelectKOperator` that clusters the data returned by a decorated function."""

    template_fields: Sequence[str] = SelectKOperator.template_fields
    template_fields_renderers: Mapping[str, str] = SelectKOperator.template_fields_renderers
    shallow_copy_attrs: Sequence[str] = SelectKOperator.shallow_copy_attrs
    custom_operator_name = "@task.compsil"
    # DecoratedOperator.execute would only call the function.
    execute = SelectKOperator.execute

    def __init__(
        self,
        *,
        python_callable: Callable[..., Any],
        op_args: Collection[Any] | None = None,
        op_kwargs: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Pass the function to both base classes; DecoratedOperator only validates the call."""
        call: dict[str, Any] = {"python_callable": python_callable, "op_args": op_args, "op_kwargs": op_kwargs}
        super().__init__(**call, kwargs_to_upstream=call, **kwargs)


def compsil_task(python_callable: Callable[..., Any] | None = None, **kwargs: Any) -> Any:
    """Turn a function that returns a table into a task that returns k*.

    Parameters
    ----------
    python_callable : callable
        The function; it may return a table, an array, or the path to a file.
    **kwargs
        As in :class:`SelectKOperator`.

    Returns
    -------
    callable
        A decorated function, as with ``@task``; calling it adds the task to the DAG.
    """
    # Without this, Airflow would infer several outputs for a function whose return annotation is a dict.
    return task_decorator_factory(
        python_callable=python_callable,
        multiple_outputs=False,
        decorated_operator_class=CompsilDecoratedOperator,
        **kwargs,
    )
