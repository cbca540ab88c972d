"""How a Python that is not supported is refused."""

import sys

from bohrbug_entry.pythons import refusal

EXIT_CODE = 2
"""Of the command: nothing was explored, as with a wrong option."""


def refuse_command(sentence: str) -> None:
    """End the command with that one line, and no traceback.

    Parameters:
        sentence: why.

    Raises:
        SystemExit: always.
    """
    print(sentence, file=sys.stderr)
    sys.exit(EXIT_CODE)


def check_import() -> None:
    """What ``import bohrbug`` does first.

    Raises:
        ImportError: this Python is not supported.
        SystemExit: it isn't, and this is ``python -m bohrbug``.
    """
    sentence = refusal()
    if not sentence:
        return
    # The name of the program while ``python -m`` imports the package of its module, and before it:
    # then there is no runpy yet, and a sitecustomize imports us, which must not end Python.
    if getattr(sys, "argv", [])[:1] == ["-m"] and "runpy" in sys.modules:
        refuse_command(sentence)
    raise ImportError(sentence)
