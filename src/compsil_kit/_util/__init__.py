"""General helpers that import nothing from the rest of the package: checks, formats, imports, files and memory."""
