"""Names in code that ``exec`` and ``eval`` run: in which mapping one is found shows as it runs.

They may be given a mapping of local variables beside the globals, and a module's code has none.
"""

from __future__ import annotations

from sys import _getframe
from typing import Any

from bohrbug.runtime.threads.rewrite import builtins_table as table
from bohrbug.runtime.threads.rewrite import hooks, tell
from bohrbug.runtime.threads.rewrite.hooks import Globals
from bohrbug.runtime.threads.rewrite.place import Place


def read_name(scope: Globals, name: str, place: Place) -> None:
    """A name is about to be loaded."""
    if tell.active:
        local = _getframe(1).f_locals
        if local is scope.namespace:
            hooks.read_global(scope, name, place)
        else:
            tell.in_one_step(place, _read_in_both, local, scope.namespace, name, place)


def _read_in_both(local: Any, namespace: dict[str, Any], name: str, place: Place) -> None:
    hooks.read_item(local, name, place)
    # Not in a mapping that says itself what it has: asking it would run code of the program.
    is_found = isinstance(local, dict) and dict.__contains__(local, name)
    if not is_found and type(namespace.get(name)) not in table.CODE_TYPES:
        tell.item(namespace, name, False, place)


def write_name(scope: Globals, name: str, place: Place) -> None:
    """A name is about to be stored or deleted."""
    if tell.active:
        local = _getframe(1).f_locals
        if local is scope.namespace:
            hooks.write_global(scope, name, place)
        else:
            hooks.write_item(local, name, place)
