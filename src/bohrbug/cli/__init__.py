"""The command line."""

from bohrbug.cli.commands import main

__all__ = ["main"]
