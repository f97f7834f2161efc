"""Two jobs that a release must pass: hostile input for every reader and parser, and faults while a run is under way.

They are programs for developers: no part of the wheel, and nothing of the product imports them.
"""
