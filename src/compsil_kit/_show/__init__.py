"""Present results as text, plots, notebook cards and HTML reports.

Modules here read results without importing them and compute nothing.
"""
