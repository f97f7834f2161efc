"""Measure speed and memory, and reproduce the paper's experiments."""
