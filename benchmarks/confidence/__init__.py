"""The confidence model: generated data sets, selections on them, and the fit."""
