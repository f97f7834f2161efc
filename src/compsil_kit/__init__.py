"""Select the number of clusters with the Composite Silhouette method, and report how certain the choice is."""

from compsil_kit._util.imports import lazy_names

__version__ = "0.1.0"

# The names are listed in __init__.pyi.
__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
