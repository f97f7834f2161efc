"""compsil-kit for notebooks. Not there yet: ``%compsil`` and the explorer come with a later release."""
