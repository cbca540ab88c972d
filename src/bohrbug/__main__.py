"""``python -m bohrbug``."""

from bohrbug.cli import main

if __name__ == "__main__":
    main(prog_name="bohrbug")
