"""Compiled k-means: the labels of scikit-learn's KMeans, several times as fast and without holding the GIL.

May import what ``_method`` may, but not ``_method`` itself.
"""
