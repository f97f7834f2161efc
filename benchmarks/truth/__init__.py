"""How often each criterion is right on labelled data, and how far its confidence can be believed: ``make truth``."""
