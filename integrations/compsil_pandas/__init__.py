"""compsil-kit for pandas. Not there yet: the accessor ``df.compsil`` comes with the next release."""
