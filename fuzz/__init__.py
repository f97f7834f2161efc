"""Fuzz every reader and parser, and inject faults into runs. A release must pass both programs.

The programs are not part of the wheel, and the packages do not import them.
"""
