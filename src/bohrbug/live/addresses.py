"""Where a service can be reached by who attaches to it: a socket in a private directory."""

from __future__ import annotations

import os
import socket
import stat
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path

_LONGEST_PATH = 107
"""Bytes of the path of a socket, at most, on Linux."""

_CREDENTIALS = struct.Struct("3i")
"""``struct ucred``: process, user, group."""


class AttachError(RuntimeError):
    """A service can't be made ready to be attached to, or can't be attached to; and why."""


def _folder_names(user: int) -> Iterator[Path]:
    """The directories in which the sockets of a user's services may be, the best one first."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime and user == os.geteuid():
        yield Path(runtime, "bohrbug")
    yield Path("/run/user", str(user), "bohrbug")
    yield Path(tempfile.gettempdir(), f"bohrbug-{user}")


def make_address(process: int) -> Path:
    """Where this process is to listen; its directory is there, and nothing else is.

    Parameters:
        process: the number of this process.

    Raises:
        AttachError: there is no private directory to be had.
    """
    why = ""
    for folder in _folder_names(os.geteuid()):
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            check_private(folder, os.geteuid())
        except (OSError, AttachError) as error:
            why = str(error)
            continue
        path = folder / f"{process}.sock"
        if len(os.fsencode(path)) > _LONGEST_PATH:
            why = f"{path} is too long for the path of a socket"
            continue
        _tidy_up(folder, process)
        return path
    raise AttachError(f"there is no directory for a socket: {why}")


def _tidy_up(folder: Path, process: int) -> None:
    """Remove what processes have left that were killed, an earlier one with this number as well."""
    for path in folder.glob("*.sock"):
        number = path.stem
        if number == str(process) or not Path("/proc", number).exists():
            path.unlink(missing_ok=True)


def find_address(process: int, user: int) -> Path | None:
    """Where a process listens, if it does.

    Parameters:
        process: its number.
        user: whose it is.

    Raises:
        AttachError: somebody else could have put the socket there.
    """
    for folder in _folder_names(user):
        path = folder / f"{process}.sock"
        try:
            is_socket = stat.S_ISSOCK(path.lstat().st_mode)
        except OSError:
            continue
        if is_socket:
            check_private(folder, user)
            return path
    return None


def check_private(folder: Path, user: int) -> None:
    """Make sure that only a user can put something into a directory.

    Raises:
        AttachError: others could.
    """
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise AttachError(f"{folder} is no directory")
    if found.st_uid != user:
        raise AttachError(f"{folder} belongs to user {found.st_uid}, not to user {user}")
    if found.st_mode & 0o077:
        raise AttachError(f"{folder} is open to other users: chmod 700 {folder}")


def peer_of(connection: socket.socket) -> tuple[int, int]:
    """The process at the other end of a connection, and its user."""
    size = _CREDENTIALS.size
    data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    process, user, _ = _CREDENTIALS.unpack(data)
    return process, user
