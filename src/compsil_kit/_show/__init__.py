"""Present results as text, plots, notebook cards and HTML reports.

These modules do not import results, and they compute nothing.
"""
