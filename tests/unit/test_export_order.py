"""From failing executions to the turns and steps that are forced."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable

import pytest

import bohrbug
from bohrbug.export.order import Moment, Place, order_of, short_path
from bohrbug.export.refusals import CannotExport, check_exportable
from bohrbug.export.steps import has_event_loop, steps_of
from bohrbug.model.operation import CHOOSE, RESUME, SIGNAL, Operation
from bohrbug.model.outcome import Outcome, OutcomeKind
from bohrbug.model.trace import Trace
from tests.programs.together import together


def failing(test: Callable[[], object]) -> Trace:
    result = bohrbug.explore(test, causes=0)
    assert result.failures, result.verdict
    return result.failures[0].trace


def lost_update() -> None:
    values = [0]

    def add() -> None:
        value = values[0]
        values[0] = value + 1

    together(add, add)
    assert values == [2]


def deadlock() -> None:
    first, second = threading.Lock(), threading.Lock()

    def take(one: threading.Lock, other: threading.Lock) -> None:
        with one:
            with other:
                pass

    together(lambda: take(first, second), lambda: take(second, first))


def condition() -> None:
    changed = threading.Condition()
    items: list[int] = []

    def take() -> None:
        with changed:
            if not items:
                changed.wait()
            items.pop()

    def give() -> None:
        with changed:
            items.append(1)
            changed.notify()

    together(take, take, give, give)


def test_a_turn_begins_where_a_thread_was_preempted() -> None:
    order = order_of(failing(lost_update))

    first, one, other, again, *_ = order.turns
    assert [turn.task for turn in (first, one, other, again)] == ["0", "0.1", "0.2", "0.1"]
    assert [turn.begin for turn in (first, one, other)] == [Moment.START] * 3
    assert isinstance(again.begin, Place)
    assert again.begin.text == "values[0] = value + 1"
    assert again.begin.instruction == "STORE_SUBSCR"
    assert again.preempted
    assert order.preemptions == 1


def test_what_waits_in_a_deadlock_comes_last() -> None:
    order = order_of(failing(deadlock))

    waiting = [turn for turn in order.turns[-3:] if isinstance(turn.begin, Place)]
    assert sorted(turn.task for turn in waiting) == ["0", "0.1", "0.2"]
    assert [turn.begin.text for turn in waiting if isinstance(turn.begin, Place)].count(
        "with other:"
    ) == 2


def test_who_is_notified_is_held_up_before_it_has_the_lock_again() -> None:
    order = order_of(failing(condition))

    assert Moment.WOKEN in [turn.begin for turn in order.turns]


def test_an_arrival_counts_from_the_last_turn_on() -> None:
    def third_round() -> None:
        values: list[int] = []

        def add() -> None:
            for value in range(3):
                values.append(value)

        def look() -> None:
            assert len(values) != 2

        together(add, look)

    order = order_of(failing(third_round))

    place, *_ = [turn for turn in order.turns if turn.task == "0.1" and turn.begin != Moment.START]
    assert isinstance(place.begin, Place)
    assert place.begin.text == "values.append(value)"
    assert place.times == 3


def test_a_fired_timeout_is_told() -> None:
    def impatient() -> None:
        items: queue.Queue[int] = queue.Queue()
        together(lambda: items.get(timeout=0.1), lambda: items.put(1))

    order = order_of(failing(impatient))

    assert [turn.task for turn in order.turns if turn.has_timeout] == ["0.1"]


def test_the_steps_of_an_event_loop() -> None:
    async def add_twice() -> None:
        values = [0]

        async def add() -> None:
            value = values[0]
            await asyncio.sleep(0)
            values[0] = value + 1

        await asyncio.gather(add(), add())
        assert values == [2]

    trace = failing(lambda: asyncio.run(add_twice()))
    steps = steps_of(trace)

    assert has_event_loop(trace)
    main, one, other = list(dict.fromkeys(steps.steps))[:3]
    assert steps.steps[:6] == (main, one, other, one, other, main)
    assert [name.rpartition(".")[2] for _, name in steps.names[:3]] == ["add_twice", "add", "add"]


def test_threads_beside_an_event_loop_make_no_steps_of_it() -> None:
    async def in_a_thread() -> None:
        values: list[int] = []
        await asyncio.to_thread(values.append, 1)
        assert not values

    trace = failing(lambda: asyncio.run(in_a_thread()))
    steps = steps_of(trace)

    threads = {task for task, operation in trace_rows(trace) if operation.resource == task}
    assert threads
    assert not threads & set(steps.steps)


def trace_rows(trace: Trace) -> list[tuple[str, Operation]]:
    return list(zip(trace.tasks, trace.operations, strict=True))


def test_where_no_instruction_is_known_nothing_can_pause() -> None:
    trace = failing(lost_update)
    step = trace.tasks.index("0.1", trace.tasks.index("0.2"))
    trace.operations[step] = trace.operations[step]._replace(place=None)

    with pytest.raises(CannotExport, match="no instruction of the program is known"):
        order_of(trace)


@pytest.mark.parametrize("kind", [OutcomeKind.RACE, OutcomeKind.LIVELOCK, OutcomeKind.PASSED])
def test_what_is_no_failure_of_ordinary_threads_is_refused(kind: OutcomeKind) -> None:
    with pytest.raises(CannotExport):
        check_exportable(Trace(outcome=Outcome(kind)))


def choosing(operation: Operation, value: int) -> Trace:
    outcome = Outcome(OutcomeKind.ASSERTION)
    return Trace(operations=[operation], choices=[value], arities={0: 2}, outcome=outcome)


@pytest.mark.parametrize(
    ("operation", "reason"),
    [
        (Operation(CHOOSE, "choose", None), "bohrbug.choose"),
        (Operation(CHOOSE, "fault:read", None), "lets a call fail"),
        (Operation(CHOOSE, "fault:cancel 0.1", None), "cancels a task"),
        (Operation(SIGNAL, "signal", None), "signal"),
    ],
)
def test_what_nobody_does_to_ordinary_programs_is_refused(
    operation: Operation, reason: str
) -> None:
    with pytest.raises(CannotExport, match=reason):
        check_exportable(choosing(operation, 1))


def test_a_choice_to_do_nothing_is_no_obstacle() -> None:
    check_exportable(choosing(Operation(CHOOSE, "fault:cancel 0.1", None), 0))
    check_exportable(choosing(Operation(RESUME, "0:1", None), 0))
    with pytest.raises(CannotExport):
        check_exportable(choosing(Operation(CHOOSE, "choose", None), 0))


def test_long_virtual_times_are_refused() -> None:
    outcome = Outcome(OutcomeKind.ASSERTION)

    check_exportable(Trace(outcome=outcome, virtual_time=1.0))
    with pytest.raises(CannotExport, match="60 s of virtual time"):
        check_exportable(Trace(outcome=outcome, virtual_time=60.0))
    check_exportable(Trace(outcome=Outcome(OutcomeKind.DEADLOCK), virtual_time=60.0))


def test_files_of_libraries_are_named_as_they_are_imported() -> None:
    assert short_path(threading.__file__) == "threading.py"
    assert short_path(pytest.__file__) == "pytest/__init__.py"
    assert short_path("/elsewhere/of/nobody/program.py") == "program.py"
