"""The command line: options made from the definitions of the keywords, and five commands that call the engine.

It is the top of the house: it may import everything, and nothing imports it but the adapters' own command lines.
"""
