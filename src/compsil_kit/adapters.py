"""Internal names that the adapters of this project use; authors of other adapters may use them too.

Names are imported on first use. They may change between minor releases; the changelog lists such changes.
"""

from compsil_kit._util.imports import lazy_names

# The names are listed in adapters.pyi.
__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
