"""Resources of an execution: deterministic ids, labels, and who holds what."""

from __future__ import annotations

import builtins
import itertools
import os
import sys
import weakref
from collections.abc import Collection, Container, Iterable
from typing import TYPE_CHECKING, Any

from bohrbug.accelerator.plain import plain
from bohrbug.model.operation import Resource, ResourceId, TaskId
from bohrbug.model.site import site_of

_real_basename = os.path.basename


if TYPE_CHECKING:
    from bohrbug.runtime.threads.monitoring import PublishedClock


@plain
class ResourceState:
    """What an execution knows of one resource.

    Parameters:
        id: deterministic id.
        type: the class a user would name.
        created: ``(code object, offset)`` of its making, if seen.
        label: overrides the label made of type and place.
    """

    __slots__ = ("clock", "created", "given_label", "id", "serial", "type")

    def __init__(
        self, id: ResourceId, type: str, created: Any = None, label: str = "", serial: int = 0
    ) -> None:
        self.id = id
        self.type = type
        self.created = created
        self.given_label = label
        self.serial = serial
        # Belongs to whoever watches the execution.
        self.clock: PublishedClock | None = None

    @property
    def label(self) -> str:
        """How reports call it."""
        if self.given_label:
            return self.given_label
        site = site_of(self.created)
        if site is None:
            return f"{self.type} {self.id}"
        return f"{self.type} {_real_basename(site.filename)}:{site.line}"

    def describe(self) -> Resource:
        """Plain data for traces."""
        return Resource(self.id, self.type, self.label, site_of(self.created))


@plain
class VariableState:
    """A variable that was accessed at a scheduling point; described only when asked."""

    __slots__ = ("id", "shadow")

    def __init__(self, id: ResourceId, shadow: Any) -> None:
        self.id = id
        self.shadow = shadow

    def describe(self) -> Resource:
        """Plain data for traces."""
        return Resource(self.id, "variable", self.shadow.label)


class OlderObjects(dict[int, Any]):
    """Ids of objects that live on from one execution to the next, by ``id(object)``.

    Objects that were made in an execution, unseen, get such ids as well. The next execution makes
    others in their place: they get the same ids, as these are free again when an object dies.

    Attributes:
        origin: part of the ids given from now on.
    """

    origin = ""

    def __init__(self) -> None:
        super().__init__()
        self._numbers = 0
        self._free: list[tuple[str, int]] = []

    def name(self, obj: object) -> ResourceId:
        """The id of an object, which it gets now if it has none."""
        identity = id(obj)
        known = self.get(identity)
        if known is not None and known[1]() is obj:
            name: ResourceId = known[0]
            return name
        origin = self.origin
        free = [number for kind, number in self._free if kind == origin]
        if free:
            number = min(free)
            self._free.remove((origin, number))
        else:
            number = self._numbers
            self._numbers += 1

        def forget(reference: object) -> None:
            known = self.get(identity)
            if known is not None and known[1] is reference:
                del self[identity]
            self._free.append((origin, number))

        name = f"before:{origin}{number}"
        self[identity] = (name, weakref.ref(obj, forget))
        return name


_serials = itertools.count(1)
"""Numbers of executions; not kept in a class, whose change makes all code slower that uses it."""


class Parts:
    """Which primitives are parts of others: what is done to a part is done to the whole.

    The mutex of a queue keeps others from the queue, as a ``put`` of theirs does.
    """

    def __init__(self) -> None:
        # By the identities of their parts.
        self._wholes: dict[int, weakref.ref[Any]] = {}

    def know(self, whole: Any, parts: Iterable[object]) -> None:
        """A primitive has others as its attributes, which are parts of it."""
        identities = [id(part) for part in parts]
        wholes = self._wholes

        def forget(reference: object) -> None:
            for identity in identities:
                if wholes.get(identity) is reference:
                    del wholes[identity]

        reference = weakref.ref(whole, forget)
        for identity in identities:
            wholes[identity] = reference

    def whole_of(self, part: object) -> object | None:
        """What a primitive is a part of, if that is alive."""
        reference = self._wholes.get(id(part))
        whole = None if reference is None else reference()
        # Another object may be now where a part was that has died.
        if whole is None or all(value is not part for value in vars(whole).values()):
            return None
        found: object = whole
        return found


parts = Parts()
"""Those of this process."""


def _references_in_a_loop() -> int:
    """What ``getrefcount`` says of an object that a list holds, and a loop over it looks at."""
    counts = [sys.getrefcount(each) for each in [ResourceState("", "")]]
    return counts[0]


_UNHELD = _references_in_a_loop()


class ResourceTable:
    """All resources of one execution.

    Locks carry their state themselves; objects of classes that we only patch
    (events, queues, ...) are found by identity, through weak references, so that
    they die when the program drops them.

    Parameters:
        names: ids given in earlier executions to objects that live on from one
            execution to the next, by ``id(object)``; shared by all executions
            of an exploration.
    """

    __slots__ = ("_by_identity", "_kept", "_named", "_names", "_states", "serial")

    def __init__(self, names: OlderObjects | None = None) -> None:
        self.serial = next(_serials)
        self._by_identity: dict[int, tuple[ResourceState, Any]] = {}
        self._kept: list[object] = []
        self._named: dict[ResourceId, ResourceState] = {}
        self._states: list[ResourceState | VariableState] = []
        self._names = OlderObjects() if names is None else names

    def state_named(self, id: ResourceId, label: str = "", type: str = "") -> ResourceState:
        """The resource with a given id, such as the thread resource of a task."""
        state = self._named.get(id)
        if state is None:
            state = self._named[id] = ResourceState(id, type or label, label=label)
            self._states.append(state)
        return state

    def thread(self, task_id: TaskId) -> ResourceState:
        """The thread resource of a task."""
        state = self._named.get(task_id)
        if state is None:
            state = self.state_named(task_id, f"thread {task_id}", "Thread")
        return state

    def new(self, task: Any, type: str, created: Any = None) -> ResourceState:
        """A resource that ``task`` makes now."""
        state = ResourceState(f"{task.id}:{task.resources}", type, created, serial=self.serial)
        task.resources += 1
        self._states.append(state)
        return state

    def register(self, obj: object, task: Any, type: str, created: Any) -> ResourceState:
        """A resource found by identity, made by ``task`` now."""
        state = self.new(task, type, created)
        self._by_identity[id(obj)] = (state, weakref.ref(obj))
        return state

    def keep(self, obj: object) -> None:
        """Let an object live as long as the execution: what it stands for does."""
        self._kept.append(obj)

    def of(self, obj: object, type: str) -> ResourceState:
        """The resource of an object that was registered or is older than the execution."""
        entry = self._by_identity.get(id(obj))
        if entry is not None and entry[1]() is obj:
            return entry[0]
        state = self.outside(obj, type)
        self._by_identity[id(obj)] = (state, weakref.ref(obj))
        return state

    def known(self, obj: object) -> ResourceState | None:
        """The resource of an object that the program, or an executor for it, has made."""
        entry = self._by_identity.get(id(obj))
        return entry[0] if entry is not None and entry[1]() is obj else None

    def ids_of(self, types: Container[str]) -> set[ResourceId]:
        """The ids of all resources of some types."""
        return {
            state.id
            for state in self._states
            if isinstance(state, ResourceState) and state.type in types
        }

    def object_of(self, state: ResourceState) -> object | None:
        """The object that a resource stands for, if it is registered and alive."""
        for known, reference in self._by_identity.values():
            if known is state:
                found: object | None = reference()
                return found
        return None

    def share(self, part: object, state: ResourceState) -> None:
        """Operations on ``part`` are operations on the resource that it belongs to."""
        self._by_identity[id(part)] = (state, weakref.ref(part))

    def outside(self, obj: object, type: str) -> ResourceState:
        """A state for an object that was not seen to be made in this execution.

        It is a new one, or that of what the object is a part of.
        """
        whole = parts.whole_of(obj)
        if whole is not None:
            return self.of(whole, builtins.type(whole).__name__)
        name = self._names.name(obj)
        created = getattr(obj, "_created", None)
        state = ResourceState(name, type, created, serial=self.serial)
        self._states.append(state)
        return state

    def add_variable(self, id: ResourceId, shadow: Any) -> None:
        """A variable was accessed at a scheduling point."""
        self._states.append(VariableState(id, shadow))

    def forget(self, tasks: Collection[TaskId], used: Collection[ResourceId]) -> None:
        """Let go of what nobody can use any more.

        Parameters:
            tasks: those that are no more.
            used: the ids of resources that are told of, or waited for.
        """
        for task in tasks:
            self._named.pop(task, None)
        self._by_identity = {
            identity: (state, reference)
            for identity, (state, reference) in self._by_identity.items()
            if reference() is not None
        }
        held = {id(state) for state in self._named.values()}
        held.update(id(state) for state, _ in self._by_identity.values())
        # Locks have their states themselves; what else refers to one is the list and this loop.
        self._states[:] = [
            state
            for state in self._states
            if state.id in used or id(state) in held or sys.getrefcount(state) > _UNHELD
        ]

    def descriptions(self) -> dict[ResourceId, Resource]:
        """Every resource, described for people; computed only when looked at."""
        return LazyDescriptions(self._states)


class LazyDescriptions(dict[ResourceId, Resource]):
    """Descriptions made on first use: most traces are never shown to anybody."""

    def __init__(self, states: list[ResourceState | VariableState]) -> None:
        super().__init__()
        self._pending: list[ResourceState | VariableState] | None = states

    def _fill(self) -> None:
        if self._pending is not None:
            states, self._pending = self._pending, None
            for state in states:
                self[state.id] = state.describe()

    def __missing__(self, key: ResourceId) -> Resource:
        if self._pending is None:
            raise KeyError(key)
        self._fill()
        return self[key]

    def get(self, key: ResourceId, default: Any = None) -> Any:
        """As ``dict.get``, after the descriptions were made."""
        self._fill()
        return super().get(key, default)

    def __contains__(self, key: object) -> bool:
        self._fill()
        return super().__contains__(key)

    def __iter__(self) -> Any:
        self._fill()
        return super().__iter__()

    def items(self) -> Any:
        """As ``dict.items``, after the descriptions were made."""
        self._fill()
        return super().items()

    def values(self) -> Any:
        """As ``dict.values``, after the descriptions were made."""
        self._fill()
        return super().values()

    def __len__(self) -> int:
        self._fill()
        return super().__len__()
