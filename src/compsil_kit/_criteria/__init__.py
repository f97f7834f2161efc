"""Other criteria for the number of clusters, and their comparison with the composite."""
