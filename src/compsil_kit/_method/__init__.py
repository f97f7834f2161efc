"""The steps of the method; they neither plot nor print."""
