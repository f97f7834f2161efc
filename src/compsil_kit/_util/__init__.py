"""General helpers without imports from the rest of the package: checks, formats, imports, files and memory."""
