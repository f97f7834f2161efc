"""Measurements of speed and memory, and the experiments of the paper."""
