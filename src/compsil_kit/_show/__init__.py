"""Results for people: text, pictures, the notebook card and the HTML report.

It reads results without importing them, computes nothing, and may import settings and what is below.
"""
