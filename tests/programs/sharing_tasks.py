"""Two tasks of an event loop that share something in a way that is easily overlooked.

Each fails in some order of its tasks: they must not be taken for tasks that share nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import io
import itertools
import logging
import os
import random
import string
import tempfile
import types
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any

_seen: list[int] = []
_variable: ContextVar[list[int]] = ContextVar("_variable")


def _two(task: Callable[[int], Awaitable[Any]]) -> list[Any]:
    """What two tasks return, the first called with 1 and the second with 2."""

    async def main() -> list[Any]:
        return [*await asyncio.gather(task(1), task(2))]

    return asyncio.run(main())


def _after_a_turn(act: Callable[[int], Any]) -> list[Any]:
    """The same, where each gives way once and then calls a function."""

    async def task(number: int) -> Any:
        await asyncio.sleep(0)
        return act(number)

    return _two(task)


def global_list() -> None:
    _seen.clear()
    _after_a_turn(_seen.append)
    assert _seen == [1, 2]


def standard_output() -> None:
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        _after_a_turn(print)
    assert output.getvalue() == "1\n2\n"


def environment() -> None:
    _after_a_turn(lambda number: os.environ.update(BOHRBUG_EXAMPLE=str(number)))
    assert os.environ.pop("BOHRBUG_EXAMPLE") == "2"


def random_numbers() -> None:
    random.seed(1)
    first, _ = _after_a_turn(lambda number: random.random())
    random.seed(1)
    assert first == random.random()


def counter() -> None:
    numbers = itertools.count()
    assert _after_a_turn(lambda number: next(numbers)) == [0, 1]


def counter_as_a_default() -> None:
    def count(number: int, numbers: Iterator[int] = itertools.count()) -> int:
        return next(numbers)

    first, second = _after_a_turn(count)
    assert first < second


def partial() -> None:
    seen: list[int] = []
    _after_a_turn(functools.partial(seen.append))
    assert seen == [1, 2]


def object_of_bound_methods() -> None:
    class Collector:
        def __init__(self) -> None:
            self.seen: list[int] = []

        async def collect(self, number: int) -> None:
            await asyncio.sleep(0)
            self.seen.append(number)

    collector = Collector()
    _two(collector.collect)
    assert collector.seen == [1, 2]


def setattr_bound_to_an_object() -> None:
    box: Any = types.SimpleNamespace(number=0)
    store = types.MethodType(setattr, box)
    _after_a_turn(lambda number: store("number", number))
    assert box.number == 2


def context_variable() -> None:
    async def main() -> list[int]:
        _variable.set([])

        async def task(number: int) -> None:
            await asyncio.sleep(0)
            _variable.get().append(number)

        await asyncio.gather(task(1), task(2))
        return _variable.get()

    assert asyncio.run(main()) == [1, 2]


def attribute_of_the_loop() -> None:
    def act(number: int) -> tuple[int, ...]:
        loop: Any = asyncio.get_running_loop()
        loop.seen = (*getattr(loop, "seen", ()), number)
        return loop.seen  # type: ignore[no-any-return]

    assert len(_after_a_turn(act)[1]) == 2


def attribute_stored_on_the_loop() -> None:
    def act(number: int) -> None:
        asyncio.get_running_loop().number = number  # type: ignore[attr-defined]

    async def main() -> int:
        async def task(number: int) -> None:
            await asyncio.sleep(0)
            act(number)

        await asyncio.gather(task(1), task(2))
        loop: Any = asyncio.get_running_loop()
        return loop.number  # type: ignore[no-any-return]

    assert asyncio.run(main()) == 2


def loop_of_a_lock() -> None:
    async def main() -> int:
        async def task(number: int, lock: Any) -> None:
            async with lock:
                await asyncio.sleep(0)
                lock._get_loop().number = number

        await asyncio.gather(task(1, asyncio.Lock()), task(2, asyncio.Lock()))
        loop: Any = asyncio.get_running_loop()
        return loop.number  # type: ignore[no-any-return]

    assert asyncio.run(main()) == 2


def attribute_of_a_class_of_asyncio() -> None:
    queue: Any = asyncio.Queue

    async def task(number: int) -> None:
        await asyncio.sleep(0)
        asyncio.Queue.number = number  # type: ignore[attr-defined]

    _two(task)
    assert queue.number == 2


def attribute_of_a_partial() -> None:
    function: Any = functools.partial(int)

    def act(number: int) -> None:
        function.number = number

    _after_a_turn(act)
    assert function.number == 2


def attribute_of_a_module() -> None:
    module: Any = string
    module.seen = ()

    def act(number: int) -> None:
        module.seen += (number,)

    _after_a_turn(act)
    assert module.seen == (1, 2)


def all_tasks() -> None:
    assert _after_a_turn(lambda number: len(asyncio.all_tasks())) == [3, 2]


def names_of_tasks() -> None:
    async def name() -> str:
        task = asyncio.current_task()
        assert task is not None
        return task.get_name()

    async def task(number: int) -> str:
        await asyncio.sleep(0)
        return await asyncio.create_task(name())

    first, second = _two(task)
    assert int(first.removeprefix("Task-")) < int(second.removeprefix("Task-"))


def logger() -> None:
    records: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = records.append  # type: ignore[method-assign]
    log = logging.getLogger("tests.sharing_tasks")
    log.addHandler(handler)
    try:
        _after_a_turn(lambda number: log.warning("%s", number))
    finally:
        log.removeHandler(handler)
    assert [record.args for record in records] == [(1,), (2,)]


def finalizers() -> None:
    seen: list[int] = []

    class Dying:
        def __init__(self, number: int) -> None:
            self.number = number

        def __del__(self) -> None:
            seen.append(self.number)

    async def task(held: Dying) -> None:
        await asyncio.sleep(0)
        del held

    async def main() -> None:
        await asyncio.gather(task(Dying(1)), task(Dying(2)))

    asyncio.run(main())
    assert seen == [1, 2]


def callbacks_of_tasks() -> None:
    seen: list[int] = []

    async def main() -> None:
        tasks = [asyncio.create_task(asyncio.sleep(0)) for _ in range(2)]
        for number, task in enumerate(tasks):
            task.add_done_callback(lambda _, number=number: seen.append(number))  # type: ignore[misc]
        await asyncio.gather(*tasks)

    asyncio.run(main())
    assert seen == [0, 1]


def file() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "numbers"

        def act(number: int) -> None:
            with path.open("a") as stream:
                stream.write(str(number))

        _after_a_turn(act)
        assert path.read_text() == "12"


def weak_reference() -> None:
    class Shared:
        def __init__(self) -> None:
            self.seen: list[int] = []

    shared = Shared()
    reference = weakref.ref(shared)

    def act(number: int) -> None:
        found = reference()
        assert found is not None
        found.seen.append(number)

    _after_a_turn(act)
    assert shared.seen == [1, 2]


def _told_of_ends(
    make: Callable[[], Any], refer: Callable[[Any, Any], Any] = weakref.ref
) -> list[int]:
    """In which order two tasks let go of what each has alone."""
    seen: list[int] = []
    kept = []

    async def let_go(held: list[Any]) -> None:
        await asyncio.sleep(0)
        held.clear()

    async def main() -> None:
        boxes: list[list[Any]] = [[make()], [make()]]
        for number, box in enumerate(boxes):
            kept.append(refer(box[0], lambda _, number=number: seen.append(number)))  # type: ignore[misc]
        await asyncio.gather(*map(let_go, boxes))

    asyncio.run(main())
    return seen


def callbacks_at_the_end_of_sets() -> None:
    assert _told_of_ends(set) == [0, 1]


def callbacks_of_proxies() -> None:
    assert _told_of_ends(set, weakref.proxy) == [0, 1]


def callbacks_at_the_end_of_locks() -> None:
    assert _told_of_ends(asyncio.Lock) == [0, 1]


def callbacks_at_the_end_of_functions() -> None:
    assert _told_of_ends(lambda: lambda: None) == [0, 1]


def callbacks_at_the_end_of_futures() -> None:
    assert _told_of_ends(lambda: asyncio.get_running_loop().create_future()) == [0, 1]


def weak_dictionary() -> None:
    class Value:
        pass

    known: weakref.WeakValueDictionary[str, Value] = weakref.WeakValueDictionary()

    async def let_go(held: list[Value]) -> None:
        await asyncio.sleep(0)
        held.clear()

    async def look() -> bool:
        await asyncio.sleep(0)
        return "value" in known

    async def main() -> bool:
        held = [Value()]
        known["value"] = held[0]
        return (await asyncio.gather(let_go(held), look()))[1]

    assert not asyncio.run(main())


def generator() -> None:
    def numbers() -> Iterator[int]:
        yield from (0, 1)

    shared = numbers()
    assert _after_a_turn(lambda number: next(shared)) == [0, 1]


def cache() -> None:
    @functools.lru_cache
    def compute(number: int) -> object:
        return object()

    def act(number: int) -> int:
        compute(number)
        return compute.cache_info().misses

    assert _after_a_turn(act) == [1, 2]


def those_who_wait_for_them() -> None:
    seen: list[int] = []

    async def observe(task: asyncio.Task[None], number: int) -> None:
        await task
        seen.append(number)

    async def main() -> None:
        first, second = (asyncio.create_task(asyncio.sleep(0)) for _ in range(2))
        await asyncio.gather(observe(first, 1), observe(second, 2))

    asyncio.run(main())
    assert seen == [1, 2]


async def _number_later(number: int) -> int:
    await asyncio.sleep(0)
    return number


def as_completed() -> None:
    async def main() -> list[int]:
        return [await each for each in asyncio.as_completed([_number_later(1), _number_later(2)])]

    assert asyncio.run(main()) == [1, 2]


def first_completed() -> None:
    async def main() -> bool:
        tasks = [asyncio.create_task(_number_later(number)) for number in (1, 2)]
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return tasks[0] in done

    assert asyncio.run(main())


def first_failure() -> None:
    async def fail(number: int) -> None:
        await asyncio.sleep(0)
        raise ValueError(number)

    try:
        _two(fail)
    except ValueError as error:
        assert error.args == (1,)


def failure_in_a_group() -> None:
    async def fail() -> None:
        await asyncio.sleep(0)
        raise ValueError

    async def main() -> bool:
        with contextlib.suppress(BaseExceptionGroup):
            async with asyncio.TaskGroup() as group:
                task = group.create_task(_number_later(1))
                group.create_task(fail())
        return task.cancelled()

    assert asyncio.run(main())


def task_made_behind_that_of_another() -> None:
    """It may begin before the one that is late goes on, though not before what stands in front."""

    async def note(seen: list[str], what: str) -> None:
        seen.append(what)

    async def late(seen: list[str]) -> None:
        await asyncio.sleep(0)
        seen.append("late")

    async def making(seen: list[str]) -> None:
        await asyncio.create_task(note(seen, "made"))

    async def main() -> list[str]:
        shared: list[str] = []
        await asyncio.gather(late(shared), making([]), making(shared))
        return shared

    assert asyncio.run(main()) == ["late", "made"]


def one_who_polls_them() -> None:
    async def main() -> bool:
        first, second = (asyncio.create_task(_number_later(number)) for number in (1, 2))
        while not (first.done() or second.done()):
            await asyncio.sleep(0)
        return first.done()

    assert asyncio.run(main())


def lost_update_beside_a_monitor() -> None:
    count = 0

    async def monitor() -> None:
        while True:
            await asyncio.sleep(0)

    async def increment() -> None:
        nonlocal count
        before = count
        await asyncio.sleep(0)
        count = before + 1

    async def main() -> None:
        watching = asyncio.create_task(monitor())
        await asyncio.gather(increment(), increment())
        watching.cancel()

    asyncio.run(main())
    assert count == 2


def deadlock_beside_private_tasks() -> None:
    async def main() -> None:
        left, right = asyncio.Lock(), asyncio.Lock()

        async def hold(first: asyncio.Lock, second: asyncio.Lock) -> None:
            async with first:
                await asyncio.sleep(0)
                async with second:
                    pass

        async def private() -> None:
            for _ in range(3):
                await asyncio.sleep(0)

        await asyncio.gather(hold(left, right), private(), hold(right, left), private())

    asyncio.run(main())


def events_seen_by_a_third() -> None:
    async def main() -> bool:
        events = [asyncio.Event(), asyncio.Event()]

        async def work(event: asyncio.Event) -> None:
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            event.set()

        async def look() -> bool:
            await events[0].wait()
            return events[1].is_set()

        return (await asyncio.gather(work(events[0]), work(events[1]), look()))[2]

    assert asyncio.run(main())


def registry_of_subclasses() -> None:
    class Base:
        names: list[str] = []

        def __init_subclass__(cls) -> None:
            Base.names.append(cls.__name__)

    _after_a_turn(lambda number: type(f"Made{number}", (Base,), {}))
    assert Base.names == ["Made1", "Made2"]


def property_of_their_class() -> None:
    seen: list[int] = []

    class Private:
        def __init__(self, number: int) -> None:
            self.number = number

        @property
        def value(self) -> int:
            seen.append(self.number)
            return self.number

    _after_a_turn(lambda number: Private(number).value)
    assert seen == [1, 2]


def attribute_of_their_class() -> None:
    class Private:
        made = 0

        def __init__(self) -> None:
            type(self).made += 1
            self.number = self.made

    assert _after_a_turn(lambda number: Private().number) == [1, 2]


class _Flagged:
    is_busy = False


def flag_of_a_class_that_is_put_back() -> None:
    async def use(collided: list[bool], turns: int) -> None:
        for _ in range(turns):
            await asyncio.sleep(0)
        collided.append(_Flagged.is_busy)
        _Flagged.is_busy = True
        await asyncio.sleep(0)
        _Flagged.is_busy = False

    async def main() -> list[bool]:
        first: list[bool] = []
        second: list[bool] = []
        await asyncio.gather(use(first, 1), use(second, 5))
        return first + second

    assert asyncio.run(main()) == [False, False]


def special_method_in_c_of_their_class() -> None:
    seen: list[int] = []

    class Private:
        __call__ = seen.append

    _after_a_turn(lambda number: Private()(number))  # type: ignore[misc]
    assert seen == [1, 2]


def descriptor_of_their_class() -> None:
    class Logged:
        def __init__(self) -> None:
            self.seen: list[int] = []

        def __get__(self, owner: Any, class_: Any = None) -> int:
            self.seen.append(owner.number)
            return 1

    descriptor = Logged()

    class Private:
        value = descriptor

        def __init__(self, number: int) -> None:
            self.number = number

    _after_a_turn(lambda number: Private(number).value)
    assert descriptor.seen == [1, 2]


def metaclass() -> None:
    made: list[int] = []

    class Meta(type):
        def __call__(cls, number: int) -> Any:
            made.append(number)
            return super().__call__()

    class Made(metaclass=Meta):
        pass

    make: Any = Made
    _after_a_turn(make)
    assert made == [1, 2]


def hashes() -> None:
    seen: list[int] = []

    class Key:
        def __init__(self, number: int) -> None:
            self.number = number

        def __hash__(self) -> int:
            seen.append(self.number)
            return 1

    keys = {1: Key(1), 2: Key(2)}
    _after_a_turn(lambda number: {keys[number]})
    assert seen == [1, 2]


def asynchronous_generators() -> None:
    seen: list[int] = []

    async def numbers(number: int) -> AsyncIterator[int]:
        yield number
        seen.append(number)

    async def task(number: int) -> None:
        async for _ in numbers(number):
            await asyncio.sleep(0)

    _two(task)
    assert seen == [1, 2]


def asynchronous_context_managers() -> None:
    seen: list[int] = []

    @contextlib.asynccontextmanager
    async def entered(number: int) -> AsyncIterator[None]:
        await asyncio.sleep(0)
        seen.append(number)
        yield

    async def task(number: int) -> None:
        async with entered(number):
            await asyncio.sleep(0)

    _two(task)
    assert seen == [1, 2]
