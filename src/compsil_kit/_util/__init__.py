"""Small tools without a subject: checks of plain values, formats, optional imports, files written whole.

It imports nothing of compsil_kit; every room and every adapter may use it.
"""
