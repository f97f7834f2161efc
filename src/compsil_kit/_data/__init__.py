"""Load arrays, sparse matrices, tables and files as a validated matrix, and record how it was prepared.

This package may import only util and errors.
"""
