"""``python -m compsil_kit`` is the command line."""

from compsil_kit.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
