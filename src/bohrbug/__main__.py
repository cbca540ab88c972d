"""``python -m bohrbug``."""

from bohrbug.cli import run

if __name__ == "__main__":
    run()
