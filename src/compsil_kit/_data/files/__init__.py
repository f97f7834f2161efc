"""Read tables from files: detect how a text file is written, then load it with pandas."""


class FileFormatError(ValueError):
    """A file is damaged or ambiguous. The message names the line and the option to pass, and quotes no content."""
