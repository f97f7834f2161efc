"""Trials and all that follows from them: scores, the choice, its selection probability, and plain data for JSON.

It may import show and what is below; nothing here runs a clustering.
"""
