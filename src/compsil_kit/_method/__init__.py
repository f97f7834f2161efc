"""The method, one step per module: plan, subsample, clusterers, metrics, silhouette, weights, selection, guarantees.

It may import data and what is below; it computes, and neither draws nor prints.
"""
