"""``python -m compsil_kit`` is the command line."""

import sys

from compsil_kit.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
