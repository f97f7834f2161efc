"""Measurements of speed and memory, and reproduction of the paper's experiments."""
