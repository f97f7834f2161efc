"""What the adapters of this project need beyond the public names; documented for authors of further adapters.

Names are loaded on first use. They may change between minor releases, with a line in the changelog.
"""

from compsil_kit._util.imports import lazy_names

# The names are listed in adapters.pyi.
__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
