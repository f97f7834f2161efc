"""How settings are described, validated and parsed from text; the settings themselves are in ``compsil_kit.config``."""
