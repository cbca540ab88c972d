"""What is at the other end of a file descriptor: its identity, and how far away it is.

* *local*: a pipe or socket pair with both ends in this process; only a task can
  make it ready, at once, so that waiting for it in vain is a deadlock;
* *near*: a connection within this process through the network; the kernel may
  need a moment;
* *far*: anything else; it needs real time.
"""

from __future__ import annotations

import _socket
import fcntl
import os
import socket
import stat
from collections.abc import Collection, Iterable
from enum import Enum
from typing import Any

from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.resources import ResourceState

RawSocket = _socket.socket

_real_readlink = os.readlink
_real_fstat = os.fstat
_real_fcntl = fcntl.fcntl
_real_listdir = os.listdir

_DESCRIPTORS = next((d for d in ("/proc/self/fd", "/dev/fd") if os.path.isdir(d)), None)


class Reach(Enum):
    """Where the other end of a file descriptor is, see the module's text."""

    LOCAL = "local"
    NEAR = "near"
    FAR = "far"


class Channels:
    """The channels of one execution: a channel is what both ends of a connection share."""

    def __init__(self, serial: int) -> None:
        self.serial = serial
        self.states: dict[Any, ResourceState] = {}
        # Inode of each socket of a pair -> what names the pair.
        self.pairs: dict[int, tuple[int, int]] = {}
        # Inode of each socket whose names do not change any more -> what it is a part of.
        self.settled: dict[int, tuple[Any, str]] = {}
        # Port numbers on which this process listens.
        self.ports: set[Any] = set()
        # Those of them that the kernel has chosen.
        self.chosen_by_kernel: set[int] = set()
        # Port numbers to which tasks have connected.
        self.reached: set[int] = set()
        # Ids of channels that are known not to come from outside.
        self.inside: set[str] = set()

    def forget(self, used: Collection[str]) -> None:
        """Let go of connections; one that is still there is a new channel when it is used next.

        Parameters:
            used: the ids of channels that are told of, or waited for.
        """
        self.states = {
            key: state
            for key, state in self.states.items()
            if state.type != "connection" or state.id in used
        }
        self.inside.intersection_update({state.id for state in self.states.values()})


_channels = Channels(-1)


def channels_of(execution: Execution) -> Channels:
    """The channels of an execution; fresh for each one."""
    global _channels
    serial = execution.resources.serial
    if _channels.serial != serial:
        _channels = Channels(serial)
    return _channels


def note_pair(execution: Execution, first: int, second: int) -> None:
    """Two descriptors are the ends of a pair of sockets, which has just been made."""
    channels = channels_of(execution)
    inodes = (_real_fstat(first).st_ino, _real_fstat(second).st_ino)
    channels.pairs[inodes[0]] = channels.pairs[inodes[1]] = inodes
    channels.states.pop(inodes, None)


def names_of(descriptor: int) -> tuple[int, Any, Any]:
    """Family, own address and peer's address of a socket; ``None`` where there is none."""
    try:
        probe = RawSocket(fileno=descriptor)
    except OSError:
        return 0, None, None
    try:
        own = peer = None
        try:
            own = probe.getsockname()
            peer = probe.getpeername()
        except OSError:
            # Not bound, or not connected.
            pass
        return probe.family, own, peer
    finally:
        probe.detach()


def is_counter(descriptor: int, mode: int) -> bool:
    """Whether a descriptor is an ``eventfd``: a number to which one task adds, and another waits.

    Parameters:
        mode: as ``fstat`` gives it.
    """
    if stat.S_IFMT(mode) or _DESCRIPTORS is None:
        return False
    return _real_readlink(f"{_DESCRIPTORS}/{descriptor}") == "anon_inode:[eventfd]"


def _key_of(channels: Channels, descriptor: int) -> tuple[Any, str]:
    """What both ends of a connection agree on, and its type."""
    status = _real_fstat(descriptor)
    if stat.S_ISFIFO(status.st_mode):
        return ("pipe", status.st_ino), "pipe"
    if stat.S_ISSOCK(status.st_mode):
        pair = channels.pairs.get(status.st_ino)
        if pair is not None:
            return pair, "socket pair"
        return channels.settled.get(status.st_ino) or _part_of(channels, descriptor, status.st_ino)
    kind = "eventfd" if is_counter(descriptor, status.st_mode) else "file descriptor"
    return ("file", descriptor, status.st_ino), kind


def _part_of(channels: Channels, descriptor: int, inode: int) -> tuple[Any, str]:
    """The same of a socket that was not made as one of a pair."""
    family, own, peer = names_of(descriptor)
    found: tuple[Any, str] = ("socket", inode), "socket"
    if family == getattr(socket, "AF_UNIX", -1):
        found = ("unix", own or peer or inode), "socket"
    elif own and own[1] and type_of(descriptor) == socket.SOCK_DGRAM:
        # Whoever may send to it.
        found = _datagrams_to(own), "socket"
    elif peer:
        found = frozenset((own[:2], peer[:2])), "connection"
    elif own and own[1]:
        found = ("port", own[1]), "socket"
    if own is not None and _is_settled(descriptor, is_connected=bool(peer)):
        channels.settled[inode] = found
    return found


def _datagrams_to(address: Any) -> tuple[str, Any]:
    """What datagrams to an address share: there is one queue of them, whoever sends."""
    return ("datagrams", address[1]) if isinstance(address, tuple) else ("unix", address)


def receiver_of(execution: Execution, address: Any, place: Any) -> ResourceState:
    """The resource to which datagrams are added that are sent to an address."""
    return _state(execution, _datagrams_to(address), "socket", place)


def name_of_listener(execution: Execution, address: Any, place: Any) -> ResourceState:
    """The resource of the socket that listens at an address, if there is one."""
    is_port = isinstance(address, tuple)
    key = ("port", address[1]) if is_port else ("unix", address)
    return _state(execution, key, "socket", place)


def type_of(descriptor: int) -> int:
    """The type of a socket, such as ``SOCK_DGRAM``."""
    probe = RawSocket(fileno=descriptor)
    try:
        return int(probe.type)
    finally:
        probe.detach()


def _is_settled(descriptor: int, is_connected: bool) -> bool:
    """Whether the names of a socket stay as they are: it is connected for good, or listens."""
    probe = RawSocket(fileno=descriptor)
    try:
        return probe.type == socket.SOCK_STREAM and (
            is_connected or bool(probe.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))
        )
    finally:
        probe.detach()


def channel_of(execution: Execution, descriptor: int, place: Any) -> ResourceState:
    """The resource that operations on a file descriptor act on."""
    channels = channels_of(execution)
    try:
        key, kind = _key_of(channels, descriptor)
    except OSError:
        key, kind = ("closed",), "closed file descriptor"
    return _state(execution, key, kind, place)


def channel_of_pipe(execution: Execution, inode: int, place: Any) -> ResourceState:
    """The same of a pipe that may not be open yet."""
    return _state(execution, ("pipe", inode), "pipe", place)


def _state(execution: Execution, key: Any, kind: str, place: Any) -> ResourceState:
    states = channels_of(execution).states
    state = states.get(key)
    if state is None:
        state = states[key] = execution.resources.new(execution.current, kind, place)
    return state


def own_descriptors() -> Iterable[int]:
    """The open file descriptors of this process, where the system tells them."""
    if _DESCRIPTORS is None:
        return ()
    return [int(name) for name in _real_listdir(_DESCRIPTORS)]


def _has_other_pipe_end(descriptor: int, inode: int) -> bool:
    """Whether this process has open the end of a pipe opposite to ``descriptor``."""
    own_mode = _real_fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE
    if own_mode == os.O_RDWR:
        return True
    for other in own_descriptors():
        try:
            if _real_fstat(other).st_ino != inode:
                continue
            if _real_fcntl(other, fcntl.F_GETFL) & os.O_ACCMODE != own_mode:
                return True
        except OSError:
            # Gone since it was listed.
            continue
    return False


def reach_of(execution: Execution, descriptor: int) -> Reach:
    """Where the other end of a file descriptor is."""
    outside = execution.outside
    channels = channels_of(execution)
    try:
        status = _real_fstat(descriptor)
    except OSError:
        return Reach.NEAR
    if stat.S_ISFIFO(status.st_mode):
        inside = not outside.shares_files and _has_other_pipe_end(descriptor, status.st_ino)
        return Reach.LOCAL if inside else Reach.FAR
    if not stat.S_ISSOCK(status.st_mode):
        is_shared = outside.shares_files or not is_counter(descriptor, status.st_mode)
        return Reach.FAR if is_shared else Reach.LOCAL
    pair = channels.pairs.get(status.st_ino)
    if pair is not None:
        if outside.shares_files:
            return Reach.FAR
        other = pair[0] if pair[1] == status.st_ino else pair[1]
        for own in own_descriptors():
            try:
                if _real_fstat(own).st_ino == other:
                    return Reach.LOCAL
            except OSError:
                # Gone since it was listed.
                continue
        return Reach.FAR
    if outside.has_children:
        return Reach.FAR
    family, own_name, peer = names_of(descriptor)
    if not peer:
        # It listens, or receives datagrams from anywhere: most likely from a task.
        return Reach.NEAR
    if family == getattr(socket, "AF_UNIX", -1):
        return Reach.NEAR if {own_name, peer} & channels.ports else Reach.FAR
    return Reach.NEAR if {own_name[1], peer[1]} & channels.ports else Reach.FAR


def note_arrival(execution: Execution, descriptor: int, state: ResourceState) -> None:
    """Something can be read from a channel: if it comes from outside, somebody has answered."""
    outside = execution.outside
    if outside.has_answered:
        return
    inside = channels_of(execution).inside
    if state.id not in inside:
        if reach_of(execution, descriptor) is Reach.FAR:
            outside.has_answered = True
        else:
            inside.add(state.id)


def furthest(execution: Execution, descriptors: Iterable[int]) -> Reach:
    """Where the other ends of several file descriptors are.

    Local only if all are: near or far ones can become ready without a task.  Far
    only if all that are not local are: what one process offers to itself and to
    others is used by itself as a rule.
    """
    found = {reach_of(execution, descriptor) for descriptor in descriptors}
    if Reach.NEAR in found:
        return Reach.NEAR
    return Reach.FAR if Reach.FAR in found else Reach.LOCAL
