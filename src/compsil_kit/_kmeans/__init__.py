"""Compiled k-means: returns the same labels as scikit-learn's KMeans, several times as fast and without the GIL.

This package may import the same packages as ``_method``, but not ``_method`` itself.
"""
