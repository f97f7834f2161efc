"""Trials and derived results: scores, the choice, its selection probability, and plain data for JSON.

This package may import ``_show`` and the layers below it; it never runs a clustering.
"""
