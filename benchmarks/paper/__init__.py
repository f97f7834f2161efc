"""Reproduction of the paper's experiments: ``python -m benchmarks.paper``."""
