"""Describe, validate and parse settings; the settings are defined in ``compsil_kit.config``."""
