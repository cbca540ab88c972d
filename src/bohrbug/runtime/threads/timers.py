"""What a ``Timer`` calls, and with what: others may change that until it fires."""

from __future__ import annotations

import threading
from typing import Any

from bohrbug.runtime.threads.patches import Patches
from bohrbug.runtime.threads.rewrite import tell
from bohrbug.runtime.threads.rewrite.callables import place_of_call

patches = Patches()


def _told(name: str) -> property:
    """An attribute of timers that the library's own code, which is not rewritten, reads, too."""

    def get(self: threading.Timer) -> Any:
        if tell.active:
            tell.in_one_step(place_of_call("Timer.run"), _tell_read, self)
        try:
            return vars(self)[name]
        except KeyError:
            raise AttributeError(name) from None

    def set_(self: threading.Timer, value: Any) -> None:
        _tell(self, True)
        vars(self)[name] = value

    def delete(self: threading.Timer) -> None:
        _tell(self, True)
        del vars(self)[name]

    def _tell(timer: threading.Timer, is_write: bool) -> None:
        if tell.active:
            tell.attribute(timer, name, is_write, place_of_call("Timer.run"))

    def _tell_read(timer: threading.Timer) -> None:
        _tell(timer, False)
        value = vars(timer).get(name)
        if type(value) is list or type(value) is dict:
            # It is unpacked at once.
            tell.whole(value, False, place_of_call("Timer.run"))

    return property(get, set_, delete)


for _name in ("function", "args", "kwargs"):
    patches.add(threading.Timer, _name, _told(_name))
