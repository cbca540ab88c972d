"""The parts of a report: names, stacks, verdicts, deadlocks, progress, selection of steps."""

from __future__ import annotations

import asyncio
import io
import queue
import threading
from dataclasses import replace
from math import log
from pathlib import Path

import pytest
from rich.console import Console
from rich.text import Text

import bohrbug
from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.progress import Progress
from bohrbug.exploration.result import Interpreter, Result
from bohrbug.exploration.verdicts import Caveat, CaveatKind, Evidence, Verdict, VerdictKind, judge
from bohrbug.model.native_resources import ANY_CHILD
from bohrbug.model.operation import (
    ACQUIRE,
    CANCEL,
    EXECUTE,
    GET,
    JOIN,
    OPEN,
    SET,
    SIGNAL,
    WAIT,
    WAKE,
    Operation,
    Resource,
    Site,
)
from bohrbug.model.outcome import BlockedTask, Frame, Outcome, OutcomeKind, TaskInfo
from bohrbug.model.trace import Trace
from bohrbug.report import progress
from bohrbug.report.columns import wrapped_source
from bohrbug.report.deadlock import alone_in_words, cycle_in_words
from bohrbug.report.finding import (
    how_found,
    interpreter_note,
    suspected_races,
    timeouts_note,
)
from bohrbug.report.frames import program_frames, program_traceback, telling_frame
from bohrbug.report.headline import failure_headline
from bohrbug.report.naming import Names, task_order
from bohrbug.report.progress import ProgressLine
from bohrbug.report.schedule import SHOWN_STEPS, Folded, Preempted, schedule_of, select
from bohrbug.report.sources import ShortNames, is_tool_file, source_line
from bohrbug.report.stories import TaskSteps, stories
from bohrbug.report.text import failure_text, render_result
from bohrbug.report.verdict import one_line_verdict
from bohrbug.report.wording import plural, seconds_in_words
from bohrbug.search.dfs import DepthFirst
from bohrbug.search.estimates import Estimate
from bohrbug.search.random_walk import RandomWalk
from tests.unit.report_samples import (
    GOLD,
    balance_race,
    early_timeout,
    lock_cycle,
    lost_notify,
    lost_update,
    many_tasks,
)

OWN = str(Path(bohrbug.__file__).parent / "api.py")


# -- names ---------------------------------------------------------------------


def test_short_names_tell_files_apart() -> None:
    short = ShortNames(["/a/left/bank.py", "/a/right/bank.py", "/a/till.py", "/a/shop/__init__.py"])
    assert short("/a/left/bank.py") == "left/bank.py"
    assert short("/a/right/bank.py") == "right/bank.py"
    assert short("/a/till.py") == "till.py"
    assert short("/a/shop/__init__.py") == "shop/__init__.py"
    assert short("/elsewhere/other.py") == "other.py"
    assert short("<string>") == "<string>"


def test_resources_made_at_one_place_are_numbered() -> None:
    names = Names(lock_cycle().trace)
    assert names.resource("0:0") == "Lock Account.lock #1 (bank.py:9)"
    assert names.short_resource("0:1") == "Lock Account.lock #2"
    assert names.origin("0:1") == "bank.py:9"


def test_resources_of_one_name_are_numbered_as_a_reader_meets_them() -> None:
    ids = {
        "0:2": "Lock Account.lock",
        "0:1": "Lock Account.lock",
        "0.1:0.owner": "Account.owner",
        "0:0.balance": "Account.balance",
        "0.1:0.balance": "Account.balance",
        "0:3[*]": "list rows",
        "0:3['a']": "list rows['a']",
        "0.2:0['a']": "list rows['a']",
    }
    trace = Trace(
        operations=[Operation(SET, id) for id in ids],
        resources={id: Resource(id, "variable", label) for id, label in ids.items()},
    )
    names = Names(trace)
    assert [names.short_resource(id) for id in ids] == [
        "Lock Account.lock #1",
        "Lock Account.lock #2",
        # All variables of one object have its number, even if only one has such a variable.
        "Account.owner #1",
        "Account.balance #2",
        "Account.balance #1",
        "list rows #1",
        "list rows['a'] #1",
        "list rows['a'] #2",
    ]


def test_given_labels_are_kept() -> None:
    trace = lost_update().trace
    trace.resources["0:0.balance"] = Resource("0:0.balance", "variable", "config['a (b)']")
    assert Names(trace).short_resource("0:0.balance") == "config['a (b)']"


def test_task_names() -> None:
    trace = Trace(
        task_infos={
            "0.1": TaskInfo("0.1", "Thread-1 (work)", "test_it.<locals>.work"),
            "0.2": TaskInfo("0.2", "work", "work"),
            "0.3": TaskInfo("0.3"),
        }
    )
    names = Names(trace)
    assert names.task("0.1") == "0.1 (Thread-1, work)"
    assert names.task("0.2") == "0.2 (work)"
    assert names.task("0.3") == "0.3"
    assert names.task("0.4") == "0.4"


def test_tasks_are_ordered_by_number() -> None:
    assert sorted(["0.10", "0.2", "0", "0.2.1"], key=task_order) == ["0", "0.2", "0.2.1", "0.10"]


def test_places_in_the_tool_are_not_shown() -> None:
    trace = Trace(
        tasks=["0", "0"],
        operations=[
            Operation(ACQUIRE, "0:0", Site(OWN, 3, "f")),
            Operation(ACQUIRE, "0:0", Site(threading.__file__, 3, "f")),
        ],
    )
    names = Names(trace)
    assert [names.site(operation) for operation in trace.operations] == [None, None]


def test_native_operations_are_no_events() -> None:
    trace = Trace(
        tasks=["0"] * 6,
        operations=[
            Operation(SET, "0:0"),
            Operation(SIGNAL, "0.1"),
            Operation(SET, "0:1"),
            Operation(EXECUTE, "0"),
            Operation(CANCEL, "0.1"),
            Operation(JOIN, "0:2"),
        ],
        resources={
            "0:0": Resource("0:0", "descriptor", "descriptor"),
            "0:1": Resource("0:1", "Event", "Event done"),
            "0:2": Resource("0:2", "children", ANY_CHILD),
        },
    )
    names = Names(trace)
    change, signal, put, execute, cancel, join = trace.operations
    assert names.brief(change) == "change descriptor"
    assert names.noun(change, named=False) == "change"
    assert names.does(signal) == "sends a signal to task 0.1"
    assert names.brief(signal) == "signal task 0.1"
    assert names.does(execute) == "becomes another program"
    assert names.noun(execute) == "exec"
    assert names.does(cancel) == "cancels task 0.1"
    assert names.brief(join) == "join any child process"
    assert names.brief(put) == "set Event done"


def test_who_waits_for_a_signal_does_not_wait_for_itself() -> None:
    blocked = BlockedTask("0", Operation(WAIT, "0"), (), (), ())
    trace = Trace(outcome=Outcome(OutcomeKind.DEADLOCK, blocked=(blocked,)))
    assert alone_in_words(blocked, Names(trace), "") == (
        "Task 0 waits for a signal; nobody is left who could send it one."
    )


def test_places_without_lines_name_module_and_function() -> None:
    site = Site("/usr/bin/pool+0x1234", 0, "void Pool::run<int>(int)+0x14")
    trace = Trace(tasks=["0"], operations=[Operation(ACQUIRE, "0:0", site)])
    assert Names(trace).place(site) == "pool:Pool::run+0x14"
    assert Names(trace).place(site._replace(function="?")) == "pool+0x1234"


# -- stacks --------------------------------------------------------------------


def test_frames_that_run_a_loop_are_left_out_of_tracebacks_unless_they_raise() -> None:
    runners = asyncio.runners.__file__
    head, frame = "Traceback (most recent call last):\n", f'  File "{runners}", line 190, in run\n'
    own = '  File "/home/me/bank.py", line 13, in deposit\n    raise ValueError\n'
    error = "ValueError"
    assert program_traceback(f"{head}{frame}    return 1\n{own}{error}") == f"{head}{own}{error}"
    raised = f"{head}{own}{frame}{error}"
    assert program_traceback(raised) == raised
    elsewhere = raised.replace(runners, "/home/me/runners.py") + f"\n{own}"
    assert program_traceback(elsewhere) == elsewhere.rstrip("\n")
    stack = [
        Frame(Site(runners, 190, "Runner.run")),
        Frame(Site("/home/me/bank.py", 13, "deposit")),
    ]
    assert program_frames(stack) == stack[1:]
    assert program_frames(stack[:1]) == stack[:1]


def test_own_frames_are_left_out_of_tracebacks() -> None:
    traceback = (
        "Traceback (most recent call last):\n"
        f'  File "{OWN}", line 10, in run\n'
        "    function()\n"
        "    ^^^^^^^^^^\n"
        '  File "/home/me/bank.py", line 13, in deposit\n'
        "    raise ValueError(\n"
        "  ...<2 lines>...\n"
        "ValueError: first\n"
        "\n"
        "During handling of the above exception, another exception occurred:\n"
        "\n"
        "Traceback (most recent call last):\n"
        f'  File "{OWN}", line 11, in run\n'
        "    again()\n"
        "ValueError: second\n"
    )
    assert program_traceback(traceback) == (
        "Traceback (most recent call last):\n"
        '  File "/home/me/bank.py", line 13, in deposit\n'
        "    raise ValueError(\n"
        "  ...<2 lines>...\n"
        "ValueError: first\n"
        "\n"
        "During handling of the above exception, another exception occurred:\n"
        "\n"
        "Traceback (most recent call last):\n"
        "ValueError: second"
    )


def test_own_frames_are_left_out_of_exception_groups() -> None:
    traceback = (
        "  + Exception Group Traceback (most recent call last):\n"
        f'  |   File "{OWN}", line 10, in run\n'
        "  |     function()\n"
        "  | ExceptionGroup: two (1 sub-exception)\n"
        "  +-+---------------- 1 ----------------\n"
        "    | ValueError: one\n"
        "    +------------------------------------\n"
    )
    assert OWN not in program_traceback(traceback)
    assert "function()" not in program_traceback(traceback)
    assert "    | ValueError: one" in program_traceback(traceback).splitlines()


def test_telling_frame_is_outside_libraries() -> None:
    mine = Frame(Site(str(GOLD / "bank.py"), 12, "Account.deposit"))
    library = Frame(Site(queue.__file__, 100, "Queue.get"))
    own = Frame(Site(OWN, 1, "run"))
    assert telling_frame((own, mine, library)) is mine
    assert telling_frame((own, library)) is library
    assert telling_frame((own,)) is None


def test_tool_files() -> None:
    assert is_tool_file(OWN)
    assert is_tool_file("/venv/lib/site-packages/_pytest/python.py")
    assert not is_tool_file("/home/me/bohrbug_test.py")


def test_source_of_missing_files_is_empty() -> None:
    assert source_line(Site("/no/such/file.py", 3, "f")) == ""


# -- headline and verdict --------------------------------------------------------


@pytest.mark.parametrize(
    ("outcome", "headline"),
    [
        (Outcome(OutcomeKind.EXCEPTION, "KeyError: 'x'\nmore"), "KeyError: 'x'"),
        (
            Outcome(OutcomeKind.DEADLOCK, cycle=("0.1", "0.2")),
            "Deadlock: 2 tasks wait for each other",
        ),
        (Outcome(OutcomeKind.DEADLOCK, "task 0 waits for ever"), "Deadlock: task 0 waits for ever"),
        (Outcome(OutcomeKind.LIVELOCK, "not finished"), "Livelock: not finished"),
        (Outcome(OutcomeKind.INVARIANT, "invariant f is false"), "invariant f is false"),
        (
            Outcome(
                OutcomeKind.ASSERTION,
                "AssertionError",
                exception="AssertionError",
                stack=(Frame(Site(str(GOLD / "bank.py"), 31, "test_deposit")),),
            ),
            "AssertionError: assert account.balance == 2",
        ),
    ],
)
def test_headline(outcome: Outcome, headline: str) -> None:
    assert failure_headline(outcome) == headline


def result(verdict: Verdict) -> Result:
    return Result("test_it", verdict, executions=1000)


def caveat(text: str) -> Caveat:
    return Caveat(text, CaveatKind.UNCONTROLLED)


def judged() -> Verdict:
    """A verdict that promises something, which only the judge can make."""
    strategy = DepthFirst()
    assert strategy.next_plan() is not None
    strategy.observe(Trace())
    assert strategy.complete
    return judge(Evidence(ExploreOptions(), strategy, True, 1000))


def test_one_line_verdicts() -> None:
    assert one_line_verdict(result(judged())) == (
        "holds: all schedules (1 execution), at up to 0 scheduling points"
    )
    nothing = Verdict(VerdictKind.NO_FAILURE_FOUND, ("one.", "two"))
    assert one_line_verdict(result(nothing)) == "no failure in 1,000 executions (one; two)"
    portfolio = Verdict(VerdictKind.NO_FAILURE_FOUND, ("one", "two", "three", "in all"))
    assert one_line_verdict(result(portfolio)) == "no failure in 1,000 executions (in all)"
    doubtful = Verdict(VerdictKind.NO_FAILURE_FOUND, caveats=(caveat("a"), caveat("b")))
    assert one_line_verdict(result(doubtful)) == (
        "no failure in 1,000 executions; but a (and 1 more)"
    )
    nothing_said = Verdict(VerdictKind.INCONCLUSIVE, caveats=(caveat("a child ran"),))
    assert one_line_verdict(result(nothing_said)) == (
        "inconclusive after 1,000 executions: a child ran"
    )
    failed = result(Verdict(VerdictKind.FAILED))
    failed.failures.append(lost_update())
    assert one_line_verdict(failed) == "failed: AssertionError: assert 1 == 2 (1,000 executions)"


def test_what_each_of_a_portfolio_covered_is_told_on_request() -> None:
    portfolio = Verdict(VerdictKind.NO_FAILURE_FOUND, ("one", "two", "three", "in all"))
    told = {}
    for verbose in (False, True):
        console = Console(file=io.StringIO(), width=200, color_system=None)
        render_result(result(portfolio), console, verbose=verbose)
        told[verbose] = [line for line in shown(console).splitlines() if "covered:" in line]
    assert told[False] == [
        "  covered: in all",
        "  covered: by 3 strategies; -v shows what each covered",
    ]
    assert told[True] == [f"  covered: {words}" for words in portfolio.covered]


def test_the_block_of_a_verdict_says_why_how_large_and_under_which_conditions() -> None:
    options = ExploreOptions(executions=1000, level="sync")
    verdict = judge(Evidence(options, Sampled(), True, 1000))
    console = Console(file=io.StringIO(), width=200, color_system=None)
    render_result(result(verdict), console)
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert "reason: the budget of 1,000 executions was spent" in text
    assert "size: about 40 schedules (10 to 160), estimated from 20 executions; 50% of them" in text
    assert "conditions: level sync, timeouts short, interpreter free-threaded" in text


class Sampled(RandomWalk):
    """Has seen 20 of about 40 schedules."""

    estimate = Estimate("schedules", log(40), log(10), log(160), 20, "told", 20, True)


def test_an_estimate_in_a_progress_line() -> None:
    line = ProgressLine(Console(file=io.StringIO(), width=200))
    text = line.line(Progress(20, 1000, 2.0, 0, 0, "dfs", Sampled.estimate)).plain
    assert "20 of 1,000 executions" in text
    assert "about 40 schedules (10 to 160), 50% seen, 2.0 s left" in text


def test_a_progress_line_without_a_budget() -> None:
    line = ProgressLine(Console(file=io.StringIO(), width=200))
    text = line.line(Progress(20, None, 2.0, 0, 0, "dfs")).plain
    assert text.startswith("20 executions")
    assert " of " not in text


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("total = 1", ["total = 1"]),
        ("results.append(account.withdraw(80))", ["results.append(", "account", ".withdraw(80))"]),
        ("pthread_mutex_unlock(&lock);", ["pthread_mutex_un", "lock(&lock);"]),
        ("pool->first->next = NULL;", ["pool->first", "->next = NULL;"]),
        ("if a and b and c: pass", ["if a and b and", "c: pass"]),
        ("x = 1234567890.123456789", ["x = 1234567890.1", "23456789"]),
    ],
)
def test_source_is_broken_where_code_may_be(source: str, lines: list[str]) -> None:
    assert [line.plain for line in wrapped_source(Text(source), 16)] == lines


def test_wording() -> None:
    assert plural(1, "task") == "1 task"
    assert plural(1200, "task") == "1,200 tasks"
    assert [seconds_in_words(s) for s in (0.021, 3.44, 125, 7325)] == [
        "0.02 s",
        "3.4 s",
        "2 min 5 s",
        "2 h 2 min",
    ]


# -- deadlocks -------------------------------------------------------------------


def test_cycle_in_words() -> None:
    trace = lock_cycle().trace
    assert cycle_in_words(trace.outcome, Names(trace)) == (
        "Task 0.1 (Thread-1, transfer) holds Lock Account.lock #1 (taken at bank.py:17) and waits "
        "for Lock Account.lock #2 (bank.py:18), held by task 0.2 (Thread-2, transfer; taken at "
        "bank.py:17), which waits for Lock Account.lock #1 (bank.py:18), held by task 0.1."
    )


@pytest.mark.parametrize(
    ("kind", "type", "words"),
    [
        (WAKE, "Condition", "notify it"),
        (GET, "Queue", "put something into it"),
        (ACQUIRE, "MyOwnLock", "release it"),
        (OPEN, "pipe", "open its other end"),
        (SET, "pipe", "open its other end"),
    ],
)
def test_nobody_left(kind: object, type: str, words: str) -> None:
    trace = lost_notify().trace
    blocked = BlockedTask("0.1", Operation(kind, "0:0"))  # type: ignore[arg-type]
    text = alone_in_words(blocked, Names(trace), type)
    assert text.endswith(f"; nobody is left who could {words}.")


# -- which steps are shown ---------------------------------------------------------


def test_selection_keeps_the_story_within_the_budget() -> None:
    failure = many_tasks(200)
    trace = failure.trace
    steps = TaskSteps(trace)
    told = stories(trace, failure.essential, steps)
    chosen = select(trace, told, steps, len(trace))
    assert len(chosen) <= SHOWN_STEPS
    for story in told:
        assert set(story.steps()) <= chosen


def test_every_step_is_shown_or_counted() -> None:
    failure = many_tasks(60)
    trace = failure.trace
    schedule = schedule_of(trace, failure.essential, Names(trace))
    folded = sum(row.count for row in schedule.rows if isinstance(row, Folded))
    assert folded == schedule.left_out > 0
    assert [row for row in schedule.rows if isinstance(row, Preempted) and row.essential]


# -- interpreters ------------------------------------------------------------------


def test_interpreter_note() -> None:
    failure = lost_update()
    names = Names(failure.trace)
    assert interpreter_note(failure, names) == (
        "Needs free-threaded Python: a GIL build can't switch threads at bank.py:13."
    )
    failure.interpreter = Interpreter.GIL
    assert interpreter_note(failure, names).startswith("Can happen on today's GIL builds")
    failure.interpreter = Interpreter.ANOTHER_SCHEDULE
    assert interpreter_note(failure, names) == (
        "This schedule needs free-threaded Python: a GIL build can't switch threads at bank.py:13. "
        "With the GIL another schedule ends in the same kind of failure."
    )
    failure.interpreter = Interpreter.THIS_SCHEDULE
    assert interpreter_note(failure, names) == (
        "This schedule needs free-threaded Python: a GIL build can't switch threads at bank.py:13. "
        "Whether another one fails alike with the GIL was not found out within the budget; "
        "--interpreter gil (pytest: --bohrbug-interpreter=gil) looks only for such."
    )
    failure.interpreter = Interpreter.UNKNOWN
    assert interpreter_note(failure, names) == ""


def test_a_failure_of_one_task_has_nothing_to_do_with_threads() -> None:
    failure = lost_update()
    failure.interpreter = Interpreter.GIL
    failure.trace = Trace(outcome=failure.outcome)
    assert interpreter_note(failure, Names(failure.trace)) == ""
    assert "before a second task was started" in how_found(failure, None, None)


@pytest.mark.parametrize("preemptions", [3, 4])
def test_races_of_the_program_are_told_of_a_schedule_with_many_preemptions(
    preemptions: int,
) -> None:
    failure, race = lost_update(), balance_race()
    library = Site(threading.__file__, 1, "run")
    elsewhere = replace(race.second, operation=race.second.operation._replace(place=library))
    failure.trace.races = [replace(race, second=elsewhere), race]
    failure.essential = tuple(range(preemptions))
    assert suspected_races(failure) == ([race] if preemptions == 4 else [])
    report = failure_text(failure, width=100)
    assert ("Data races in this schedule" in report) == (preemptions == 4)


def test_who_does_not_want_early_timeouts_is_told_how_to_explore_without() -> None:
    assert "--timeouts late" in timeouts_note(early_timeout())
    assert "--timeouts report" in timeouts_note(early_timeout())
    assert timeouts_note(lost_update()) == ""


# -- progress ------------------------------------------------------------------------


class Clock:
    """Time that passes only when told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress, "_now", clock)
    return clock


def shown(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_progress_off_a_terminal_is_a_line_every_ten_seconds(clock: Clock) -> None:
    console = Console(file=io.StringIO(), width=100)
    with ProgressLine(console) as line:
        for number in range(25):
            clock.now += 1
            line.update(Progress(20 * number, 500, number, 1, 0, "bound 1"))
    assert shown(console).splitlines() == [
        f"{'━' * 5}{'─' * 11} 180 of 500 executions · 20/s · 1 failure · bound 1 · 9.0 s",
        f"{'━' * 12}{'─' * 4} 380 of 500 executions · 20/s · 1 failure · bound 1 · 19.0 s",
    ]


def test_progress_on_a_terminal_goes_away(clock: Clock) -> None:
    console = Console(file=io.StringIO(), width=80, force_terminal=True)
    with ProgressLine(console) as line:
        before = threading.active_count()
        line.update(Progress(1, 10, 0.5, 0, 2, "random"))
        clock.now += 1
        line.update(Progress(2, 10, 0.5, 0, 2, "random"))
        assert threading.active_count() == before
    assert "2 of 10 executions" in shown(console)
    assert "2 races" in shown(console)
    # The line was erased, and the cursor is shown again.
    assert shown(console).rstrip().endswith(("\x1b[2K", "\x1b[?25h"))


def test_silent_progress(clock: Clock) -> None:
    console = Console(file=io.StringIO(), force_terminal=True)
    with ProgressLine(console, silent=True) as line:
        clock.now += 100
        line.update(Progress(1, 10, 0.5, 0, 2, "random"))
    assert shown(console) == ""
