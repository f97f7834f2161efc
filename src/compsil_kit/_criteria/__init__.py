"""The other criteria for the number of clusters, and their comparison with the composite.

It may import api and what is below; only the command line is above it.
"""
