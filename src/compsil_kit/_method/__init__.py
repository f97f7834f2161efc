"""The steps of the method: subsample, clusterers, metrics, silhouette, selection, likelihood, structure, guarantees.

May import ``_kmeans``, ``_data`` and ``_util``; computes, and neither plots nor prints.
"""
