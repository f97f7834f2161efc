"""Run time and memory by number of rows, and the effect of the size of subsamples."""
