"""Real locks that are held where nothing can be exchanged: in tuples, sets, caches, contexts.

While we are in control, the methods of the types of real locks are others: those of a lock that
existed before do what is done to the lock that stands for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from sys import _getframe
from typing import Any

from bohrbug.runtime.threads.locks import RealLock, RealRLock, RLock, lock, wrap_lock, wrap_rlock
from bohrbug.runtime.threads.namespaces import put_into_closed
from bohrbug.runtime.threads.stacks import is_own

_stand_ins: dict[int, Any] = {}
"""What stands for real locks, and keeps them alive, by their ids."""

_originals: dict[type, dict[str, Any]] = {}
"""The methods of real locks, while others are in their place."""


def know(stand_ins: Iterable[lock | RLock]) -> None:
    """Let locks that stand for real ones since an earlier exploration do so again."""
    for each in stand_ins:
        real = each._stands_for if isinstance(each, RLock) else each._real
        if real is not None:
            _stand_ins[id(real)] = each


def for_lock(real: Any) -> Any:
    """What stands for a real lock, re-entrant or not; the same each time."""
    stand_in = _stand_ins.get(id(real))
    if stand_in is None:
        wrap = wrap_lock if type(real) is RealLock else wrap_rlock
        stand_in = _stand_ins[id(real)] = wrap(real)
    return stand_in


def install() -> None:
    """Let real locks be what stands for them, whoever calls their methods."""
    if _originals:
        return
    for cls, stand_in, makers in (
        (RealLock, lock, _METHODS_OF_LOCKS),
        (RealRLock, RLock, _METHODS_OF_LOCKS | _METHODS_FOR_CONDITIONS),
    ):
        _originals[cls] = originals = {
            name: vars(cls)[name]
            for name in makers
            if name in vars(cls) and hasattr(stand_in, name)
        }
        put_into_closed(
            cls,
            {
                name: _looking_alike(makers[name](original, name), original)
                for name, original in originals.items()
            },
        )


def restore() -> None:
    """Let real locks be themselves."""
    for cls, originals in _originals.items():
        put_into_closed(cls, originals)
    _originals.clear()
    _stand_ins.clear()


def _looking_alike(method: Any, original: Any) -> Any:
    for attribute in ("__name__", "__qualname__", "__doc__"):
        setattr(method, attribute, getattr(original, attribute))
    return method


def _meant(real: Any, frame: Any) -> Any:
    """What stands for a lock that code in ``frame`` uses; ``None``: the real one is meant."""
    return None if is_own(frame.f_code.co_filename) else _stand_ins.get(id(real))


_Make = Callable[[Any, str], Callable[..., Any]]


def _acquiring(original: Any, name: str) -> Callable[..., Any]:
    # Which arguments ``__enter__`` takes differs between versions: they are passed on as they came.
    def acquire(self: Any, *arguments: Any, **named: Any) -> Any:
        frame = _getframe(1)
        stand_in = _meant(self, frame)
        if stand_in is None:
            return original(self, *arguments, **named)
        return stand_in._acquire(frame, *arguments, **named)

    return acquire


def _releasing(original: Any, name: str) -> Callable[..., Any]:
    # As ``__exit__`` it is told of an exception, in which locks take no interest.
    def release(self: Any, *arguments: Any) -> Any:
        frame = _getframe(1)
        stand_in = _meant(self, frame)
        if stand_in is None or (arguments and name != "__exit__"):
            return original(self, *arguments)
        return stand_in._release(frame)

    return release


def _asking(original: Any, name: str) -> Callable[..., Any]:
    def ask(self: Any, *arguments: Any) -> Any:
        stand_in = _meant(self, _getframe(1))
        return (
            original(self, *arguments) if stand_in is None else getattr(stand_in, name)(*arguments)
        )

    return ask


_METHODS_OF_LOCKS: dict[str, _Make] = {
    "acquire": _acquiring,
    "acquire_lock": _acquiring,
    "__enter__": _acquiring,
    "release": _releasing,
    "release_lock": _releasing,
    "__exit__": _releasing,
    "locked": _asking,
    "locked_lock": _asking,
}

_METHODS_FOR_CONDITIONS: dict[str, _Make] = dict.fromkeys(
    ("_is_owned", "_recursion_count", "_release_save", "_acquire_restore"), _asking
)
