"""Deadlocks and races predicted from passing executions, then confirmed or not."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

import bohrbug
from bohrbug.exploration.prediction import TRIES, Predictor, _places_of
from bohrbug.exploration.result import Result, VerdictKind
from bohrbug.model.conditions import Level
from bohrbug.model.operation import ACQUIRE, RELEASE, WAIT, WAKE, Operation, Resource
from bohrbug.model.outcome import BlockedTask, Outcome, OutcomeKind, Race
from bohrbug.model.plan import Plan, UniformRandom
from bohrbug.model.trace import Trace
from bohrbug.monitors.lock_order import (
    LockCycle,
    lock_cycles,
    nestings_of,
    per_task_history_hash,
)
from bohrbug.monitors.weak_order import PossibleRace
from bohrbug.platforms.threads.platform import ThreadsPlatform, threads_runtime
from bohrbug.report.prediction import prediction_in_words
from bohrbug.runtime.threads.rewrite.scope import Scope
from bohrbug.runtime.threads.settings import Settings
from tests.programs.together import together
from tests.simulated import Instruction, Program, execute

Task = list[tuple[str, str]]


def program_of(*tasks: Task, spawned: tuple[str, ...] = ()) -> Program:
    """A program with these tasks, each a list of instructions."""
    return Program(
        tuple(
            ("0" if not n else f"0.{n}", tuple(Instruction(*step) for step in task))
            for n, task in enumerate(tasks)
        ),
        spawned=frozenset(spawned),
    )


def passing(*tasks: Task, spawned: tuple[str, ...] = (), plan: Plan = Plan()) -> Trace:
    """One execution, without preemptions if no plan is given; each task a list of instructions."""
    trace, final = execute(program_of(*tasks, spawned=spawned), plan)
    assert final[0] == "done"
    locks = {operation.resource for operation in trace.operations}
    trace.resources.update((lock, Resource(lock, "Lock", lock)) for lock in locks)
    return trace


def nested(*locks: str) -> Task:
    return [*(("acquire", lock) for lock in locks), *(("release", lock) for lock in locks)]


def cycles(trace: Trace) -> list[LockCycle]:
    return list(lock_cycles(nestings_of(trace)))


def test_two_orders_of_two_locks_are_a_cycle() -> None:
    (cycle,) = cycles(passing(nested("a", "b"), nested("b", "a")))
    assert cycle.tasks == {"0", "0.1"}
    assert {(n.held.id, n.wanted.id) for n in cycle.nestings} == {("0:a", "0:b"), ("0:b", "0:a")}


def test_three_tasks_in_a_ring() -> None:
    ring = passing(nested("a", "b"), nested("b", "c"), nested("c", "a"))
    (cycle,) = cycles(ring)
    assert len(cycle.nestings) == 3
    assert len(cycle.orderings) == 3


@pytest.mark.parametrize(
    "tasks",
    [
        (nested("a", "b"), nested("a", "b")),
        (nested("a", "b"), nested("c", "a")),
        # Of one task alone.
        ([*nested("a", "b"), *nested("b", "a")], nested("c")),
        # A gate lock keeps them apart.
        (nested("g", "a", "b"), nested("g", "b", "a")),
    ],
    ids=["same order", "no cycle", "one task", "gate lock"],
)
def test_what_is_no_cycle(tasks: tuple[Task, ...]) -> None:
    assert cycles(passing(*tasks)) == []


def test_tasks_that_never_run_at_the_same_time_make_no_cycle() -> None:
    joined = [("spawn", "0.1"), ("join", "0.1"), *nested("b", "a")]
    assert cycles(passing(joined, [*nested("a", "b"), ("end", "")], spawned=("0.1",))) == []
    before = [*nested("b", "a"), ("spawn", "0.1")]
    begins = [("begin", ""), *nested("a", "b")]
    assert cycles(passing(before, begins, spawned=("0.1",))) == []
    # In between they do.
    between = [("spawn", "0.1"), *nested("b", "a")]
    assert len(cycles(passing(between, begins, spawned=("0.1",)))) == 1


def test_what_a_semaphore_lets_through_is_not_held() -> None:
    trace = passing(nested("a", "b"), nested("b", "a"))
    trace.resources["0:a"] = Resource("0:a", "Semaphore", "a")
    assert cycles(trace) == []


def test_a_try_that_succeeds_holds_the_lock_but_never_waits_for_one() -> None:
    tried = [("try", "a"), ("acquire", "b"), ("release", "b"), ("release", "a")]
    assert len(cycles(passing(tried, nested("b", "a")))) == 1
    never_waits = [("acquire", "a"), ("try", "b"), ("release", "b"), ("release", "a")]
    assert cycles(passing(never_waits, nested("b", "a"))) == []


def test_the_search_for_cycles_is_bounded() -> None:
    locks = [f"l{n}" for n in range(12)]
    tasks = [nested(a, b) for a in locks for b in locks if a != b]
    found = cycles(passing(*tasks[:60]))
    assert len(found) < 20_000


def test_what_tasks_did_is_the_same_in_whatever_order_they_ran() -> None:
    tasks = (nested("g", "a", "b"), nested("g", "b", "a"), nested("g", "c", "a"))
    traces = [passing(*tasks, plan=Plan(policy=UniformRandom(seed))) for seed in range(20)]
    assert len({tuple(trace.choices) for trace in traces}) > 5
    assert {per_task_history_hash(trace) for trace in traces} == {per_task_history_hash(traces[0])}
    assert per_task_history_hash(traces[0]) is not None
    found = {frozenset((n.key, n.holding) for n in nestings_of(trace)) for trace in traces}
    assert len(found) == 1
    assert per_task_history_hash(passing(*tasks[:2])) != per_task_history_hash(traces[0])
    assert per_task_history_hash(passing(tasks[1], tasks[0], tasks[2])) != per_task_history_hash(
        traces[0]
    )


@pytest.mark.parametrize(
    "task",
    [
        [("try", "a"), *nested("b"), ("release", "a")],
        # Released by one who does not hold it.
        [("release", "a"), *nested("b")],
    ],
    ids=["try", "release"],
)
def test_what_tasks_hold_may_depend_on_the_order_too(task: Task) -> None:
    assert per_task_history_hash(passing([("acquire", "a")], task)) is None


# -- whole explorations --------------------------------------------------------------


def explore(test: Callable[[], object], **options: object) -> Result:
    return bohrbug.explore(test, **{"executions": 40, **options})  # type: ignore[arg-type]


def opposite_orders() -> None:
    first, second, other = threading.Lock(), threading.Lock(), threading.Lock()

    def one() -> None:
        for _ in range(6):
            with other:
                pass
        with first, second:
            pass

    def two() -> None:
        with second:
            for _ in range(6):
                with other:
                    pass
            with first:
                pass

    def noise() -> None:
        for _ in range(6):
            with other:
                pass

    together(one, two, noise)


def test_a_predicted_deadlock_is_confirmed_at_once() -> None:
    result = explore(opposite_orders)
    (failure,) = result.failures
    assert failure.outcome.kind is OutcomeKind.DEADLOCK
    assert failure.strategy == "prediction"
    assert failure.confirmed == 3
    assert result.executions < 10
    assert result.unconfirmed == []


def test_prediction_can_be_switched_off() -> None:
    result = explore(opposite_orders, predict=0, executions=10, strategy="ipb")
    assert not result.failures
    assert result.unconfirmed == []


def ordered_by_an_event() -> None:
    first, second, done = threading.Lock(), threading.Lock(), threading.Event()

    def one() -> None:
        with first, second:
            pass
        done.set()

    def two() -> None:
        done.wait()
        with second, first:
            pass

    together(one, two)


def test_what_can_not_be_confirmed_is_no_failure() -> None:
    result = explore(ordered_by_an_event, executions=10)
    assert not result.failures
    (prediction,) = result.unconfirmed
    assert isinstance(prediction.what, LockCycle)
    words = prediction_in_words(prediction)
    assert words.startswith("deadlock: task 0.1 takes Lock ")
    assert words.endswith("; could not be confirmed in 5 executions")


def test_it_is_refuted_once_all_schedules_were_executed() -> None:
    import io

    from rich.console import Console

    from bohrbug.report.text import render_result

    texts = []
    for strategy in ("random", "ipb"):
        result = explore(ordered_by_an_event, strategy=strategy, bound=None, executions=300)
        console = Console(file=io.StringIO(), width=200)
        render_result(result, console)
        texts.append((result.verdict.kind, console.file.getvalue()))  # type: ignore[attr-defined]
    assert texts[0][0] is VerdictKind.NO_FAILURE_FOUND
    assert "Predicted, not confirmed" in texts[0][1]
    assert texts[1][0] is VerdictKind.HOLDS
    assert "Predicted" not in texts[1][1]


class Box:
    def __init__(self) -> None:
        self.x = 0
        self.ready = False


def hidden_by_a_lock() -> None:
    box, lock = Box(), threading.Lock()

    def one() -> None:
        box.x = 1
        with lock:
            pass

    def two() -> None:
        with lock:
            pass
        box.x = 2

    together(one, two)


def test_a_race_that_a_lock_hides_is_predicted_and_then_seen() -> None:
    # Executions without preemptions, in which the lock is handed over, and one that is directed.
    result = explore(hidden_by_a_lock, executions=3)
    assert [race.label for race in result.races] == ["Box.x"]
    assert explore(hidden_by_a_lock, executions=3, predict=0).races == []


def predicted_beside(races: list[Race], budget: int = 5) -> list[object]:
    """The keys of the races that one execution leads to."""
    predictor = Predictor(budget)
    with threads_runtime(hidden_by_a_lock, Settings(), Level.RACY, Scope()) as runtime:
        # The first one shows which functions there are.
        runtime.execute(Plan())

        possible = ThreadsPlatform(runtime).possible_races(Plan())
        predictor.observe_races(possible, races)
    return [prediction.what.key for prediction in predictor.predictions]


def test_a_race_that_is_known_is_not_predicted() -> None:
    found = explore(hidden_by_a_lock, executions=3).races
    (key,) = predicted_beside([])
    assert key == _places_of(found[0])
    assert predicted_beside(found) == []


@pytest.mark.parametrize("predict", [0, 5])
def test_nothing_is_executed_for_predictions_that_nobody_wants(
    predict: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Plan] = []

    def possible_races(self: ThreadsPlatform, plan: Plan) -> list[PossibleRace]:
        asked.append(plan)
        return []

    monkeypatch.setattr(ThreadsPlatform, "possible_races", possible_races)
    explore(hidden_by_a_lock, executions=10, predict=predict)
    assert len(asked) == (1 if predict else 0)


def handed_over() -> None:
    box, lock = Box(), threading.Lock()

    def one() -> None:
        box.x = 1
        with lock:
            box.ready = True

    def two() -> None:
        with lock:
            ready = box.ready
        if ready:
            box.x = 2

    together(one, two)


def test_a_race_that_the_lock_keeps_from_happening_is_not_confirmed() -> None:
    result = explore(handed_over, executions=9)
    assert result.races == []
    (prediction,) = result.unconfirmed
    assert isinstance(prediction.what, PossibleRace)
    words = prediction_in_words(prediction)
    assert words.startswith("data race on Box.x: a write at ")
    assert "with no common lock" in words


def test_the_budget_of_directed_executions_is_kept() -> None:
    predictor = Predictor(3)
    predictor.observe(passing(nested("a", "b"), nested("b", "a")))
    attempts = []
    while (attempt := predictor.next_attempt()) is not None:
        attempts.append(attempt)
    assert len(attempts) == 3
    # The same again is nothing new.
    predictor.observe(passing(nested("a", "b"), nested("b", "a")))
    assert len(predictor.predictions) == 1


def deadlock_of(*names: str) -> Trace:
    """A deadlock of tasks."""
    operation = Operation(ACQUIRE, "0:a")
    blocked = tuple(BlockedTask(name, operation, (), (), ()) for name in names)
    return Trace(outcome=Outcome(OutcomeKind.DEADLOCK, blocked=blocked))


def test_a_prediction_is_confirmed_by_a_deadlock_of_its_own_tasks_only() -> None:
    predictor = Predictor(TRIES)
    predictor.observe(passing(nested("a", "b"), nested("b", "a")))
    (prediction,) = predictor.predictions
    for trace, is_confirmed in (
        (Trace(), False),
        (deadlock_of("0", "0.2"), False),
        (deadlock_of("0", "0.1", "0.2"), True),
    ):
        attempt = predictor.next_attempt()
        assert attempt is not None
        predictor.judge(attempt, trace)
        assert prediction.confirmed == is_confirmed
        assert (predictor.unconfirmed == []) == is_confirmed
    assert prediction.executions == 3


def test_what_is_confirmed_is_tried_no_more() -> None:
    predictor = Predictor(100)
    predictor.observe(passing(nested("a", "b"), nested("b", "a")))
    attempt = predictor.next_attempt()
    assert attempt is not None
    predictor.judge(attempt, deadlock_of("0", "0.1"))
    assert predictor.next_attempt() is None


def test_an_execution_that_did_what_another_did_is_not_looked_at_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked_at = []
    monkeypatch.setattr(Predictor, "_foresee", lambda _, trace: looked_at.append(trace))
    predictor = Predictor(3)
    tasks = (nested("a"), nested("b"))
    first = passing(*tasks)
    for trace in (first, passing(*tasks, plan=Plan(("0.1",))), passing(nested("a"), nested("a"))):
        predictor.observe(trace)
    assert looked_at == [first, trace]


def test_a_lock_that_a_waiting_task_has_not_got_back_yet_is_not_held() -> None:
    lock, other = "0:lock", "0:other"
    steps = [
        ("0", ACQUIRE, lock),
        ("0", WAIT, "0:condition"),
        ("0.1", ACQUIRE, lock),
        ("0", WAKE, "0:condition"),
        ("0.1", RELEASE, lock),
        ("0", ACQUIRE, lock),
        ("0", RELEASE, lock),
        ("0.1", ACQUIRE, other),
        ("0", ACQUIRE, other),
    ]
    trace = Trace(tasks=[task for task, _, _ in steps])
    trace.operations += [Operation(kind, resource, None) for _, kind, resource in steps]
    trace.timed += [()] * len(steps)
    trace.effects.append((1, "0", lock, True))
    trace.resources.update((name, Resource(name, "mutex", name)) for name in (lock, other))
    assert nestings_of(trace) == []
