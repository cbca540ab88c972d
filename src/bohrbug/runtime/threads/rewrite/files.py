"""What calls into the file system access: a file or folder is a variable, whoever opens it.

It is known by its path, and by those that links in it lead to.  A file that is open is taken to be
still where it was opened.  What happens to a folder is no access to the files in it, nor the other
way round: two tasks that use files of their own in one folder have nothing to do with each other.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from io import (
    BufferedRandom,
    BufferedReader,
    BufferedWriter,
    BytesIO,
    FileIO,
    StringIO,
    TextIOWrapper,
)
from pathlib import PurePath
from typing import Any
from weakref import ref

from bohrbug.runtime.threads.leftovers import forgotten_afterwards
from bohrbug.runtime.threads.rewrite import (
    descriptors,
    effects,
    library_table,
    links,
    mappings,
    tell,
    unknown,
)
from bohrbug.runtime.threads.rewrite.attributes import STREAM
from bohrbug.runtime.threads.rewrite.classes import InC
from bohrbug.runtime.threads.rewrite.named import Named
from bohrbug.runtime.threads.rewrite.place import Place

# The functions of ``os.path`` may themselves be rewritten; a test may replace the others.
_separator = os.sep
_current_folder = os.getcwd
_fspath = os.fspath
_lstat = os.lstat
_readlink = os.readlink
_normalise: Callable[[str], str] = getattr(os.path, "_path_normpath", os.path.normpath)
_encoding = sys.getfilesystemencoding()
_WRITING_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_BUFFERED = (BufferedReader, BufferedWriter, BufferedRandom)
_IN_MEMORY = (BytesIO, StringIO)
_ASKED = ("buffer", "raw", "name", "closed", "closefd", "fileno", "writable")
"""What is asked of streams here, which must not call functions in Python."""


_STREAM_TYPES = InC((*_BUFFERED, *_IN_MEMORY, TextIOWrapper, FileIO), *_ASKED)


_CURRENT_FOLDER = Named("the current folder")
_files: dict[str, Named] = {}
_folders: dict[str, Named] = {}
"""Their attributes are the names in them."""
forgotten_afterwards(_files, _folders)


def _path_of(thing: Any, place: Place) -> str | None:
    """The absolute path that a function is given, unless it is given something else."""
    if issubclass(type(thing), PurePath) or type(thing) is os.DirEntry:
        thing = _fspath(thing)
    if type(thing) is bytes:
        thing = thing.decode(_encoding, "surrogateescape")
    if type(thing) is not str:
        return None
    if not thing.startswith(_separator):
        tell.whole(_CURRENT_FOLDER, False, place)
        try:
            thing = f"{_current_folder()}{_separator}{thing}"
        except OSError:
            return None
    return _normalise(thing)


def _access(thing: Any, is_write: bool, place: Place) -> None:
    path = _path_of(thing, place)
    if path is not None:
        _tell_file(path, is_write, place)


def _tell_file(path: str, is_write: bool, place: Place) -> None:
    """A file is accessed by a path, and so by those that links lead to."""
    others = list(links.other_paths(path))
    number = links.shared_number(path)
    if others or number is not None:
        tell.in_one_step(place, _tell_file_with_links, (path, *others), number, is_write, place)
    else:
        tell.whole(_file(path), is_write, place)


def _tell_file_with_links(
    paths: tuple[str, ...], number: int | None, is_write: bool, place: Place
) -> None:
    for path in paths:
        tell.whole(_file(path), is_write, place)
    if number is not None:
        tell.whole(mappings.contents_of(number), is_write, place)


def _file(path: str) -> Named:
    found = _files.get(path)
    if found is None:
        found = _files[path] = Named(f"file {path.rpartition(_separator)[2]}")
    return found


def _names_in(folder: str) -> Named:
    found = _folders.get(folder)
    if found is None:
        label = f"names in folder {folder.rpartition(_separator)[2]}"
        found = _folders[folder] = Named(label)
    return found


def _access_by_name(thing: Any, place: Place) -> None:
    """A file is made, or removed, and with it its name in its folder."""
    path = _path_of(thing, place)
    for each in _by_name(path):
        _tell_name(each, place)
        tell.whole(_file(each), True, place)


def _by_name(path: str | None) -> list[str]:
    """A path, and that by which others know what has this name, if links lead to its folder."""
    return [] if path is None else [path, *links.other_paths(path, follows=False)]


def _tell_name(path: str, place: Place) -> None:
    folder, _, name = path.rpartition(_separator)
    tell.attribute(_names_in(folder), name, True, place)


def _read(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    _access(owner, False, place)


def _write(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    _access(owner, True, place)


def _name(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    tell.in_one_step(place, _access_by_name, owner, place)


def _make(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    tell.in_one_step(place, _tell_new, owner, place)


def _tell_new(thing: Any, place: Place) -> None:
    _access_by_name(thing, place)
    use_state(library_table.UMASK, False, place)


def _remove_folder(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    tell.in_one_step(place, _tell_removed_folder, owner, place)


def _tell_removed_folder(owner: Any, place: Place) -> None:
    path = _path_of(owner, place)
    for each in _by_name(path):
        tell.whole(_names_in(each), True, place)
    _access_by_name(owner, place)


def _list_folder(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    tell.in_one_step(place, _tell_list, arguments[0] if arguments else ".", place)


def _tell_list(folder: Any, place: Place) -> None:
    path = _path_behind(folder) if type(folder) is int else _path_of(folder, place)
    if path is not None:
        for each in (path, *links.other_paths(path)):
            tell.whole(_file(each), False, place)
            tell.whole(_names_in(each), False, place)


def _path_behind(descriptor: int) -> str | None:
    """The folder that a descriptor was opened for."""
    try:
        return _readlink(f"/proc/self/fd/{descriptor}")
    except OSError:
        return None


def _open(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    how = arguments[0] if arguments else "r"
    if type(how) is int:
        is_write, may_make = bool(how & _WRITING_FLAGS), bool(how & os.O_CREAT)
    elif type(how) is str:
        is_write = not {"w", "a", "x", "+"}.isdisjoint(how)
        may_make = not {"w", "a", "x"}.isdisjoint(how)
    else:
        return
    if may_make:
        tell.in_one_step(place, _tell_made, owner, place)
    else:
        _access(owner, is_write, place)


def _tell_made(thing: Any, place: Place) -> None:
    path = _path_of(thing, place)
    if path is not None:
        if not _is_there(path):
            for each in _by_name(path):
                _tell_name(each, place)
            use_state(library_table.UMASK, False, place)
        _tell_file(path, True, place)


def _is_there(path: str) -> bool:
    try:
        _lstat(path)
    except (OSError, ValueError):
        return False
    return True


def _rename(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    tell.in_one_step(place, _tell_renamed, owner, arguments, place)


def _tell_renamed(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    _access_by_name(owner, place)
    if arguments:
        _access_by_name(arguments[0], place)


def _link(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    tell.in_one_step(place, _tell_linked, owner, arguments, place)


def _tell_linked(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    _access(owner, False, place)
    if arguments:
        _access_by_name(arguments[0], place)


def in_folder(folder: Any, thing: Any) -> Any:
    """The path that a function is given together with the descriptor of a folder.

    Parameters:
        folder: the descriptor; ``None``: it was given none.
        thing: the path, which may be absolute.
    """
    if issubclass(type(thing), PurePath):
        thing = _fspath(thing)
    if type(thing) is bytes:
        thing = thing.decode(_encoding, "surrogateescape")
    if type(folder) is not int or type(thing) is not str or thing.startswith(_separator):
        return thing
    above = _path_behind(folder)
    return None if above is None else f"{above}{_separator}{thing}"


def _look_where(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    tell.whole(_CURRENT_FOLDER, False, place)


def _go_elsewhere(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    _access(owner, False, place)
    tell.whole(_CURRENT_FOLDER, True, place)


def _read_stream(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    tell.in_one_step(place, _tell_stream, owner, False, place)


def _write_stream(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    tell.in_one_step(place, _tell_stream, owner, True, place)


def _tell_stream(owner: Any, is_write: bool, place: Place) -> None:
    _use_stream(owner, is_write, place)
    _access(_name_of(owner), is_write, place)


def _move_in_stream(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    tell.in_one_step(place, _use_stream, owner, None, place)


def _look_in_stream(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    if owner is not _innermost(owner):
        # CPython looks without the lock of the buffer, in the middle of what others read.
        unknown.do_in_pieces(place, f"{unknown.name_of_class(type(owner))}.tell")
    _move_in_stream(owner, arguments, place)


def _close_stream(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    tell.in_one_step(place, _tell_closed_stream, owner, place)


def _tell_closed_stream(owner: Any, place: Place) -> None:
    _use_stream(owner, None, place)
    inner = _innermost(owner)
    if _STREAM_TYPES[type(inner)] is FileIO and not inner.closed:
        descriptors.use_state(_number_of(inner), True, place)


def look_at_stream(owner: Any, place: Place) -> None:
    """A stream is asked whether it is closed, or how it is set up."""
    tell.in_one_step(place, _tell_look_at_stream, owner, place)


def _look_at_stream(owner: Any, arguments: tuple[Any, ...], place: Place) -> None:
    look_at_stream(owner, place)


def _tell_look_at_stream(owner: Any, place: Place) -> None:
    inner = _innermost(owner)
    if _is_apart_from_files(inner):
        tell.whole(inner, False, place)
    else:
        tell.whole(owner, False, place)
        # What it works on may have been closed by itself.
        if _STREAM_TYPES[type(inner)] is FileIO and not inner.closed:
            descriptors.use_state(_number_of(inner), False, place)


def _number_of(stream: Any) -> int:
    """The descriptor of a stream, which is closed together with it."""
    number: int = stream.fileno()
    if _STREAM_TYPES[type(stream)] is FileIO and stream.closefd:
        descriptors.open_for(number, partial(_is_closed, ref(stream)))
    return number


def _is_closed(stream: ref[FileIO]) -> bool:
    known = stream()
    return known is None or known.closed


def _use_stream(owner: Any, is_write: bool | None, place: Place) -> None:
    """Where the stream is in its file, and whether it is open, is one variable."""
    inner = _innermost(owner)
    if _is_apart_from_files(inner):
        # What it leads to, such as a socket, is controlled; the buffers over it are one variable.
        tell.whole(inner, True, place)
    elif _name_of(owner) is not None:
        tell.whole(owner, True, place)
        # So is where the descriptor is in its file, which others may use by its number.
        if not inner.closed:
            number = _number_of(inner)
            # Whatever is done to it may write out what waits in its buffer.
            may_write_out = owner is not inner and inner.writable()
            if is_write is None and not may_write_out:
                descriptors.use_position(number, place)
            else:
                descriptors.use_file(number, bool(is_write) or may_write_out, place)


def _is_apart_from_files(stream: Any) -> bool:
    """Whether a stream is over something else than a file.

    Over memory, a socket, or what unpacks a file.
    """
    class_ = _STREAM_TYPES[type(stream)]
    return class_ is not FileIO and issubclass(class_, STREAM)


_states: dict[str, Named] = {}
forgotten_afterwards(_states)


def use_state(state: str, is_write: bool, place: Place) -> None:
    """A part of the state of the process is read or changed.

    Parameters:
        state: which, for people.
        is_write: whether it is changed.
        place: where.
    """
    found = _states.get(state)
    if found is None:
        found = _states[state] = Named(state)
    tell.whole(found, is_write, place)


def _innermost(stream: Any) -> Any:
    """What a stream works on at last."""
    try:
        if _STREAM_TYPES[type(stream)] is TextIOWrapper:
            stream = stream.buffer
        if _STREAM_TYPES[type(stream)] in _BUFFERED:
            stream = stream.raw
    except ValueError:  # closed, or without a buffer by now
        return None
    return stream


def _name_of(stream: Any) -> Any:
    """The path that a stream was opened with; ``None`` for others than plain files."""
    stream = _innermost(stream)
    name = stream.name if _STREAM_TYPES[type(stream)] is FileIO else None
    return None if type(name) is str and name.startswith("<") else name


ACTIONS: dict[str, Callable[[Any, tuple[Any, ...], Place], None]] = {
    effects.READ_FILE: _read,
    effects.WRITE_FILE: _write,
    effects.NAME_FILE: _name,
    effects.MAKE_FILE: _make,
    effects.REMOVE_FOLDER: _remove_folder,
    effects.LIST_FOLDER: _list_folder,
    effects.OPEN_FILE: _open,
    effects.RENAME_FILE: _rename,
    effects.LINK_FILE: _link,
    effects.READ_CURRENT_FOLDER: _look_where,
    effects.WRITE_CURRENT_FOLDER: _go_elsewhere,
    effects.READ_STREAM: _read_stream,
    effects.WRITE_STREAM: _write_stream,
    effects.USE_STREAM: _move_in_stream,
    effects.LOOK_IN_STREAM: _look_in_stream,
    effects.CLOSE_STREAM: _close_stream,
    effects.LOOK_AT_STREAM: _look_at_stream,
    **descriptors.ACTIONS,
}
