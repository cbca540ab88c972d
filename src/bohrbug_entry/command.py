"""The command ``bohrbug``."""

from bohrbug_entry.pythons import refusal
from bohrbug_entry.refusing import refuse_command

_SENTENCE = refusal()

if _SENTENCE:

    def run() -> None:
        """Say that this Python is not supported."""
        refuse_command(_SENTENCE)

else:
    # The function itself, not one that calls it: stacks show no frame of ours.
    from bohrbug.cli import run

__all__ = ["run"]
