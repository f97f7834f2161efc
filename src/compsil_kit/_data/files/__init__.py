"""Read tables from files: detect the layout of a text file, then load it with pandas."""


class FileFormatError(ValueError):
    """Raised for a damaged or ambiguous file; the message names the line and the option, but quotes no content."""
