"""What the user has (arrays, sparse matrices, tables, files) as a checked matrix, and what was done to get there.

It may import util and errors only.
"""
