"""The error of a file that is refused."""

from __future__ import annotations


class RefusedError(ValueError):
    """A file may be read wrongly; the text says where and what settles it, and quotes nothing of the content."""
