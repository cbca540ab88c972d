"""The table of what is replaced: held to the interpreter, and to what either side replaces."""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import importlib
import inspect
import multiprocessing
import os
import queue
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

import bohrbug
from bohrbug.accelerator import native
from bohrbug.model.operation import KINDS
from bohrbug.runtime import interposed as table
from bohrbug.runtime.interposed import CONTROL, FAMILIES, MESSAGES, ROWS, owner_named
from bohrbug.runtime.threads import installation as control
from bohrbug.runtime.threads import unraisable
from bohrbug.runtime.threads.patches import Patches

LOOPS = functools.lru_cache(maxsize=1)(asyncio.SelectorEventLoop)
"""Makes one event loop."""

RUNTIME = Path(bohrbug.__file__).parent / "runtime"
LEFT_ALONE = {
    ("asyncio.tasks", "wait_for"),
    ("asyncio.base_events:BaseEventLoop", "shutdown_default_executor"),
}
"""There on all versions, but replaced on some: the mark says on which."""

OF_OBJECTS: dict[tuple[str, str], Callable[[], object]] = {
    ("threading:Event", "_cond"): threading.Event,
    ("asyncio.selector_events:BaseSelectorEventLoop", "_ssock"): LOOPS,
    ("asyncio.selector_events:BaseSelectorEventLoop", "_csock"): LOOPS,
}
"""What objects have and not their class, with what makes such an object."""

VERSION = ".".join(map(str, sys.version_info[:2]))


def is_here(mark: str) -> bool:
    """Whether a mark of the table is true for this interpreter."""
    found = re.fullmatch(r"(<?)3\.(\d+)", mark)
    if found is None:
        assert mark in ("", "posix", "linux", "darwin"), mark
        return mark in ("", os.name, sys.platform)
    return (sys.version_info[1] < int(found[2])) == (found[1] == "<")


def marked(side: str) -> Iterator[tuple[str, str, str]]:
    """Each owner of the table with what a side replaces there, and the mark."""
    for row in ROWS:
        for word in f"{row.both} {row.control if side == CONTROL else row.messages}".split():
            name, _, mark = word.partition("@")
            yield row.owner, name, mark


LISTED = sorted({*marked(CONTROL), *marked(MESSAGES)})


def owner_if_there(owner: str) -> Any:
    try:
        importlib.import_module(owner.partition(":")[0])
    except ImportError:
        return None
    module, _, cls = owner.partition(":")
    return getattr(sys.modules[module], cls, None) if cls else sys.modules[module]


@pytest.mark.parametrize(("owner", "name", "mark"), LISTED)
def test_what_is_listed_is_there_where_the_table_says_so(owner: str, name: str, mark: str) -> None:
    there = owner_if_there(owner)
    is_there = there is not None and hasattr(there, name)
    if (owner, name) in OF_OBJECTS:
        assert hasattr(OF_OBJECTS[owner, name](), name)
    elif (owner, name) in LEFT_ALONE:
        assert is_there
    else:
        assert is_there == is_here(mark), f"{owner}.{name} on {VERSION}"


def test_nothing_is_listed_twice() -> None:
    for side in (CONTROL, MESSAGES):
        names = [(owner, name) for owner, name, _ in marked(side)]
        assert len(names) == len(set(names))


# -- what the sides replace ----------------------------------------------------------------


def listed(side: str) -> set[tuple[int, str]]:
    """What a side replaces by the table, with the owners' addresses."""
    return {(id(owner_named(owner)), name) for owner, name, mark in marked(side) if is_here(mark)}


def replaced(all_patches: Iterable[Patches]) -> dict[tuple[int, str], str]:
    """What is replaced in the standard library, and a name for people."""
    found = {}
    for patches in all_patches:
        patches.prepare()
        for owner, name, _ in patches.pairs():
            module = getattr(owner, "__module__", "") or owner.__name__
            if not name.startswith("_bohrbug") and module.partition(".")[0] != "trio":
                found[id(owner), name] = f"{owner!r}.{name}"
    return found


def differences(side: str, all_patches: Iterable[Patches]) -> tuple[list[str], list[str]]:
    """What is replaced and not listed, and what is listed and not replaced."""
    for owner, _, mark in marked(side):
        if is_here(mark):
            importlib.import_module(owner.partition(":")[0])
    found, wanted = replaced(all_patches), listed(side)
    names = {(id(owner_named(o)), n): f"{o}.{n}" for o, n, mark in marked(side) if is_here(mark)}
    return (
        sorted(found[key] for key in found.keys() - wanted),
        sorted(names[key] for key in wanted - found.keys()),
    )


def control_patches() -> list[Patches]:
    return [*control._ALL, unraisable.patches]


def message_patches() -> list[Patches]:
    return [
        importlib.import_module(f"bohrbug.runtime.channels.{family}").patches
        for module, family in FAMILIES.items()
        if owner_if_there(module) is not None
    ]


def test_control_replaces_what_is_listed_and_nothing_else() -> None:
    hashes = (
        []
        if native is None
        else [
            "concurrent.futures._base:Future.__hash__",
            "threading:Thread.__hash__",
        ]
    )
    assert differences(CONTROL, control_patches()) == ([], hashes)


def test_message_logs_replace_what_is_listed_and_nothing_else() -> None:
    assert differences(MESSAGES, message_patches()) == ([], [])


@pytest.mark.parametrize("side", [CONTROL, MESSAGES])
def test_what_is_replaced_without_being_listed_is_found(side: str) -> None:
    more = Patches()
    more.add(inspect, "stack", list)
    patches = control_patches() if side == CONTROL else message_patches()
    unlisted, _ = differences(side, [*patches, more])
    assert f"{inspect!r}.stack" in unlisted


@pytest.mark.parametrize("side", [CONTROL, MESSAGES])
def test_what_is_listed_without_being_replaced_is_found(
    side: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = table.Row("inspect", both="stack")
    monkeypatch.setattr(sys.modules[__name__], "ROWS", (*ROWS, row))
    patches = control_patches() if side == CONTROL else message_patches()
    assert "inspect.stack" in differences(side, patches)[1]


def test_modules_that_are_changed_when_they_are_imported_are_listed() -> None:
    """Those of trio are no part of the standard library."""
    listed = {owner.partition(":")[0] for owner, _, _ in LISTED}
    changed = {
        name
        for path in (RUNTIME / "threads").rglob("*.py")
        for name in re.findall(r'when_imported\("([^"]+)"', path.read_text("utf-8"))
    }
    assert len(changed) > 10
    assert {name for name in changed - listed if not name.startswith("trio.")} == set()


# -- modules of ours -----------------------------------------------------------------------


def modules_with_patches(folder: str) -> set[str]:
    """The modules of a side that have something to install, or add something to that."""
    found = set()
    for path in sorted((RUNTIME / folder).rglob("*.py")):
        if re.search(r"^patches = |^ *@?patches\.\w+\(", path.read_text("utf-8"), re.MULTILINE):
            name = path.relative_to(RUNTIME / folder).with_suffix("").as_posix()
            found.add(name.replace("/", "."))
    return found


def test_each_module_that_replaces_something_is_put_in_place() -> None:
    primitives = {*table.PRIMITIVES, *table.PRIMITIVES_ON_POSIX}
    # Some are put in place behind all others; and some add to what another has to install.
    beside = {"unraisable", "installation", "dates", "queue_items", "timers"}
    assert modules_with_patches("threads") == primitives | beside
    assert modules_with_patches("channels") == {
        *FAMILIES.values(),
        "growing",
        "looks",
        "installation",
    }


def test_words_for_what_is_wrapped_alike_are_kinds_of_operations_or_known() -> None:
    own = {"lock", "rlock", "alarm"}
    assert {row.alike for row in ROWS} - KINDS.keys() == own | {""}


# -- private names -------------------------------------------------------------------------

PARTS_OF_MODULES = {
    "asyncio.base_events": "_format_handle",
    "asyncio.events": "_get_running_loop _set_running_loop Handle._run",
    "asyncio.futures": "_chain_future",
    "asyncio.timeouts": "_State.ENTERED _State.EXPIRED",
    "concurrent.futures._base": "CANCELLED CANCELLED_AND_NOTIFIED FINISHED",
    "multiprocessing.connection": "_ConnectionBase._check_closed _ConnectionBase._check_readable",
    "multiprocessing.queues": "Queue._on_queue_feeder_error",
    "multiprocessing.reduction": "ForkingPickler._extra_reducers",
    "multiprocessing.synchronize": "SEM_VALUE_MAX",
}
"""What message logs use beside public names; for control see ``test_interpreter``."""

PARTS_OF_OBJECTS: tuple[tuple[Callable[[], object], str], ...] = (
    (
        queue.Queue,
        "mutex not_empty not_full maxsize unfinished_tasks _put _get _qsize not_empty._waiters",
    ),
    (concurrent.futures.Future, "_state _condition"),
    (concurrent.futures.ThreadPoolExecutor, "_idle_semaphore _threads"),
    (concurrent.futures.ProcessPoolExecutor, "_idle_worker_semaphore _processes"),
    (
        multiprocessing.Queue,
        (
            "_reader _reader._handle _writer _rlock _sem _notempty _notempty._waiters _buffer"
            " _thread _closed _maxsize"
        ),
    ),
    (multiprocessing.JoinableQueue, "_cond _unfinished_tasks"),
    (multiprocessing.SimpleQueue, "_reader _writer _rlock"),
    (
        asyncio.Queue,
        "_maxsize _put _getters _wakeup_next _unfinished_tasks _finished",
    ),
    (asyncio.TaskGroup, "_tasks"),
    (lambda: asyncio.Timeout(None), "_when _state _timeout_handler"),
    (
        LOOPS,
        (
            "_ssock _csock _selector _ready _scheduled _timer_cancelled_count _clock_resolution"
            " _debug _process_events _read_from_self _write_to_self _stopping _current_handle"
            " _check_closed"
        ),
    ),
    (
        lambda: asyncio.TimerHandle(1.0, print, (), LOOPS()),
        "_when _scheduled _cancelled _callback _args",
    ),
)


def test_private_names_that_message_logs_use_are_there() -> None:
    missing = []
    for module, parts in PARTS_OF_MODULES.items():
        owner: object = importlib.import_module(module)
        missing += [part for part in parts.split() if not has(owner, part)]
    for make, parts in PARTS_OF_OBJECTS:
        made = make()
        missing += [part for part in parts.split() if not has(made, part)]
    LOOPS().close()
    assert missing == []


def has(owner: object, part: str) -> bool:
    try:
        attrgetter(part)(owner)
    except AttributeError:
        return False
    return True


# -- functions that others hold by name ----------------------------------------------------

HELD = """
import importlib, sys, types
from bohrbug.runtime.interposed import MESSAGES, ROWS, owner_named
held = [row for row in ROWS if row.is_held]
for row in held:
    importlib.import_module(row.owner)
import concurrent.futures, asyncio, multiprocessing
listed = [(owner_named(row.owner), name) for row in held for name in row.names(MESSAGES)]
there = [(owner, name) for owner, name in listed if hasattr(owner, name)]
kept = [getattr(owner, name) for owner, name in there]
before = {id(function): name for function, (_, name) in zip(kept, there)}
theirs = types.ModuleType("theirs")
sys.modules["theirs"] = theirs
for number, function in enumerate(kept):
    setattr(theirs, f"held_{number}", function)
from bohrbug.runtime.channels.installation import install, restore
install()
left = {before[id(value)] for value in vars(theirs).values() if id(value) in before}
restore()
back = {before[id(value)] for value in vars(theirs).values() if id(value) in before}
print(sorted(left), sorted(set(before.values()) - back), len(there))
"""


def test_functions_that_other_modules_hold_are_exchanged_there_and_put_back() -> None:
    done = subprocess.run([sys.executable, "-c", HELD], capture_output=True, text=True, check=True)
    left, _, count = done.stdout.strip().rpartition(" ")
    left_alone = "['wait_for'] []" if sys.version_info >= (3, 12) else "[] []"
    assert left == left_alone
    assert int(count) >= 10


def test_functions_that_must_stay_where_others_hold_them_are_not_exchanged() -> None:
    """``Thread.start`` calls what ``threading`` holds, and is an event already."""
    assert not table.is_held("_thread", "start_new_thread")
    assert table.is_held("queue", "SimpleQueue")


# -- arguments -----------------------------------------------------------------------------


UNTOLD = ("<unrepresentable>", "{}", "None")
"""What signatures of functions in C say where there is no default that could be given."""


def parameters_of(function: Any) -> list[tuple[object, ...]] | None:
    """Kinds of parameters, names that can be used, and defaults, but for functions.

    Returns:
        ``None`` where any arguments are taken, or nothing is known.
    """
    try:
        found = inspect.signature(function, follow_wrapped=False).parameters.values()
    except (TypeError, ValueError):
        return None
    if {each.kind for each in found} & {inspect._VAR_POSITIONAL, inspect._VAR_KEYWORD}:
        return None
    return [
        (
            each.kind,
            "" if each.kind is inspect.Parameter.POSITIONAL_ONLY else each.name,
            None if callable(each.default) or str(each.default) in UNTOLD else each.default,
        )
        for each in found
    ]


@pytest.mark.parametrize("side", [CONTROL, MESSAGES])
def test_what_is_replaced_is_called_as_before(side: str) -> None:
    """With the same arguments by place and by name, and the same without them."""
    compared, others = [], {}
    # The hook of pytest is none of the library.
    for patches in control._ALL if side == CONTROL else message_patches():
        patches.prepare()
        for owner, name, ours in patches.pairs():
            theirs, mine = parameters_of(vars(owner).get(name)), parameters_of(ours)
            if theirs is not None and mine is not None:
                compared.append(name)
                if theirs != mine:
                    others[f"{owner!r}.{name}"] = (theirs, mine)
    assert others == {}
    assert len(compared) > 30
