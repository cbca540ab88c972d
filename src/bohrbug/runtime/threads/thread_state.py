"""State that the interpreter keeps per OS thread: ``threading.local`` and running loops.

All tasks share one OS thread, so that what belongs to a thread has to be
kept by task: values of ``threading.local`` in the task itself, the running
asyncio loop by exchanging it at each switch.
"""

from __future__ import annotations

import _thread
import gc
import sys
import threading
from typing import Any

from bohrbug.accelerator import native
from bohrbug.runtime.threads.control import current, real_get_ident
from bohrbug.runtime.threads.interpreter import KEEPS_LOOP_TASKS
from bohrbug.runtime.threads.patches import Patches
from bohrbug.runtime.threads.task import Task

patches = Patches()

RealLocal = _thread._local


class Values:
    """The per-thread dictionaries of one local object, and how to make a new one."""

    __slots__ = ("arguments", "by_thread", "key")

    def __init__(self, arguments: tuple[tuple[Any, ...], dict[str, Any]]) -> None:
        self.arguments = arguments
        # Outside an execution: a real local that holds the dictionary of each OS thread.
        self.by_thread: Any = RealLocal()
        self.key = object()


def _dictionary(self: Any, values: Values) -> dict[str, Any]:
    """The attributes of ``self`` in the calling task or thread; made on first use."""
    execution = current.execution
    if execution is not None and real_get_ident() == current.thread and execution.current.index:
        store = execution.current.local_values
        found = store.get(values.key)
        if found is None:
            found = store[values.key] = {}
            _initialise(self, values)
        return found
    try:
        return values.by_thread.values  # type: ignore[no-any-return]
    except AttributeError:
        found = values.by_thread.values = {}
        _initialise(self, values)
        return found


def _initialise(self: Any, values: Values) -> None:
    cls = type(self)
    if cls.__init__ is not object.__init__:
        arguments, keywords = values.arguments
        cls.__init__(self, *arguments, **keywords)


def _find(self: Any, name: str) -> tuple[bool, Any]:
    """A class attribute, found as ``object.__getattribute__`` would find it."""
    for cls in type(self).__mro__:
        if name in vars(cls):
            return True, vars(cls)[name]
    return False, None


class local:
    """Stands for ``threading.local``: one dictionary of attributes per task."""

    __slots__ = ("__weakref__", "_bohrbug_values")

    def __new__(cls, /, *args: Any, **kwargs: Any) -> Any:
        """As ``threading.local``: the arguments go to ``__init__`` in every thread."""
        if (args or kwargs) and cls.__init__ is object.__init__:
            raise TypeError("Initialization arguments are not supported")
        self = object.__new__(cls)
        object.__setattr__(self, "_bohrbug_values", Values((args, kwargs)))
        # The first dictionary belongs to the creating thread, whose __init__ Python calls.
        values = object.__getattribute__(self, "_bohrbug_values")
        execution = current.execution
        if execution is not None and real_get_ident() == current.thread and execution.current.index:
            execution.current.local_values[values.key] = {}
        else:
            values.by_thread.values = {}
        return self

    def __getattribute__(self, name: str) -> Any:
        values = object.__getattribute__(self, "_bohrbug_values")
        attributes = _dictionary(self, values)
        if name == "__dict__":
            return attributes
        found, value = _find(self, name)
        if found:
            get = getattr(type(value), "__get__", None)
            if get is not None and hasattr(type(value), "__set__"):
                return get(value, self, type(self))
            if name not in attributes:
                return value if get is None else get(value, self, type(self))
        try:
            return attributes[name]
        except KeyError:
            raise _missing(self, name) from None

    def __setattr__(self, name: str, value: Any) -> None:
        attributes = _writable(self, name)
        found, descriptor = _find(self, name)
        if found and hasattr(type(descriptor), "__set__"):
            type(descriptor).__set__(descriptor, self, value)
            return
        attributes[name] = value

    def __delattr__(self, name: str) -> None:
        attributes = _writable(self, name)
        found, descriptor = _find(self, name)
        if found and hasattr(type(descriptor), "__delete__"):
            type(descriptor).__delete__(descriptor, self)
            return
        try:
            del attributes[name]
        except KeyError:
            raise _missing(self, name) from None


def _writable(self: Any, name: str) -> dict[str, Any]:
    """The attributes of the running task, of which ``name`` is to be changed.

    Raises:
        AttributeError: none can be called so.
    """
    if name == "__dict__":
        raise AttributeError(f"{type(self).__name__!r} object attribute '__dict__' is read-only")
    return _dictionary(self, object.__getattribute__(self, "_bohrbug_values"))


def _missing(self: Any, name: str) -> AttributeError:
    return AttributeError(
        f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self
    )


local.__module__ = "_thread"
local.__qualname__ = local.__name__ = "_local"


def wrap_local(real: Any) -> Any:
    """Our ``local`` in place of a plain real one; the calling thread's values are kept."""
    wrapper = local()
    wrapper.__dict__.update(real.__dict__)
    return wrapper


def _arguments_of(real: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What a real local was made with; only the collector can see it, after the type."""
    referents = gc.get_referents(real)
    after = referents[referents.index(type(real)) + 1 :] if type(real) in referents else []
    arguments: tuple[Any, ...] = ()
    keywords: dict[str, Any] = {}
    if after and isinstance(after[0], tuple):
        arguments = after[0]
        if (
            len(after) > 1
            and isinstance(after[1], dict)
            and all(isinstance(key, str) for key in after[1])
        ):
            keywords = after[1]
    return arguments, keywords


class LocalSubclasses:
    """Classes that derive from the real ``local``: their instances get task dictionaries too.

    Their layout can't be changed, so that their attribute access is: values go to a
    dictionary of the task, in the root and outside an execution to the real one.
    """

    def __init__(self) -> None:
        self._changed: list[Any] = []

    def install(self) -> None:
        """Change every existing subclass."""
        for cls in _all_subclasses(RealLocal):
            if cls not in self._changed and "__getattribute__" not in vars(cls):
                self._change(cls)

    def _change(self, cls: Any) -> None:
        def task_dictionary(self: Any) -> dict[str, Any] | None:
            execution = current.execution
            if (
                execution is None
                or real_get_ident() != current.thread
                or not execution.current.index
            ):
                return None
            store = execution.current.local_values
            key = id(self)
            entry = store.get(key)
            if entry is None:
                entry = store[key] = {}
                arguments, keywords = _arguments_of(self)
                type(self).__init__(self, *arguments, **keywords)
            return entry

        def __getattribute__(self: Any, name: str) -> Any:  # noqa: N807
            attributes = task_dictionary(self)
            if attributes is None:
                return RealLocal.__getattribute__(self, name)
            if name == "__dict__":
                return attributes
            if name in attributes:
                return attributes[name]
            found, value = _find(self, name)
            if not found:
                raise AttributeError(
                    f"{type(self).__name__!r} object has no attribute {name!r}",
                    name=name,
                    obj=self,
                )
            get = getattr(type(value), "__get__", None)
            return value if get is None else get(value, self, type(self))

        def __setattr__(self: Any, name: str, value: Any) -> None:  # noqa: N807
            attributes = task_dictionary(self)
            if attributes is None:
                RealLocal.__setattr__(self, name, value)
            else:
                attributes[name] = value

        def __delattr__(self: Any, name: str) -> None:  # noqa: N807
            attributes = task_dictionary(self)
            if attributes is None:
                RealLocal.__delattr__(self, name)
            elif name in attributes:
                del attributes[name]
            else:
                raise AttributeError(name)

        cls.__getattribute__ = __getattribute__
        cls.__setattr__ = __setattr__
        cls.__delattr__ = __delattr__
        self._changed.append(cls)

    def restore(self) -> None:
        """Put the classes back."""
        for cls in self._changed:
            del cls.__getattribute__
            del cls.__setattr__
            del cls.__delattr__
        self._changed.clear()


def _all_subclasses(cls: type) -> list[Any]:
    found: list[Any] = []
    subclass: Any
    for subclass in type.__subclasses__(cls):
        found.append(subclass)
        found.extend(_all_subclasses(subclass))
    return found


def swap_running_loop(leaving: Task, entering: Task) -> None:
    """Exchange asyncio's running loop when control passes to another task."""
    events = sys.modules.get("asyncio.events")
    if events is None:
        return
    before = leaving.running_loop = events._get_running_loop()
    after = entering.running_loop
    leaving.loop_task = _exchange_task(before, None)
    if after is not before:
        events._set_running_loop(after)
    _exchange_task(after, entering.loop_task)
    entering.loop_task = None


def _exchange_task(loop: Any, asyncio_task: Any) -> Any:
    """Let a loop run another asyncio task, or none, if the interpreter keeps that per OS thread.

    From Python 3.14 on it does, until then it kept it by the loop.

    Returns:
        The one before, or ``None``.
    """
    module = sys.modules.get("_asyncio") if KEEPS_LOOP_TASKS and loop is not None else None
    # Programs may let asyncio's own code in Python keep the running loop.
    if module is None or module._get_running_loop() is not loop:
        return None
    return module._swap_current_task(loop, asyncio_task)


if native is not None:
    native.use_swap(Task, swap_running_loop, KEEPS_LOOP_TASKS)

patches.add(threading, "local", local)
patches.add(_thread, "_local", local)
