"""Event loops: orders of tasks that share nothing are left out, and no outcome with them.

Programs are groups of tasks that share something within a group, and now and then across groups:
an object, a variable of a class, one that functions enclose.  All outcomes are compared with those
of depth-first search that tries every order.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.verdicts import VerdictKind
from bohrbug.platforms.threads.platform import explorer_of
from bohrbug.runtime.threads.loops import apart
from tests.thoroughness import examples

Task = tuple[str, ...]
Group = tuple[Task, ...]
Program = tuple[str, tuple[Group, ...], Task]

WITHIN = (
    *("read", "write", "add", "pause", "pause", "pause", "pause", "lock", "set", "wait"),
    *("get", "put", "call", "spawn", "future", "sleep", "doze", "wait within"),
)
ACROSS = (
    *("common", "see common", "class", "see class", "enclosed", "see enclosed", "function"),
    *("global", "see global", "default", "name"),
)
ENDING = ("fail", "stop", "exit")

WAYS = ("gather", "gather", "gather all", "group", "nested", "nested", "seen", "each", "wait")

WEIGHTS = {
    **dict.fromkeys(("pause", "lock", "sleep", "doze", "future", "get"), 1),
    **dict.fromkeys(("spawn", "wait within", "call"), 2),
}


def size(program: Program) -> int:
    """How many choices there may be, about: brute force takes all of them."""
    how, groups, beside = program
    tasks = [*(task for group in groups for task in group), beside]
    return sum(WEIGHTS.get(kind, 0) for task in tasks for kind in task) + (how == "nested")


def closed(group: Group) -> Group:
    """A group in which somebody brings what others wait for."""
    kinds = [kind for task in group for kind in task]
    bringing = ("set",) * ("wait" in kinds) + ("put",) * kinds.count("get")
    return (*group, bringing) if bringing else group


def programs_of(kinds: tuple[str, ...], least: int, most: int) -> st.SearchStrategy[Program]:
    """Programs whose tasks do such things."""
    task = st.lists(st.sampled_from(kinds), min_size=1, max_size=3).map(tuple)
    group = st.lists(task, min_size=1, max_size=2).map(tuple).map(closed)
    return (
        st.tuples(
            st.sampled_from(WAYS),
            st.lists(group, min_size=2, max_size=3).map(tuple),
            # Of the first group, but nobody waits for it.
            st.one_of(st.just(()), st.lists(st.sampled_from(kinds), max_size=2).map(tuple)),
        )
        .filter(lambda program: least <= size(program) <= most)
        .filter(lambda program: program[2] == () or "get" not in program[2])
        .filter(lambda program: "wait" not in program[2])
    )


class Common:
    """What tasks of several groups may share."""

    value = 0

    def __init__(self) -> None:
        self.log: list[Any] = []
        self.future: asyncio.Future[int] = asyncio.Future()


class Shared:
    """What the tasks of a group share.

    Parameters:
        common: what they share with others; ``None``: nothing.
        functions: the same in functions.
    """

    def __init__(self, common: Any, functions: tuple[Any, ...]) -> None:
        self.common = common
        self.functions = functions
        self.log: list[Any] = []
        self.value = 0
        self.lock = asyncio.Lock()
        self.event = asyncio.Event()
        self.queue: asyncio.Queue[int] = asyncio.Queue()
        self.tasks: list[asyncio.Task[None]] = []

    def add(self, number: int) -> None:
        """A method, which is called beside coroutines."""
        self.value += number


def enclosing() -> tuple[Callable[[], int], Callable[[], int]]:
    """Two functions that share a variable."""
    value = 0

    def change() -> int:
        nonlocal value
        value += 1
        return value

    def see() -> int:
        return value

    return change, see


ACTIONS: dict[str, Any] = {}
"""By the name of what a task may do a coroutine that does it, and gives what the task remembers.

Each has what it names within reach, and nothing else.
"""


def action(name: str) -> Callable[[Any], Any]:
    """A coroutine that is one of them."""

    def take(function: Any) -> Any:
        ACTIONS[name] = function
        return function

    return take


@action("read")
async def _read(shared: Shared, name: str, kept: int) -> int:
    shared.log.append((name, shared.value))
    return shared.value


@action("write")
async def _write(shared: Shared, name: str, kept: int) -> int:
    shared.value = kept + 1
    return kept


@action("add")
async def _add(shared: Shared, name: str, kept: int) -> int:
    shared.add(10)
    return kept


@action("pause")
async def _pause(shared: Shared, name: str, kept: int) -> int:
    await asyncio.sleep(0)
    return kept


@action("lock")
async def _lock(shared: Shared, name: str, kept: int) -> int:
    async with shared.lock:
        kept = shared.value
        await asyncio.sleep(0)
        shared.value = kept + 1
    return kept


@action("set")
async def _set(shared: Shared, name: str, kept: int) -> int:
    shared.event.set()
    return kept


@action("wait")
async def _wait(shared: Shared, name: str, kept: int) -> int:
    await shared.event.wait()
    return kept


@action("put")
async def _put(shared: Shared, name: str, kept: int) -> int:
    shared.queue.put_nowait(shared.value)
    return kept


@action("get")
async def _get(shared: Shared, name: str, kept: int) -> int:
    shared.log.append((name, "got", await shared.queue.get()))
    return kept


@action("call")
async def _call(shared: Shared, name: str, kept: int) -> int:
    asyncio.get_running_loop().call_soon(shared.log.append, (name, "called"))
    return kept


@action("future")
async def _future(shared: Shared, name: str, kept: int) -> int:
    loop = asyncio.get_running_loop()
    future = loop.create_future()
    loop.call_soon(future.set_result, 1)
    shared.value += await future
    return kept


async def _child(shared: Shared, name: str) -> None:
    await asyncio.sleep(0)
    shared.log.append((name, shared.value))
    shared.value += 1


@action("spawn")
async def _spawn(shared: Shared, name: str, kept: int) -> int:
    shared.tasks.append(asyncio.create_task(_child(shared, f"{name}.")))
    return kept


@action("sleep")
async def _sleep(shared: Shared, name: str, kept: int) -> int:
    await asyncio.sleep(1)
    return kept


@action("doze")
async def _doze(shared: Shared, name: str, kept: int) -> int:
    await asyncio.sleep(0.5)
    return kept


@action("wait within")
async def _wait_within(shared: Shared, name: str, kept: int) -> int:
    try:
        async with asyncio.timeout(1):
            await shared.event.wait()
        shared.log.append((name, "in time"))
    except TimeoutError:
        shared.log.append((name, "too late"))
    return kept


@action("common")
async def _common(shared: Shared, name: str, kept: int) -> int:
    shared.common.log.append(name)
    return kept


@action("see common")
async def _see_common(shared: Shared, name: str, kept: int) -> int:
    shared.log.append((name, len(shared.common.log)))
    return kept


@action("class")
async def _class(shared: Shared, name: str, kept: int) -> int:
    Common.value += 1
    return kept


@action("see class")
async def _see_class(shared: Shared, name: str, kept: int) -> int:
    shared.log.append((name, Common.value))
    return kept


@action("enclosed")
async def _enclosed(shared: Shared, name: str, kept: int) -> int:
    shared.functions[0]()
    return kept


@action("see enclosed")
async def _see_enclosed(shared: Shared, name: str, kept: int) -> int:
    shared.log.append((name, shared.functions[1]()))
    return kept


@action("function")
async def _function(shared: Shared, name: str, kept: int) -> int:
    enclosing.value = name  # type: ignore[attr-defined]
    return kept


@action("global")
async def _global(shared: Shared, name: str, kept: int) -> int:
    global of_all
    of_all = name
    return kept


@action("see global")
async def _see_global(shared: Shared, name: str, kept: int) -> int:
    shared.log.append((name, of_all))
    return kept


@action("default")
async def _default(shared: Shared, name: str, kept: int, seen: list[str] = []) -> int:
    seen.append(name)
    shared.log.append((name, *seen))
    return kept


@action("name")
async def _name(shared: Shared, name: str, kept: int) -> int:
    shared.log.append((name, len(asyncio.all_tasks())))
    return kept


@action("fail")
async def _fail(shared: Shared, name: str, kept: int) -> int:
    raise ValueError(name)


@action("exit")
async def _exit(shared: Shared, name: str, kept: int) -> int:
    raise asyncio.CancelledError


@action("stop")
async def _stop(shared: Shared, name: str, kept: int) -> int:
    if shared.tasks:
        shared.tasks[0].cancel()
    return kept


of_all = ""


async def act(shared: Shared, name: str, actions: tuple[Any, ...]) -> None:
    """One action after the other."""
    kept = 0
    for each in actions:
        kept = await each(shared, name, kept)
    shared.log.append((name, "end"))


def work(shared: Shared, name: str, kinds: Task) -> Any:
    """What a task of a program does."""
    return act(shared, name, tuple(ACTIONS[kind] for kind in kinds))


async def together(works: list[Any], seen: Shared | None = None) -> None:
    """Tasks that are waited for by another one, which looks at what is shared by others, then."""
    await asyncio.gather(*works)
    if seen is not None:
        seen.log.append(("together", seen.value))
        seen.value += 1


async def join(how: str, tasks: list[Any]) -> None:
    """Wait for tasks."""
    if how == "group":
        async with asyncio.TaskGroup() as group:
            for each in tasks:
                group.create_task(each)
    elif how == "each":
        for each in [asyncio.ensure_future(each) for each in tasks]:
            await each
    elif how == "wait":
        await asyncio.wait([asyncio.ensure_future(each) for each in tasks])
    else:
        await asyncio.gather(*tasks, return_exceptions=how == "gather all")


def outcome_of(program: Program) -> tuple[Any, ...]:
    """Run a program once, by whatever event loop is in control."""
    global of_all
    how, groups, beside = program
    Common.value, of_all = 0, ""
    _default.__defaults__[0].clear()
    vars(enclosing).pop("value", None)

    async def main() -> tuple[Any, ...]:
        common = Common()
        functions = enclosing()
        everything: list[Shared] = []
        made: list[Any] = []
        for number, group in enumerate(groups):
            kinds = {kind for task in group for kind in task} | {*(beside if number == 0 else ())}
            shared = Shared(
                common if kinds & {"common", "see common"} else None,
                functions if kinds & {"enclosed", "see enclosed"} else (),
            )
            everything.append(shared)
            if how == "nested":
                works = [work(shared, f"{number}{n}", kinds) for n, kinds in enumerate(group)]
                made.append(together(works))
                continue
            for index, task in enumerate(group):
                made.append(work(shared, f"{number}{index}", task))
                if how != "group" and index == 0 and "stop" in kinds:
                    made[-1] = asyncio.ensure_future(made[-1])
                    shared.tasks.append(made[-1])
        other = asyncio.create_task(work(everything[0], "beside", beside)) if beside else None
        if how == "seen":
            first = len(groups[0])
            made[first:] = [together(made[first:], everything[0])]
        ended = ""
        try:
            await join(how, made)
        except (ValueError, ExceptionGroup, asyncio.CancelledError) as error:
            ended = type(error).__name__
        seen = (
            [(*shared.log, shared.value) for shared in everything],
            common.log,
            Common.value,
            functions[1](),
            vars(enclosing).get("value"),
            of_all,
            ended,
            other is not None and other.done(),
        )
        result = (str(seen),)
        left = {each for each in asyncio.all_tasks() if each is not asyncio.current_task()}
        # The set has them in the order of addresses.
        for each in sorted(left, key=lambda task: int(task.get_name().partition("-")[2])):
            each.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        return result

    return asyncio.run(main())


def reached(program: Program, strategy: str, timeouts: str) -> tuple[set[Any], int]:
    """All that a strategy comes to, to its end, and in how many executions."""
    found: set[tuple[Any, ...]] = set()
    options = ExploreOptions(
        strategy=strategy, executions=30_000, bound=None, timeouts=timeouts, seconds=120
    )
    result = explorer_of(lambda: found.add(outcome_of(program)), "program", options).explore()
    assert not result.failures, result.failures[0].outcome
    assert result.verdict.kind is VerdictKind.HOLDS, (program, result.verdict)
    return found, result.executions


def compare(program: Program, strategy: str, timeouts: str) -> tuple[int, int]:
    """The outcomes of both searches are the same; how many executions each takes."""
    few, with_few = reached(program, strategy, timeouts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(apart.Apart, "needed", lambda self, found, queue, early: (found, True))
        all_of_them, with_all = reached(program, "dfs", timeouts)
    assert few == all_of_them
    return with_few, with_all


def of_kinds(kinds: tuple[str, ...]) -> Callable[[Any], Any]:
    """A test of programs whose tasks do such things."""

    def decorate(test: Any) -> Any:
        test = settings(
            max_examples=examples(25),
            deadline=None,
            phases=(
                __import__("hypothesis").Phase.explicit,
                __import__("hypothesis").Phase.generate,
            ),
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
        )(test)
        return given(program=programs_of(kinds, 2, 5))(test)

    return decorate


@pytest.mark.parametrize("timeouts", ["early", "late"])
# Who waits for the second and the third shares something with the first.
@example(program=("seen", ((("pause", "read"),), (("pause",),), (("pause",),)), ()))
# What a group does may end a turn in which another one could still come.
@example(program=("nested", ((("set",), ("get",), ("put",)), (("future",), ("pause",))), ()))
@of_kinds(WITHIN)
def test_groups_that_share_nothing_have_the_outcomes_of_brute_force(
    timeouts: str, program: Program
) -> None:
    compare(program, "dpor", timeouts)


@pytest.mark.parametrize("timeouts", ["early", "late"])
@example(program=("gather", ((("pause", "fail"),), (("pause", "add", "pause", "add"),)), ()))
@example(program=("nested", ((("pause",),), (("exit",), ("read",))), ()))
@of_kinds((*WITHIN, *ENDING, *ENDING))
def test_so_do_those_of_which_some_fail_or_are_cancelled(timeouts: str, program: Program) -> None:
    compare(program, "dpor", timeouts)


@pytest.mark.parametrize("strategy", ["dpor", "ipb"])
@example(program=("gather", ((("pause", "class"),), (("pause", "see class"),)), ()))
@example(program=("gather", ((("pause", "function"),), (("pause", "function"),)), ()))
@example(program=("gather", ((("pause", "enclosed"),), (("pause", "see enclosed"),)), ()))
@of_kinds((*WITHIN[:8], *ACROSS, *ACROSS))
def test_so_do_those_that_share_more_than_one_sees(strategy: str, program: Program) -> None:
    compare(program, strategy, "late")


PAUSES = ("pause", "pause")


@pytest.mark.parametrize(
    ("program", "most"),
    [
        (("gather", ((PAUSES,), (PAUSES,), (PAUSES,)), ()), 3),
        (("group", ((PAUSES,), (PAUSES,), (PAUSES,)), ()), 3),
        (("gather", ((("read", "pause", "write"),) * 2,) * 2, ()), 6),
        pytest.param(
            *(("nested", ((("get",), ("pause", "put")),) * 2, ()), 3),
            marks=pytest.mark.skipif(
                sys.version_info >= (3, 14), reason="a gather in a task leads to who waits for it"
            ),
        ),
        (("gather", ((("sleep",),), (("doze", "pause"),), (PAUSES,)), ()), 3),
        (("gather", ((("future", "future"),), (("future", "pause"),)), ()), 3),
    ],
)
def test_what_shares_nothing_is_run_in_one_order(program: Program, most: int) -> None:
    """As many executions as there are orders within the groups, beside two to look closer."""
    few, every = compare(program, "dpor", "early")
    assert few <= most < every


def test_abstract_classes_that_know_a_class_are_not_in_the_way() -> None:
    """An abstract base class that was asked about a class has a weak reference to it."""

    class Box:
        value = 0

    assert not isinstance(Box(), Mapping)

    async def work() -> None:
        box = Box()
        await asyncio.sleep(0)
        box.value += 1

    async def main() -> None:
        await asyncio.gather(work(), work(), work())

    options = ExploreOptions(strategy="dpor")
    result = explorer_of(lambda: asyncio.run(main()), "boxes", options).explore()
    assert result.verdict.kind is VerdictKind.HOLDS
    assert result.executions <= 3
