"""Two programs that a release must pass: fuzzing of every reader and parser, and fault injection into runs.

They are not part of the wheel, and the packages do not import them.
"""
