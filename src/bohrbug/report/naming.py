"""How reports call tasks, resources, places and operations."""

from __future__ import annotations

import os
import re
from collections import ChainMap, Counter
from collections.abc import Iterable, Mapping

from bohrbug.model.asyncio_runs import AsyncioRuns
from bohrbug.model.function_name import without_parameters
from bohrbug.model.native_resources import ANY_CHILD, MADE_BY_CALLS
from bohrbug.model.operation import (
    BEGIN,
    BUFFER,
    CHOOSE,
    CONTINUE,
    END,
    EVENT_LOOP,
    EXECUTE,
    EXIT,
    EXTERNAL,
    FENCE,
    FLUSH,
    JOIN,
    OTHERS_END,
    PUT,
    SET,
    SPAWN,
    TRIO_RUN,
    WAIT,
    Operation,
    Resource,
    ResourceId,
    Site,
    TaskId,
)
from bohrbug.model.outcome import Outcome, TaskInfo
from bohrbug.model.site import site_of
from bohrbug.model.trace import Trace
from bohrbug.report.assigned import assigned_name, used_name
from bohrbug.report.sources import (
    ShortNames,
    is_threading_file,
    is_tool_file,
    is_traceback_file,
)

# For each kind of operation: what a task does (with the resource behind it), and
# the same as a noun.
_WORDS: dict[str, tuple[str, str]] = {
    "spawn": ("starts", "start of"),
    "begin": ("begins", "beginning"),
    "end": ("ends", "end"),
    "join": ("joins", "join of"),
    "is_alive": ("checks whether it is alive:", "is_alive of"),
    "acquire": ("acquires", "acquire of"),
    "try_acquire": ("tries to acquire", "try-acquire of"),
    "release": ("releases", "release of"),
    "locked": ("calls locked() on", "locked() of"),
    "wait": ("waits on", "wait on"),
    "wake": ("wakes up from", "wake-up from"),
    "notify": ("notifies", "notify of"),
    "set": ("sets", "set of"),
    "clear": ("clears", "clear of"),
    "is_set": ("calls is_set() on", "is_set() of"),
    "put": ("puts into", "put into"),
    "get": ("gets from", "get from"),
    "task_done": ("calls task_done() on", "task_done() of"),
    "inspect": ("looks into", "look into"),
    "shutdown": ("shuts down", "shutdown of"),
    "result": ("gets the result of", "getting the result of"),
    "resolve": ("resolves", "resolving of"),
    "set_running": ("begins the work for", "beginning of the work for"),
    "add_callback": ("adds a callback to", "adding of a callback to"),
    "sleep": ("sleeps", "sleep"),
    "yield": ("yields", "yield"),
    "continue": ("goes on past", "going on past"),
    "resume": ("resumes", "resume"),
    "cancelled": ("is cancelled", "cancellation"),
    "callback": ("is called", "callback"),
    "call": ("calls", "call of"),
    "statement": ("executes a statement on", "statement on"),
    "query": ("queries", "query of"),
    "execute": ("becomes another program", "exec"),
    "signal": ("sends a signal to", "signal to"),
    "cancel": ("cancels", "cancelling of"),
    "external": ("waits for", "wait for"),
    "connect": ("connects", "connecting of"),
    "accept": ("accepts on", "accept on"),
    "send": ("sends on", "send on"),
    "receive": ("receives from", "receive from"),
    "open": ("opens", "opening of"),
    "close": ("closes", "closing of"),
    "poll": ("looks at", "look at"),
    "use": ("uses", "use of"),
    "raise": ("raises", "raising of"),
    "launch": ("launches", "launch of"),
    "read": ("reads", "read of"),
    "write": ("writes", "write of"),
    "load": ("loads", "load of"),
    "store": ("stores into", "store into"),
    "update": ("updates", "update of"),
    "choose": ("chooses a value", "choice of a value"),
    "buffer": ("puts a store into its buffer", "store into its buffer"),
    "fence": ("has its stores in memory", "fence"),
}
# The same in a column, where that is not the name of the kind.
_IN_COLUMNS = {
    "external": "wait for",
    "set_running": "begin work for",
    "add_callback": "add callback to",
    "accept": "accept on",
    "cancelled": "is cancelled",
    "send": "send on",
    "receive": "receive from",
    "poll": "look at",
}
# What `set` is to resources of native programs: connecting, closing, destroying.
_CHANGES = ("changes", "change of", "change")
_WAITS_IN_RUN = ("waits in", "wait in", "wait in")
"""Of the thread that runs trio, which looks what has arrived for its tasks."""
_SCHEDULES = ("schedules on", "scheduling on", "schedule on")
"""Of who gives an event loop something to call: from another thread, or once a timer is over."""
_SUBMITS = ("submits to", "submission to", "submit to")
_PUTS = {EVENT_LOOP: _SCHEDULES, "ThreadPoolExecutor": _SUBMITS}
"""What ``put`` is to resources that are no queues, by their types."""
_WITHOUT_RESOURCE = {
    *("begin", "end", "sleep", "yield", "choose", "execute", "resume", "cancelled", "callback")
}
_WITHOUT_RESOURCE |= {"buffer", "fence"}
_TASK = re.compile(r"0(\.\d+)*")
_PART = re.compile(r"(\.[^\W\d]\w*|\[.+\])$")
"""Behind the id of an object, which of its variables it is: an attribute or an item."""
_PRIVATE = re.compile(r"\w+\._([A-Z]\w*?)__(?=\w*[^\W_])(?!\w*__\b)")
"""What ``self.__name`` in a class becomes: ``Derived._Class__name``."""
_OF_LIBRARY = {
    "Event _Waiter.event": "futures",
    "SimpleQueue ThreadPoolExecutor._work_queue": "ThreadPoolExecutor work queue",
}
"""What parts of ``concurrent.futures`` are to a reader, by the names that they have in there."""

_GENERATED_NAME = re.compile(r"^(.*?)\s*\((.+)\)$")


def _is_hidden(site: Site) -> bool:
    """Whether a place says nothing to a reader: in the tool, where threads begin, in tracebacks."""
    file = site.filename
    return is_tool_file(file) or is_threading_file(file) or is_traceback_file(file)


def _sites(outcome: Outcome) -> Iterable[Site]:
    for frame in outcome.frames():
        yield frame.site
    for blocked in outcome.blocked:
        for frame in blocked.stack:
            yield frame.site
        for held in blocked.holding:
            if held.acquired is not None:
                yield held.acquired
        if blocked.abandoned is not None and blocked.abandoned.acquired is not None:
            yield blocked.abandoned.acquired
        place = site_of(blocked.operation.place)
        if place is not None:
            yield place


class Names:
    """Words for what a trace speaks of; the same thing has the same name all over a report.

    Parameters:
        trace: the execution.
        extra: further places that the report will mention, such as those of a race.
        resources: further ones that it will mention, such as those that tasks wait for by now.
    """

    def __init__(
        self,
        trace: Trace,
        extra: Iterable[Site] = (),
        resources: Mapping[ResourceId, Resource] | None = None,
    ) -> None:
        self._infos: Mapping[TaskId, TaskInfo] = trace.task_infos
        self._resources: Mapping[ResourceId, Resource] = trace.resources
        if resources:
            self._resources = ChainMap(trace.resources, dict(resources))
        self._asyncio = AsyncioRuns(self._infos, self._resources)
        places = {operation.place for operation in trace.operations}
        # In the order in which a reader meets them, by which those of one name are numbered.
        seen = dict.fromkeys(operation.resource for operation in trace.operations)
        used = set(seen)
        for operation in trace.final_pending.values():
            places.add(operation.place)
            used.add(operation.resource)
        for blocked in trace.outcome.blocked:
            used.add(blocked.operation.resource)
            used.update(held.resource for held in blocked.holding)
        used.update(resources or ())
        self._places: dict[object, Site | None] = {
            place: None if site is None or _is_hidden(site) else site
            for place in places
            for site in (site_of(place),)
        }
        files = {site.filename for site in self._places.values() if site is not None}
        files.update(site.filename for site in _sites(trace.outcome))
        files.update(site.filename for site in extra)
        seen.update(dict.fromkeys(sorted(used - seen.keys(), key=_natural)))
        described = {id: self._resources[id] for id in seen if id in self._resources}
        files.update(r.created.filename for r in described.values() if r.created is not None)
        self._short = ShortNames(files)
        # What was made before the exploration is called as where it is used.
        self._used: dict[ResourceId, Operation] = {}
        for operation in trace.operations:
            if operation.resource.startswith("before:"):
                self._used.setdefault(operation.resource, operation)
        # Primitives of event loops, of which only those who wait for them tell.
        for blocked in trace.outcome.blocked:
            self._used.setdefault(blocked.operation.resource, blocked.operation)
        self._labels = self._make_labels(described)

    def _make_labels(
        self, described: dict[ResourceId, Resource]
    ) -> dict[ResourceId, tuple[str, str]]:
        """For each resource its name, and the place of its making where the name lacks it."""
        found = {id: self._label(resource) for id, resource in described.items()}
        alike = Counter(found.values())
        sharing: dict[tuple[str, str], dict[str, int]] = {}
        owners: dict[ResourceId, tuple[dict[str, int], str]] = {}
        for id, label in found.items():
            resource = described[id]
            if alike[label] > 1 and resource.created is None and resource.label == resource.type:
                # The one name of several is that of a parameter, say: it tells nobody which.
                label = found[id] = resource.type, ""
            name, owner = _owner(label[0], id)
            numbers = sharing.setdefault((name, label[1]), {})
            numbers.setdefault(owner, len(numbers) + 1)
            owners[id] = numbers, owner
        labels: dict[ResourceId, tuple[str, str]] = {}
        for id, (name, where) in found.items():
            numbers, owner = owners[id]
            numbered = len(numbers) > 1 and name != ANY_CHILD
            labels[id] = (f"{name} #{numbers[owner]}" if numbered else name, where)
        return labels

    def _label(self, resource: Resource) -> tuple[str, str]:
        label = _PRIVATE.sub(r"\1.__", resource.label or resource.type or resource.id)
        created = resource.created
        is_unnamed = label == f"{resource.type} {resource.id}"
        is_unnamed = is_unnamed or (created is None and label == resource.type)
        if is_unnamed and resource.id in self._used:
            site = self.site(self._used[resource.id])
            name = used_name(site) if site is not None else ""
            return (f"{resource.type} {name}" if name else label), ""
        if is_unnamed and created is None and resource.type:
            # Its id says nothing to anybody.
            return resource.type, ""
        if created is None or not label.startswith(f"{resource.type} "):
            return label, ""
        if is_tool_file(created.filename):
            # Such as the event loop that a coroutine function is run in: its place is ours.
            is_by_place = label.endswith(f"{os.path.basename(created.filename)}:{created.line}")
            return (resource.type if is_by_place else label), ""
        # Made of type and place: the name that the source gives it says more.
        # Where a native one was first used, the result of that call may be assigned.
        name = "" if resource.type in MADE_BY_CALLS else assigned_name(created)
        if name:
            named = f"{resource.type} {name}"
            known = _OF_LIBRARY.get(named)
            return (named, self.place(created)) if known is None else (known, "")
        return f"{resource.type} {self.place(created)}", ""

    def type(self, id: ResourceId) -> str:
        """The class of a resource that a user would name; may be empty."""
        known = self._resources.get(id)
        return known.type if known is not None else ""

    def origin(self, id: ResourceId) -> str:
        """Where a resource was made, if its name does not say so."""
        return self._labels.get(id, ("", ""))[1]

    # -- tasks -----------------------------------------------------------------

    def _info(self, task: TaskId) -> TaskInfo:
        return self._infos.get(task) or TaskInfo(task)

    def thread_name(self, task: TaskId) -> str:
        """The name of the thread, without the target that ``threading`` puts behind it."""
        info = self._info(task)
        match = _GENERATED_NAME.match(info.name)
        # On one line, whatever the program calls it.
        return " ".join((match[1] if match and match[1] else info.name).split())

    def target(self, task: TaskId) -> str:
        """The function that the task runs, without the scopes around it; may be empty."""
        info = self._info(task)
        match = _GENERATED_NAME.match(info.name)
        target = info.target or (match[2] if match else "")
        return target.rpartition("<locals>.")[2]

    def task(self, task: TaskId) -> str:
        """``0.1 (Thread-1, deposit)``: the id and what a person knows it by."""
        known = [word for word in (self.thread_name(task), self.target(task)) if word]
        if len(known) == 2 and known[0] == known[1]:
            del known[1]
        return f"{task} ({', '.join(known)})" if known else task

    # -- places ----------------------------------------------------------------

    def site(self, operation: Operation) -> Site | None:
        """Where in the tested program an operation is; ``None`` if unknown or in the tool."""
        place = operation.place
        try:
            return self._places[place]
        except KeyError:
            site = site_of(place)
            return None if site is None or _is_hidden(site) else site

    def place(self, site: Site | None) -> str:
        """``bank.py:12``, or an empty string."""
        if site is None:
            return ""
        short = self._short(site.filename)
        if site.line:
            return f"{short}:{site.line}"
        # Without debugging information the file is a module and an offset.
        module, _, _ = short.rpartition("+")
        return short if site.function == "?" else f"{module}:{without_parameters(site.function)}"

    def at(self, operation: Operation) -> str:
        """The place of an operation in words: `` (bank.py:12)``, or an empty string."""
        site = None if operation.kind in (BEGIN, END) else self.site(operation)
        return f" ({self.place(site)})" if site is not None else ""

    def timer_set(self, operation: Operation, task: TaskId) -> Site | None:
        """Where the timer of an event loop was set that is over by an operation, if it is one."""
        site = self.site(operation)
        return self._asyncio.timer_set(task, operation.kind, operation.resource, site)

    def timed_out(self, operation: Operation, task: TaskId) -> TaskId | None:
        """Whose ``wait_for`` or ``timeout`` of asyncio is over by an operation, if one is."""
        site = self.site(operation)
        return self._asyncio.timed_out(task, operation.kind, operation.resource, site)

    def passed_on(self, operation: Operation, task: TaskId) -> TaskId | None:
        """Whose doing asyncio passes on by an operation of its own, if it does."""
        return self._asyncio.passed_on(task, operation.kind, self.site(operation))

    # -- resources and operations ------------------------------------------------

    def resource(self, id: ResourceId) -> str:
        """How to call a resource: ``Lock lock (bank.py:5)``, ``Account.balance``, ``task 0.1``."""
        if _TASK.fullmatch(id):
            return f"task {id}"
        if id == EXIT:
            return "the other threads"
        name, where = self._labels.get(id, (id, ""))
        return f"{name} ({where})" if where else name

    def short_resource(self, id: ResourceId) -> str:
        """The same without the place of its making, for columns and sentences."""
        if id in self._labels and id != EXIT and not _TASK.fullmatch(id):
            return self._labels[id][0]
        return self.resource(id)

    def brief(self, operation: Operation) -> str:
        """A few words for a column: ``acquire Lock lock``, ``read Account.balance``."""
        kind = operation.kind
        if kind is SPAWN:
            return f"start task {operation.resource}"
        if kind is BEGIN:
            return "begins"
        if kind is END:
            return "ends"
        if kind is JOIN:
            if operation.resource == EXIT:
                return "test returned, wait for the other threads"
            return f"join {self.resource(operation.resource)}"
        if kind is CONTINUE:
            return f"go on past {self.short_resource(operation.resource)}"
        if kind is EXECUTE:
            return "become another program"
        if kind is WAIT and _TASK.fullmatch(operation.resource):
            return "wait for a signal"
        if kind is BUFFER:
            return "store, which waits in its buffer"
        if kind is FENCE:
            return "its stores have reached memory"
        if kind is FLUSH:
            return f"the store to {self.short_resource(operation.resource)} reaches memory"
        if kind is CHOOSE or kind.name in _WITHOUT_RESOURCE:
            return kind.name
        words = self._words(operation)[2]
        return f"{words} {self.short_resource(operation.resource)}"

    def is_for_an_end(self, operation: Operation) -> bool:
        """Whether an operation waits for the end of other tasks, which nobody holds."""
        return operation.kind is JOIN or self.type(operation.resource) == OTHERS_END

    def awaited(self, task: TaskId, operation: Operation) -> str:
        """What a task waits for, without the place: ``Lock lock``, ``a signal``."""
        if operation.kind is WAIT and operation.resource == task:
            return "a signal"
        if operation.kind is FENCE:
            return "its stores to reach memory"
        if operation.kind is BUFFER:
            return "room in its store buffer"
        return self.short_resource(operation.resource)

    def store_of(self, buffer: TaskId, operation: Operation) -> str:
        """What leaves a store buffer for memory: ``0.1's store to variable x``."""
        return f"{buffer.rpartition('.')[0]}'s store to {self.short_resource(operation.resource)}"

    def _words(self, operation: Operation) -> tuple[str, str, str]:
        """What a task does, the same as a noun, and in a column."""
        kind, id = operation.kind.name, operation.resource
        known = self._resources.get(id)
        if operation.kind is SET and known is not None and known.type in MADE_BY_CALLS:
            return _CHANGES
        if operation.kind is EXTERNAL and known is not None and known.type == TRIO_RUN:
            return _WAITS_IN_RUN
        if operation.kind is PUT and known is not None and known.type in _PUTS:
            return _PUTS[known.type]
        return (*_WORDS.get(kind, (kind, kind)), _IN_COLUMNS.get(kind, kind))

    def does(self, operation: Operation) -> str:
        """What a task does: ``writes Account.balance (bank.py:13)``."""
        if operation.kind is JOIN and operation.resource == EXIT:
            return "waits for the other threads to end"
        if operation.kind is FLUSH:
            store = f"store to {self.short_resource(operation.resource)}{self.at(operation)}"
            return f"lets the {store} reach memory"
        verb = self._words(operation)[0]
        return self._with_resource(verb, operation) + self.at(operation)

    def noun(self, operation: Operation, *, named: bool = True) -> str:
        """The same as a noun: ``read of Account.balance (bank.py:12)``; short if not ``named``."""
        if operation.kind is JOIN and operation.resource == EXIT:
            return "waiting for the other threads to end"
        if operation.kind is FLUSH:
            of = f" to {self.short_resource(operation.resource)}" if named else ""
            return f"flush of the store{of}{self.at(operation)}"
        noun = self._words(operation)[1]
        if named:
            return self._with_resource(noun, operation) + self.at(operation)
        for end in (" of", " from", " into", " on", " at", " for", " to"):
            noun = noun.removesuffix(end)
        return noun + self.at(operation)

    def _with_resource(self, words: str, operation: Operation) -> str:
        if operation.kind.name in _WITHOUT_RESOURCE:
            return words
        # In a sentence the place of the operation follows; a second one is too much.
        return f"{words} {self.short_resource(operation.resource)}"


def _owner(name: str, id: ResourceId) -> tuple[str, str]:
    """What a variable belongs to, by name and by id: all variables of an object have its number.

    Of other resources it is their own name and id.
    """
    if id.endswith("[*]"):  # a container as a whole
        return name, id[:-3]
    match = _PART.search(id)
    if match is None or not name.endswith(match[0]):
        return name, id
    return name.removesuffix(match[0]), id.removesuffix(match[0])


def _natural(id: str) -> tuple[tuple[int, str], ...]:
    """Sort key by which ``0.10`` comes after ``0.2``."""
    return tuple(
        (int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", id) if part
    )


task_order = _natural
"""Sort key for task ids: by the numbers of their path."""
