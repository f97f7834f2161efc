"""Rates of correct choices and calibration of the confidence on labelled data: ``make truth``."""
