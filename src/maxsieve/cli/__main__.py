"""``python -m maxsieve.cli``."""

from maxsieve.cli import main

if __name__ == "__main__":
    main()
