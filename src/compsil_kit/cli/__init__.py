"""The ``compsil-kit`` command line. It may import any module of the package; only adapters may import it."""
