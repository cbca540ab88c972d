"""What calls on file descriptors access.

A descriptor is three variables. Where it is in its file, which it has in common with what was made
of it by ``dup``. Its flags and options, and whether it is open. And what is in its file, which all
descriptors of the file have in common, see :mod:`.mappings`.

The kernel gives a number out again that was closed. What is opened under it is something else, so
that its variables are new ones, unless somebody has used the number in between: who uses what is
closed may just as well come a little later, and use what another task has opened.
"""

from __future__ import annotations

import os
import socket
import stat
import sys
from collections.abc import Callable
from functools import partial
from typing import Any
from weakref import ref

from bohrbug.runtime.threads.control import controlled
from bohrbug.runtime.threads.leftovers import forgotten_afterwards
from bohrbug.runtime.threads.rewrite import effects, mappings, tell
from bohrbug.runtime.threads.rewrite.named import Named
from bohrbug.runtime.threads.rewrite.place import Place

if sys.platform != "win32":
    import fcntl
else:
    fcntl = None

# A test may put something else in their place.
_fstat = os.fstat
_is_plain = stat.S_ISREG
_number_of_socket: Callable[[Any], int] = vars(socket.socket.__base__)["fileno"]

_positions: dict[int, Named] = {}
_states: dict[int, Named] = {}
_closed: dict[int, Callable[[], bool]] = {}
forgotten_afterwards(_positions, _states, _closed)

STALE = "used descriptors after they were closed, whose numbers other tasks may have got meanwhile"
"""What is noted of each use of a number that is nobody's."""


def closed(descriptor: int) -> None:
    """A descriptor was closed."""
    _closed[descriptor] = _surely


def open_for(descriptor: int, is_closed: Callable[[], bool]) -> None:
    """A descriptor is open, and will be until ``is_closed`` says that it no longer is."""
    if descriptor in _closed:
        _look_for_another(descriptor)
    _closed[descriptor] = is_closed


def _surely() -> bool:
    return True


def _look_for_another(descriptor: int) -> None:
    """What has a number that was closed is something else than before, if it is anything."""
    if not _closed[descriptor]():
        return
    del _closed[descriptor]
    try:
        _fstat(descriptor)
    except OSError:
        execution = controlled()
        if execution is not None and len(execution.alive) > 1:
            execution.trace.uncontrolled.note(STALE)
        return
    _states.pop(descriptor, None)
    _positions.pop(descriptor, None)


def share_position(descriptor: int, duplicate: int) -> None:
    """A descriptor was duplicated: wherever one of the two goes in the file, the other one is."""
    _positions[duplicate] = _variable(_positions, descriptor, f"descriptor {descriptor}")


def _variable(known: dict[int, Named], key: int, label: str) -> Named:
    found = known.get(key)
    if found is None:
        found = known[key] = Named(label)
    return found


def _status_of_plain_file(descriptor: Any) -> os.stat_result | None:
    """That of a file which has a position; pipes, sockets and devices are controlled elsewhere."""
    if type(descriptor) is not int:
        return None
    try:
        status = _fstat(descriptor)
    except OSError:
        return None
    return status if _is_plain(status.st_mode) else None


def use_position(descriptor: int, place: Place) -> None:
    """Somebody goes on in the file of a descriptor."""
    use_state(descriptor, False, place)
    if _status_of_plain_file(descriptor) is not None:
        _tell_position(descriptor, True, place)


def use_file(descriptor: int, is_write: bool, place: Place) -> None:
    """Somebody goes on in the file of a descriptor, and reads or writes there."""
    use_state(descriptor, False, place)
    status = _status_of_plain_file(descriptor)
    if status is not None:
        _tell_position(descriptor, True, place)
        _tell_contents(status, is_write, place)


def _tell_position(descriptor: int, is_write: bool, place: Place) -> None:
    label = f"descriptor {descriptor}"
    tell.whole(_variable(_positions, descriptor, label), is_write, place)


def _tell_contents(status: os.stat_result, is_write: bool, place: Place) -> None:
    tell.whole(mappings.contents_of(status.st_ino), is_write, place)


def use_state(descriptor: Any, is_write: bool, place: Place) -> None:
    """Somebody looks whether a descriptor is open, and how, or changes that.

    A call on one that is closed looks, too: it would do something else before.
    """
    if type(descriptor) is not int:
        return
    if descriptor in _closed:
        _look_for_another(descriptor)
    label = f"flags of descriptor {descriptor}"
    tell.whole(_variable(_states, descriptor, label), is_write, place)


# --- Actions -------------------------------------------------------------------------------------


def _read_on(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    tell.in_one_step(place, use_file, owner, False, place)


def _write_on(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    tell.in_one_step(place, use_file, owner, True, place)


def _send(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    source = arguments[0] if arguments else None
    tell.in_one_step(place, _tell_copied, source, owner, place)


def _copy(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    target = arguments[0] if arguments else None
    tell.in_one_step(place, _tell_copied, owner, target, place)


def _tell_copied(source: Any, target: Any, place: Place) -> None:
    use_file(source, False, place)
    use_file(target, True, place)


def _read_at(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    tell.in_one_step(place, _use_at_position, owner, False, place)


def _write_at(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    tell.in_one_step(place, _use_at_position, owner, True, place)


def _use_at_position(descriptor: Any, is_write: bool, place: Place) -> None:
    use_state(descriptor, False, place)
    status = _status_of_plain_file(descriptor)
    if status is not None:
        _tell_contents(status, is_write, place)


def _seek(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    tell.in_one_step(place, use_position, owner, place)


def _look(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    tell.in_one_step(place, _tell_look, owner, place)


def _tell_look(owner: Any, place: Place) -> None:
    number = _number_of(owner)
    if number is not None:
        use_state(number, False, place)
        status = _status_of_plain_file(number)
        if status is not None:
            _tell_contents(status, False, place)


def _change(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    number = _number_of(owner)
    if number is not None:
        use_state(number, True, place)


def _close(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    tell.in_one_step(place, _tell_close, owner, place)


def _tell_close(owner: Any, place: Place) -> None:
    if type(owner) is int:
        use_state(owner, True, place)
        if _status_of_plain_file(owner) is not None:
            _tell_position(owner, True, place)


def _exchange(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    tell.in_one_step(place, _tell_exchange, owner, arguments, place)


def _tell_exchange(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    """``dup2`` closes its second argument."""
    use_state(owner, False, place)
    if arguments:
        _tell_close(arguments[0], place)


def _commands(names: str) -> frozenset[int]:
    """The commands of ``fcntl`` that there are here."""
    return frozenset(getattr(fcntl, name) for name in names.split() if hasattr(fcntl, name))


_ASKING = _commands("F_GETFD F_GETFL F_GETPIPE_SZ F_GETOWN")
_CHANGING = _commands("F_SETFD F_SETFL F_SETPIPE_SZ F_SETOWN")


def _control(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    """``fcntl``; locks are controlled elsewhere."""
    number = _number_of(owner)
    if number is not None and arguments:
        if arguments[0] in _ASKING:
            use_state(number, False, place)
        elif arguments[0] in _CHANGING:
            use_state(number, True, place)


def _number_of(owner: Any) -> int | None:
    """The descriptor that is meant by a number or a socket."""
    if type(owner) is int:
        return owner
    if issubclass(type(owner), socket.socket.__base__):  # type: ignore[arg-type]
        number = _number_of_socket(owner)
        if number < 0:
            return None
        open_for(number, partial(_is_closed, ref(owner), number, _identity(number)))
        return number
    return None


def _is_closed(known: ref[socket.socket], number: int, identity: int | None) -> bool:
    found = known()
    if found is not None and _number_of_socket(found) >= 0:
        return False
    # After ``detach`` the descriptor is still open.
    return _identity(number) != identity


def _identity(number: int) -> int | None:
    try:
        return _fstat(number).st_ino
    except OSError:
        return None


ACTIONS: dict[str, Callable[[Any, tuple[Any, ...], Place], None]] = {
    effects.READ_DESCRIPTOR: _read_on,
    effects.WRITE_DESCRIPTOR: _write_on,
    effects.SEND_FILE: _send,
    effects.COPY_FILE: _copy,
    effects.READ_AT_POSITION: _read_at,
    effects.WRITE_AT_POSITION: _write_at,
    effects.SEEK_DESCRIPTOR: _seek,
    effects.LOOK_AT_DESCRIPTOR: _look,
    effects.CHANGE_DESCRIPTOR: _change,
    effects.CLOSE_DESCRIPTOR: _close,
    effects.EXCHANGE_DESCRIPTOR: _exchange,
    effects.CONTROL_DESCRIPTOR: _control,
}
