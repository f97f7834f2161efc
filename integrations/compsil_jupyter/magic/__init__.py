"""magic"""
