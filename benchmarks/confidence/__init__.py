"""The chance of being right: generated data sets, what a selection says of each, and the model made of both."""
