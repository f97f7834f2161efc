"""The command line ``compsil-kit``. It may import every module of the package; only adapters import it."""
