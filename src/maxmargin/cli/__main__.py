"""``python -m maxmargin.cli``."""

from maxmargin.cli import main

if __name__ == "__main__":
    main()
