"""``queue``: each call on a queue is one operation."""

from __future__ import annotations

import _queue
import queue
import types
from collections.abc import Callable
from sys import _getframe
from typing import Any

from bohrbug.accelerator import native, never
from bohrbug.model.operation import GET, INSPECT, PUT, TaskId, kind_named
from bohrbug.model.trace import Gate
from bohrbug.runtime.interposed import CONTROL, wrapped_alike
from bohrbug.runtime.threads import queue_items
from bohrbug.runtime.threads.control import (
    controlled,
    current,
    is_unseen,
    unseen,
)
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.interpreter import QUEUES_SHUT_DOWN
from bohrbug.runtime.threads.locks import _Lock, lock
from bohrbug.runtime.threads.outside import note_help
from bohrbug.runtime.threads.patches import Patches
from bohrbug.runtime.threads.recording import effect, note_gate, touch
from bohrbug.runtime.threads.resources import ResourceState, ResourceTable, parts
from bohrbug.runtime.threads.synchronizers import _Condition, _registering, place_of

patches = Patches()

_Queue = queue.Queue
_queue_put = _Queue.put
_queue_get = _Queue.get
_initialise_queue = _Queue.__init__


def _initialise(self: Any, *args: Any, **kwargs: Any) -> None:
    _initialise_queue(self, *args, **kwargs)
    know_parts(self)


_PARTS = ("mutex", "not_empty", "not_full", "all_tasks_done")


def know_parts(queue: Any) -> None:
    """What a program does with parts of a queue (``with queue.mutex:``) is done to the queue."""
    attributes = vars(queue)
    parts.know(queue, [attributes[name] for name in _PARTS if name in attributes])
    mutex = attributes.get("mutex")
    if isinstance(mutex, _Lock):
        # That of a queue that is older than we are is not known to be one of the library.
        mutex._internal = True


_registering(_Queue, "Queue", initialise=_initialise)


def _mutex_is_free(self: Any) -> bool:
    mutex = self.mutex
    return not (isinstance(mutex, _Lock) and mutex._real.locked())


def holders_of_mutex(execution: Execution, state: ResourceState) -> tuple[TaskId, ...]:
    """Which task keeps others from a queue, as it holds the queue's mutex.

    By a ``with queue.mutex`` of its own, or because code of the program runs within its ``put`` or
    ``get``, say a method that a subclass overrides.
    """
    mutex = getattr(execution.resources.object_of(state), "mutex", None)
    owner = mutex._owner if isinstance(mutex, _Lock) else None
    return () if owner is None else (owner.id,)


_PLAIN_CLASSES = frozenset({queue.Queue, queue.LifoQueue})
"""None of their methods calls code of the program; ``PriorityQueue`` compares its items."""
_OWN_CLASSES = _PLAIN_CLASSES | {queue.PriorityQueue}
"""How many items are in them says no code of the program."""


def _size_of(execution: Execution, queue: Any) -> int:
    """How many items are in a queue; in a subclass that may be told by code of the program."""
    if type(queue) in _OWN_CLASSES:
        return int(queue._qsize())
    return int(unseen(execution, queue._qsize))


def _calling_program(
    execution: Execution, queue: Any, method: Any, *args: Any, **kwargs: Any
) -> Any:
    """Call a method of a queue that calls code of the program, with the mutex taken.

    That code is left in the middle like any other, and comes before what follows on the queue.
    """
    steps = len(execution.rows)
    try:
        return method(queue, *args, **kwargs)
    finally:
        state = execution.resources.of(queue, type(queue).__name__)
        if len(execution.rows) > steps:
            # The mutex was free before the last step, and is again behind it.
            effect(execution, state, True)
        elif execution.detector is not None:
            execution.detector.synchronise(execution.current.index, state, True)


def _note_gate(execution: Execution, queue: Any, waits: bool) -> None:
    """What would block on the queue now."""
    size = _size_of(execution, queue)
    shut_down = getattr(queue, "is_shutdown", False)
    has_room = queue.maxsize <= 0 or size < queue.maxsize
    note_gate(execution, size > 0 or shut_down, has_room or shut_down, waits)


def _always() -> bool:
    return True


def _second(first: Any, second: Any) -> Any:
    return second


def _mutex_of(self: Any) -> Callable[[], bool]:
    """Whether the queue's mutex is free; asked at every step while a task waits."""
    mutex = self.mutex
    return mutex._is_free if isinstance(mutex, _Lock) else _always


def _taken_mutex(self: Any, condition: Any) -> Any:
    """The real lock of the mutex of a plain queue, taken, if nobody waits for ``condition``.

    Then there is nobody to notify, and what the original does beside moving the item can't be
    seen. Else ``None``, and the original has to do it all.
    """
    mutex = self.mutex
    if (
        type(mutex) is lock
        and type(condition) is _Condition
        and not condition._waiters  # type: ignore[attr-defined]
        and not getattr(self, "is_shutdown", False)
        and mutex._real.acquire(False)
    ):
        return mutex._real
    return None


def _move_in(self: Any, item: Any, block: bool = False, timeout: float | None = None) -> None:
    """Put an item, once the operation was performed."""
    execution = current.execution
    assert execution is not None
    if type(self) not in _PLAIN_CLASSES:
        _calling_program(execution, self, _queue_put, item, block, timeout)
        return
    task = execution.current
    task.inside += 1
    try:
        real = None
        if self.maxsize <= 0 or not (block or _size_of(execution, self) >= self.maxsize):
            real = _taken_mutex(self, self.not_empty)
        if real is None:
            _queue_put(self, item, block, timeout)
            return
        try:
            self._put(item)
            self.unfinished_tasks += 1
        finally:
            real.release()
    finally:
        task.inside -= 1


def _move_out(self: Any, block: bool = False, timeout: float | None = None) -> Any:
    """Get an item, once the operation was performed."""
    execution = current.execution
    assert execution is not None
    if type(self) not in _PLAIN_CLASSES:
        return _calling_program(execution, self, _queue_get, block, timeout)
    task = execution.current
    task.inside += 1
    try:
        real = None
        if not block and _size_of(execution, self) > 0:
            real = _taken_mutex(self, self.not_full)
        if real is None:
            return _queue_get(self, block, timeout)
        try:
            return self._get()
        finally:
            real.release()
    finally:
        task.inside -= 1


# Functions of their own: one with a variable that a nested function shares takes longer to call.


def _can_put(execution: Execution, queue: Any) -> Callable[[], bool]:
    mutex_is_free = _mutex_of(queue)

    def ready() -> bool:
        has_room = _size_of(execution, queue) < queue.maxsize
        return (has_room or getattr(queue, "is_shutdown", False)) and mutex_is_free()

    return ready


def _can_get(execution: Execution, queue: Any) -> Callable[[], bool]:
    mutex_is_free = _mutex_of(queue)

    def ready() -> bool:
        has_item = _size_of(execution, queue) > 0
        return (has_item or getattr(queue, "is_shutdown", False)) and mutex_is_free()

    return ready


_NO_ITEM: Any = object()
"""What ``_get_in_c`` returns when it has done nothing."""

_put_in_c, _get_in_c = (
    (never, _second)
    if native is None
    else native.use_queues(
        _Queue,
        _Condition,
        lock,
        ResourceTable,
        Gate,
        PUT,
        GET,
        QUEUES_SHUT_DOWN,
        _move_in,
        _move_out,
    )
)


def _waits_otherwise(condition: Any) -> bool:
    """Whether the program has replaced how one waits for a queue, as tests do to see it happen."""
    return type(condition) is not _Condition or "wait" in vars(condition)


@patches.method(_Queue, "put")
def _put(self: Any, item: Any, block: bool = True, timeout: float | None = None) -> None:
    if timeout is None and block is True and _put_in_c(self, item):
        return
    execution = controlled()
    if execution is None or (block and self.maxsize > 0 and _waits_otherwise(self.not_full)):
        _queue_put(self, item, block, timeout)
        return
    frame = _getframe(1)
    if frame.f_code is _put_nowait_code:
        frame = frame.f_back or frame
    task = execution.current
    state = execution.resources.of(self, type(self).__name__)
    place = place_of(frame)
    if self.maxsize <= 0 or not block or (timeout is not None and timeout < 0):
        if not task.inside:
            execution.perform(PUT, state, place, _mutex_of(self))
            _note_gate(execution, self, False)
            if self.maxsize > 0 and _size_of(execution, self) >= self.maxsize:
                execution.observe(state, place)
    else:
        if execution.perform(PUT, state, place, _can_put(execution, self), timeout):
            timeout = None
        _note_gate(execution, self, True)
        block = False
    _move_in(self, item, block, timeout)


@patches.method(_Queue, "get")
def _get(self: Any, block: bool = True, timeout: float | None = None) -> Any:
    if timeout is None and block is True:
        item = _get_in_c(self, _NO_ITEM)
        if item is not _NO_ITEM:
            return item
    execution = controlled()
    if execution is None or (block and _waits_otherwise(self.not_empty)):
        return _queue_get(self, block, timeout)
    frame = _getframe(1)
    if frame.f_code is _get_nowait_code:
        frame = frame.f_back or frame
    task = execution.current
    state = execution.resources.of(self, type(self).__name__)
    place = place_of(frame)
    if not block or (timeout is not None and timeout < 0):
        if not task.inside:
            execution.perform(GET, state, place, _mutex_of(self))
            _note_gate(execution, self, False)
            if not _size_of(execution, self):
                execution.observe(state, place)
    else:
        execution.perform(GET, state, place, _can_get(execution, self), timeout)
        _note_gate(execution, self, True)
        block = False
    return _move_out(self, block, timeout)


_put_nowait_code = _Queue.put_nowait.__code__
_get_nowait_code = _Queue.get_nowait.__code__


def _wrap_queue(name: str, kind: Any, ready: Callable[[Any], bool]) -> None:
    original = getattr(_Queue, name)

    @patches.method(_Queue, name)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        execution = controlled()
        if execution is None:
            return original(self, *args, **kwargs)
        task = execution.current
        if not task.inside:
            frame = _getframe(1)
            state = execution.resources.of(self, type(self).__name__)
            place = place_of(frame)
            execution.perform(kind, state, place, lambda: ready(self))
            _note_gate(execution, self, False)
            if kind is INSPECT:
                queue_items.tell_of(execution, self, False)
                execution.observe(state, place)
        if type(self) not in _PLAIN_CLASSES:
            return _calling_program(execution, self, original, *args, **kwargs)
        task.inside += 1
        try:
            return original(self, *args, **kwargs)
        finally:
            task.inside -= 1


def _all_are_done(self: Any) -> bool:
    return not self.unfinished_tasks and _mutex_is_free(self)


for _name, _kind in wrapped_alike("queue:Queue", CONTROL):
    _wrap_queue(_name, kind_named(_kind), _all_are_done if _name == "join" else _mutex_is_free)

# -- SimpleQueue -----------------------------------------------------------------------

RealSimpleQueue = _queue.SimpleQueue


class SimpleQueue:
    """Stands for ``_queue.SimpleQueue`` and wraps a real one."""

    __slots__ = ("__weakref__", "_created", "_real", "_state")

    def __init__(self) -> None:
        self._real: Any = RealSimpleQueue()
        self._state: Any = None
        frame = _getframe(1)
        self._created: Any = place_of(frame)
        execution = current.execution
        if execution is not None and not is_unseen():
            self._state = execution.resources.new(execution.current, "SimpleQueue", self._created)

    def _resource(self, execution: Any) -> Any:
        state = self._state
        if state is None or state.serial != execution.resources.serial:
            state = self._state = execution.resources.outside(self, "SimpleQueue")
        return state

    def _before_put(self, execution: Any, frame: Any) -> None:
        state = self._resource(execution)
        if execution.current.inside:
            touch(execution, state)
            return
        execution.perform(PUT, state, place_of(frame))
        note_gate(execution, not self._real.empty(), True, False)

    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        """As ``SimpleQueue.put``: never blocks."""
        execution = controlled()
        if execution is not None:
            self._before_put(execution, _getframe(1))
        else:
            note_help(self._state)
        self._real.put(item, block, timeout)

    def put_nowait(self, item: Any) -> None:
        """As ``SimpleQueue.put_nowait``."""
        execution = controlled()
        if execution is not None:
            self._before_put(execution, _getframe(1))
        else:
            note_help(self._state)
        self._real.put_nowait(item)

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        """As ``SimpleQueue.get``."""
        return self._get(_getframe(1), block, timeout)

    def get_nowait(self) -> Any:
        """As ``SimpleQueue.get_nowait``."""
        return self._get(_getframe(1), False, None)

    def _get(self, frame: Any, block: bool, timeout: float | None) -> Any:
        execution = controlled()
        real = self._real
        if execution is None:
            return real.get(block, timeout)
        if block and timeout is not None and timeout < 0:
            raise ValueError("'timeout' must be a non-negative number")
        state = self._resource(execution)
        place = place_of(frame)
        if not block:
            if not execution.current.inside:
                execution.perform(GET, state, place)
                note_gate(execution, not real.empty(), True, False)
                if real.empty():
                    execution.observe(state, place)
            else:
                touch(execution, state)
        elif not (execution.current.inside and not real.empty()):
            execution.perform(GET, state, place, lambda: not real.empty(), timeout)
            note_gate(execution, not real.empty(), True, True)
        else:
            touch(execution, state)
        return real.get_nowait()

    def _inspect(self, frame: Any) -> None:
        execution = controlled()
        if execution is not None and not execution.current.inside:
            state = self._resource(execution)
            execution.perform(INSPECT, state, place_of(frame))
            execution.observe(state, place_of(frame))

    def empty(self) -> bool:
        """As ``SimpleQueue.empty``."""
        self._inspect(_getframe(1))
        return bool(self._real.empty())

    def qsize(self) -> int:
        """As ``SimpleQueue.qsize``."""
        self._inspect(_getframe(1))
        return int(self._real.qsize())

    __class_getitem__: Any = classmethod(types.GenericAlias)

    def __reduce__(self) -> Any:
        raise TypeError("cannot pickle '_queue.SimpleQueue' object")


SimpleQueue.__module__ = "_queue"


def wrap_simple_queue(real: Any) -> SimpleQueue:
    """A dual-mode queue around a real one that existed before."""
    wrapper = SimpleQueue.__new__(SimpleQueue)
    wrapper._real = real
    wrapper._state = None
    wrapper._created = None
    return wrapper


patches.add(queue, "SimpleQueue", SimpleQueue)
patches.add(_queue, "SimpleQueue", SimpleQueue)
