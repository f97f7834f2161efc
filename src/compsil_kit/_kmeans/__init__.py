"""k-means, compiled: the labels of scikit-learn's KMeans, in a fraction of its time and without Python's lock.

It may import what ``method`` may; of ``method`` itself, nothing.
"""
