"""The steps of the method; modules in this package neither plot nor print."""
