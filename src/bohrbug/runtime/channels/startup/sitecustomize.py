"""Lets a Python process take part in a recording or a replay; found through ``PYTHONPATH``.

Python imports a module of this name when it starts.  If there is another one, further on in the
search path, it is imported as always, in our place.
"""

import os
import sys


def _import_the_other_one() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != here]
    this = sys.modules.pop(__name__)
    try:
        __import__(__name__)
    except ModuleNotFoundError as error:
        if error.name != __name__:
            raise
    finally:
        sys.modules.setdefault(__name__, this)


def _is_main_interpreter() -> bool:
    """Interpreters within a process, as of ``InterpreterPoolExecutor``, take no part themselves."""
    for name in ("_interpreters", "_xxsubinterpreters"):
        try:
            interpreters = __import__(name)
        except ModuleNotFoundError:
            continue
        return bool(interpreters.get_current() == interpreters.get_main())
    return True


def _join() -> None:
    # The folder that bohrbug is in: src, or site-packages.
    above = os.path.abspath(__file__)
    for _ in range(5):
        above = os.path.dirname(above)
    sys.path.insert(0, above)
    try:
        from bohrbug_entry.pythons import refusal

        if refusal():
            return
        from bohrbug.runtime.channels.joining import join
    finally:
        sys.path.remove(above)
    join()


# The command may start any Python, one that can't even read our table, too.
if os.environ.get("BOHRBUG_MESSAGES") and sys.version_info >= (3, 7) and _is_main_interpreter():
    _join()
_import_the_other_one()
