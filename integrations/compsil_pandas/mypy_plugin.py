"""A plugin with which mypy knows the type of ``df.compsil``; pandas-stubs declare unknown attributes as columns.

Enable it with ``plugins = ["compsil_pandas.mypy_plugin"]`` in the configuration of mypy.
"""

from __future__ import annotations

from collections.abc import Callable

from mypy.nodes import TypeInfo
from mypy.plugin import AttributeContext, Plugin
from mypy.types import Instance, Type

ATTRIBUTE = "pandas.core.frame.DataFrame.compsil"
MODULE = "compsil_pandas.accessor"


class AccessorPlugin(Plugin):
    """Give the attribute ``compsil`` of frames the type of the accessor."""

    def get_attribute_hook(self, fullname: str) -> Callable[[AttributeContext], Type] | None:
        """Return the hook of the attribute."""
        return self._accessor if fullname == ATTRIBUTE else None

    def _accessor(self, context: AttributeContext) -> Type:
        module = self._modules.get(MODULE) if self._modules else None
        found = module.names.get("CompsilAccessor") if module else None
        # Without the import that registers the accessor, the attribute is a column.
        return Instance(found.node, []) if found and isinstance(found.node, TypeInfo) else context.default_attr_type


def plugin(_: str) -> type[Plugin]:
    """Return the plugin for a version of mypy, which calls this function."""
    return AccessorPlugin
