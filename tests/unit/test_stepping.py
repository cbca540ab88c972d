"""Stepping through executions: the session, its views, its commands."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

import bohrbug
from bohrbug.cli.step_commands import COMMANDS, Command, CommandError, help_lines, parse
from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.stepping.kept import failure_of, repeatable_end
from bohrbug.exploration.stepping.session import Session, SteppingError, next_blocking
from bohrbug.model.decision import Decision, Readiness
from bohrbug.model.outcome import OutcomeKind
from bohrbug.model.plan import Ask, Choice, Plan
from bohrbug.model.serialise import plan_from_json, plan_to_json
from bohrbug.platforms.threads.stepping import SteppedThreads, stepped_threads
from bohrbug.report.decision import DecisionReport, View, passed_in_words
from tests.programs.counter import Counter


def lost_update() -> None:
    counter = Counter()
    threads = [threading.Thread(target=counter.increment, name=f"adder {n}") for n in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counter.value == 2


def lock_order() -> None:
    left = threading.Lock()
    right = threading.Lock()

    def work(first: threading.Lock, second: threading.Lock) -> None:
        with first, second:
            pass

    threads = [
        threading.Thread(target=work, args=(left, right)),
        threading.Thread(target=work, args=(right, left)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def data_choices() -> None:
    values = [bohrbug.choose(3), bohrbug.choose(2)]
    assert values != [2, 1]


def waits_with_timeout() -> None:
    event = threading.Event()
    threading.Thread(target=event.set).start()
    assert event.wait(1.0)


@contextmanager
def stepped(test: Callable[[], None], **options: object) -> Iterator[SteppedThreads]:
    with stepped_threads(test, ExploreOptions(**options)) as made:  # type: ignore[arg-type]
        yield made


@contextmanager
def session_of(test: Callable[[], None], plan: tuple[Choice, ...] = ()) -> Iterator[Session]:
    with stepped(test) as made:
        yield Session(made, plan)


def decision(session: Session) -> Decision:
    found = session.stop.decision
    assert found is not None
    return found


def failing_plan(session: Session) -> tuple[Choice, ...]:
    """Choices by which the counter loses an update."""
    session.go_on()  # both were started
    for task in ("0.1", "0.1", "0.2", "0.2", "0.2"):
        session.choose(task)
    session.to_end()
    return session.choices


# -- the session -------------------------------------------------------------------------


def test_a_session_stops_only_where_there_is_a_choice() -> None:
    with session_of(lost_update) as session:
        while not session.is_over:
            assert len(decision(session).options) > 1
            assert decision(session).step == session.stop.length
            session.go_on()
        assert session.stop.trace.outcome.kind is OutcomeKind.PASSED


def test_choosing_leads_to_the_failure_and_undo_back_out_of_it() -> None:
    with session_of(lost_update) as session:
        failing_plan(session)
        assert session.is_over
        assert session.stop.trace.outcome.kind is OutcomeKind.ASSERTION
        made = session.stop.decisions()
        session.undo()
        assert not session.is_over
        assert session.stop.length == made[-1]
        session.undo(len(made) - 1)
        assert session.stop.length == made[0]
        session.to_end()
        assert session.stop.trace.outcome.kind is OutcomeKind.PASSED


def test_undo_leads_to_the_same_decision_as_before() -> None:
    with session_of(lost_update) as session:
        seen = []
        while not session.is_over:
            seen.append(decision(session))
            session.choose(seen[-1].options[-1])
        while seen:
            session.undo()
            assert decision(session) == seen.pop()
        with pytest.raises(SteppingError, match="no decision"):
            session.undo()


def test_to_go_on_several_decisions_is_to_go_on_so_often() -> None:
    with session_of(lock_order) as session:
        session.go_on(3)
        at_once = session.choices
        session.start_again()
        for _ in range(3):
            session.go_on()
        assert session.choices == at_once


def test_a_decision_tells_where_every_task_stands() -> None:
    with session_of(lock_order) as session:
        session.go_on()
        for task in ("0.1", "0.1", "0.2"):
            session.choose(task)
        # 0.1 holds the first lock, 0.2 has begun.
        found = decision(session)
        assert [each.task for each in found.standings] == ["0", "0.1", "0.2"]
        root, first, second = found.standings
        assert root.readiness is Readiness.BLOCKED
        assert root.operation is not None
        assert root.operation.kind.name == "join"
        assert root.holders == ("0.1",)
        assert root.stack[-1].site.function == "lock_order"
        assert len(first.holding) == 1
        assert first.stack[-1].site.function.endswith("work")
        assert first.readiness is second.readiness is Readiness.ENABLED
        assert found.running == found.default == "0.2"
        assert found.is_preemption("0.1")
        assert not found.is_preemption("0.2")
        held = first.holding[0].resource
        session.choose("0.2")
        assert session.is_over
        assert session.stop.trace.outcome.kind is OutcomeKind.DEADLOCK
        blocked = {each.task: each for each in session.stop.trace.outcome.blocked}
        assert blocked["0.2"].operation.resource == held


def test_preemptions_foretold_are_those_of_the_trace() -> None:
    with session_of(waits_with_timeout) as session:
        random = Random(1)
        for _ in range(30):
            session.start_again()
            while not session.is_over:
                found = decision(session)
                choice = random.choice(found.options)
                foretold = found.is_preemption(choice)
                session.choose(choice)
                assert (found.step in session.stop.trace.preemptions()) == foretold


def test_a_blocked_task_with_a_timeout_is_an_option() -> None:
    with session_of(waits_with_timeout) as session:
        session.go_on()
        while not any(each.readiness is Readiness.TIMED for each in decision(session).standings):
            session.go_on()
        assert "0" in decision(session).options
        session.choose("0")
        session.to_end()
        assert session.stop.trace.outcome.kind is OutcomeKind.ASSERTION


def test_going_on_until_a_task_blocks() -> None:
    with session_of(lock_order) as session:
        session.to_blocking()
        standing = decision(session).standing("0")
        assert standing is not None
        assert standing.readiness is Readiness.BLOCKED
        session.to_blocking("0.2")
        assert session.is_over
        assert next_blocking(session.stop.trace, 0, "0.2") is None


def test_data_choices_are_decisions() -> None:
    with session_of(data_choices) as session:
        assert decision(session).arity == 3
        assert decision(session).options == (0, 1, 2)
        session.choose(2)
        session.choose(1)
        assert session.stop.trace.outcome.kind is OutcomeKind.ASSERTION
        session.undo()
        assert decision(session).arity == 2
        with pytest.raises(SteppingError, match="there are 0, 1"):
            session.choose(2)


def test_what_is_no_option_is_refused() -> None:
    with session_of(lost_update) as session:
        with pytest.raises(SteppingError, match=r"0\.7 can't be chosen here"):
            session.choose("0.7")
        with pytest.raises(SteppingError, match="no plan is followed"):
            session.to_preemption()
        session.to_end()
        session.to_end()
        with pytest.raises(SteppingError, match="over"):
            session.go_on()


# -- following a plan ----------------------------------------------------------------------


def test_a_plan_is_followed_until_another_choice_is_made() -> None:
    with stepped(lost_update) as test:
        plan = failing_plan(Session(test))
        session = Session(test, plan)
        assert session.follows
        session.to_preemption()
        assert session.follows
        preempting = session.default
        assert decision(session).is_preemption(preempting)
        session.go_on()
        assert session.choices[-1] == preempting or preempting in session.choices
        session.to_end()
        assert session.choices == plan
        assert session.stop.trace.outcome.kind is OutcomeKind.ASSERTION

        session.start_again()
        session.to_preemption()
        session.choose(decision(session).default)
        assert not session.follows
        session.to_end()
        assert session.stop.trace.outcome.kind is OutcomeKind.PASSED


def test_going_on_by_the_plan_passes_its_decisions() -> None:
    with stepped(lost_update) as test:
        plan = failing_plan(Session(test))
        session = Session(test, plan)
        session.go_on(3)
        three = session.choices
        assert plan[: len(three)] == three
        session.start_again()
        for _ in range(3):
            session.go_on()
        assert session.choices == three
        session.go_on(1_000)
        assert session.choices == plan


def test_a_plan_that_does_not_fit_says_so() -> None:
    with session_of(lost_update, ("0", "0.7")) as session:
        assert session.divergence is not None
        assert session.divergence.expected == "0.7"
        session.to_end()
        assert session.stop.trace.outcome.kind is OutcomeKind.PASSED


def test_an_end_can_be_kept_and_repeated() -> None:
    with stepped(lost_update) as test:
        session = Session(test)
        session.go_on(2)
        before = session.choices
        trace = repeatable_end(session)
        assert session.choices == before
        failure = failure_of(trace)
        assert failure.plan == Plan(tuple(trace.choices))
        assert test.finish(failure.plan.prefix).trace.tasks == trace.tasks


@settings(max_examples=10, deadline=None)
@given(st.lists(st.integers(0, 5), max_size=15))
def test_whatever_is_chosen_can_be_executed_again(numbers: list[int]) -> None:
    with stepped(lock_order, level="sync") as test:
        session = Session(test)
        for number in numbers:
            if session.is_over:
                break
            options = decision(session).options
            session.choose(options[number % len(options)])
        session.to_end()
        trace = session.stop.trace
        again = session.repeat(trace.choices).trace
        assert again.divergence is None
        assert again.tasks == trace.tasks
        assert again.outcome.signature() == trace.outcome.signature()


def test_what_was_left_is_cleaned_up() -> None:
    ended: list[str] = []

    def test() -> None:
        try:
            lost_update()
        finally:
            ended.append("test")

    with stepped(test, level="sync") as made:
        executions = len(ended)
        for _ in range(3):
            made.ask(())
        assert len(ended) == executions + 3


def test_the_policy_survives_json() -> None:
    plan = Plan(("0", "0.1"), Ask(3))
    assert plan_from_json(plan_to_json(plan)) == plan


# -- views -----------------------------------------------------------------------------------


def drawn(draw: Callable[[DecisionReport], None]) -> str:
    file = io.StringIO()
    draw(DecisionReport(Console(file=file, width=120)))
    return file.getvalue()


def view_of(session: Session) -> View:
    default = None if session.is_over else session.default
    return View(session.stop.trace, session.stop.decision, session.since, default)


def test_a_view_shows_what_can_be_chosen_and_who_waits() -> None:
    with session_of(lock_order) as session:
        session.go_on()
        for task in ("0.1", "0.1", "0.2"):
            session.choose(task)
        view = view_of(session)
        text = drawn(lambda report: report.draw(view))
        assert "0.2  begins" in text
        assert "waits for the end of task 0.1" in text
        (preempting,) = [line for line in text.splitlines() if "preempts 0.2" in line]
        assert preempting.split()[:2] == ["1", "0.1"]
        assert "acquire Lock right" in preempting
        (following,) = [line for line in text.splitlines() if line.startswith(" ▶ 2")]
        assert "with first, second:" in following
        assert "holds Lock left" in drawn(lambda report: report.draw_held(view))
        stacks = drawn(lambda report: report.draw_stacks(view, "0"))
        assert "thread.join()" in stacks
        assert "task 0.1" not in stacks
        source = drawn(lambda report: report.draw_source(view, "0.1"))
        assert "▶" in source
        numbers = [int(line.lstrip("▶ ").split()[0]) for line in source.splitlines()[1:]]
        assert numbers == list(range(numbers[0], numbers[-1] + 1)), "empty lines are shown, too"
        assert "acquire Lock left" in drawn(lambda report: report.draw_history(view))


def test_the_view_of_a_deadlock_tells_who_holds_what() -> None:
    with session_of(lock_order) as session:
        session.go_on()
        for task in ("0.1", "0.1", "0.2", "0.2"):
            session.choose(task)
        text = drawn(lambda report: report.draw_held(view_of(session)))
        assert "task 0.1 holds Lock left" in text
        assert "wanted by task 0.2" in text


def test_an_execution_that_passes_is_told_in_a_line() -> None:
    with session_of(lost_update) as session:
        session.to_end()
        words = passed_in_words(session.stop.trace)
        assert words == f"Passed: {len(session.stop.trace)} steps, 0 preemptions"


# -- commands --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("1", Command("choose", "1")),
        (" 0.2.1 ", Command("choose", "0.2.1")),
        ("n", Command("next")),
        ("next 12", Command("next", "12", 12)),
        ("u 3", Command("undo", "3", 3)),
        ("block 0.1", Command("block", "0.1")),
        ("sa", Command("save")),
        ("w a file.json", Command("save", "a file.json")),
        ("hel", None),
        ("?", Command("help")),
        ("", None),
        ("# a comment", None),
    ],
)
def test_what_a_line_means(line: str, command: Command | None) -> None:
    if line == "hel":
        with pytest.raises(CommandError, match="held or help"):
            parse(line)
    else:
        assert parse(line) == command


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("jump", "there is no command 'jump'"),
        ("next -1", "a number from 1 on"),
        ("undo 0", "a number from 1 on"),
        ("end now", "end takes nothing"),
        ("0.1 0.2", "one task at a time"),
    ],
)
def test_what_is_no_command_is_refused(line: str, message: str) -> None:
    with pytest.raises(CommandError, match=message):
        parse(line)


def test_the_help_names_every_command() -> None:
    text = "\n".join(help_lines())
    letters = [each.letter for each in COMMANDS if each.letter]
    assert len(set(letters)) == len(letters)
    for description in COMMANDS:
        assert description.help in text
