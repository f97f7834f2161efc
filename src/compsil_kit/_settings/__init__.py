"""The keywords of a selection: each defined once, with its default, its check, its spelling as text and its words.

It knows the method's and the table's vocabulary; every surface above, and every adapter, takes its keywords from here.
"""
