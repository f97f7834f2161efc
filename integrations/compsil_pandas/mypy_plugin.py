"""A mypy plugin that provides the type of ``df.compsil``; pandas-stubs declares unknown attributes as columns.

Enable the plugin with ``plugins = ["compsil_pandas.mypy_plugin"]`` in the mypy configuration.
"""

from __future__ import annotations

from collections.abc import Callable

from mypy.nodes import TypeInfo
from mypy.plugin import AttributeContext, Plugin
from mypy.types import Instance, Type

ATTRIBUTE = "pandas.core.frame.DataFrame.compsil"
MODULE = "compsil_pandas.accessor"


class AccessorPlugin(Plugin):
    """Give the ``compsil`` attribute of DataFrames the accessor's type."""

    def get_attribute_hook(self, fullname: str) -> Callable[[AttributeContext], Type] | None:
        """Return the hook for ``DataFrame.compsil``."""
        return self._accessor if fullname == ATTRIBUTE else None

    def _accessor(self, context: AttributeContext) -> Type:
        module = self._modules.get(MODULE) if self._modules else None
        found = module.names.get("CompsilAccessor") if module else None
        # Without an import of compsil_pandas, the attribute is treated as a column.
        return Instance(found.node, []) if found and isinstance(found.node, TypeInfo) else context.default_attr_type


def plugin(_: str) -> type[Plugin]:
    """Entry point called by mypy; return the plugin class."""
    return AccessorPlugin
