"""The IPython magic ``%compsil``."""
