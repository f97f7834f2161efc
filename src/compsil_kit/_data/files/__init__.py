"""Reading of files: detect encoding, delimiter, header and number format, then load the table."""
