"""What live rounds decide by: budget, ranking, policies, what may pass to the system, reports."""

from __future__ import annotations

import json
import random
import signal
import sys
from dataclasses import dataclass

import pytest

from bohrbug.exploration.reproduction import growth_from_json, growth_to_json
from bohrbug.live import copies
from bohrbug.live.budget import LONGEST_GAP, Budget, gap_until
from bohrbug.live.figures import Figures
from bohrbug.live.fragments import Report, report_of
from bohrbug.live.harm import (
    NO_SCORE,
    End,
    Pressure,
    conflict,
    pressure_of,
    score,
    worst,
)
from bohrbug.live.options import LiveOptions
from bohrbug.live.policies import policies
from bohrbug.live.report import summary_lines
from bohrbug.live.result import LiveResult
from bohrbug.live.system_calls import MACHINES, filter_of, outcome_of, packed
from bohrbug.model.conditions import Growth
from bohrbug.model.operation import ACQUIRE, GET, PUT, READ, RELEASE, WRITE, Operation
from bohrbug.model.outcome import PASSED, Outcome, OutcomeKind
from bohrbug.model.plan import PartialOrder, Priorities, Segments, UniformRandom

# -- the budget ---------------------------------------------------------------------------


def test_a_round_is_paid_for_before_the_next() -> None:
    budget = Budget(25.0, began=0.0)
    budget.spend(10.0, 12.0)
    assert budget.next_at == pytest.approx(18.0)


def test_rounds_in_a_row_are_all_paid_for() -> None:
    budget = Budget(50.0, began=0.0)
    budget.spend(10.0, 11.0)
    budget.spend(11.0, 13.0)
    assert budget.next_at == pytest.approx(16.0)
    assert budget.share(16.0) == pytest.approx(100 * 3 / 16)


def test_idle_time_is_not_saved_up() -> None:
    budget = Budget(50.0, began=0.0)
    budget.spend(1.0, 2.0)
    budget.spend(1_000.0, 1_001.0)
    assert budget.next_at == pytest.approx(1_002.0)


def test_a_share_of_no_time_is_none() -> None:
    assert Budget(50.0, began=3.0).share(3.0) == 0.0


@pytest.mark.parametrize(
    ("moment", "pace", "steps"),
    [(10.5, 1_000.0, 250), (10.0, 1_000_000.0, 250), (0.0, 0.0, 1), (20.0, 1e9, LONGEST_GAP)],
)
def test_the_gap_is_half_of_what_the_program_is_likely_to_do(
    moment: float, pace: float, steps: int
) -> None:
    assert gap_until(moment, 10.0, pace) == steps


# -- harm ---------------------------------------------------------------------------------


def _row(task: str, operation: Operation | None, *enabled: str) -> tuple[object, ...]:
    return (task, task, operation, enabled or (task,), (), False)


def test_pairs_are_of_who_reads_what_another_wrote() -> None:
    rows = [
        _row("0.1", Operation(WRITE, "x", "a")),
        _row("0.1", Operation(READ, "x", "b")),
        _row("0.2", Operation(READ, "x", "c")),
        _row("0.2", Operation(READ, "y", "d")),
    ]
    assert pressure_of(rows, 2, str).pairs == {("a", "c")}


def test_a_read_hides_no_write_from_the_next_one() -> None:
    rows = [
        _row("0.1", Operation(WRITE, "x", "a")),
        _row("0.2", Operation(READ, "x", "b")),
        _row("0.3", Operation(READ, "x", "c")),
    ]
    assert pressure_of(rows, 3, str).pairs == {("a", "b"), ("a", "c")}


def test_margins_are_what_was_held_waited_and_filled() -> None:
    rows = [
        _row("0.1", Operation(ACQUIRE, "l", "a"), "0.1", "0.2", "0.3"),
        _row("0.2", Operation(PUT, "q", "b"), "0.2"),
        _row("0.2", Operation(PUT, "q", "b"), "0.2", "0.3"),
        _row("0.3", Operation(GET, "q", "c"), "0.2", "0.3"),
        _row("0.1", Operation(RELEASE, "l", "d"), "0.1", "0.2"),
        _row("0.1", None),
    ]
    pressure = pressure_of(rows, 4, str)
    assert (pressure.held, pressure.fullest, pressure.waiting) == (4, 2, 3)


def test_failures_are_worse_than_anything_else() -> None:
    much = Pressure(frozenset({("a", "b"), ("a", "c")}), 100, 100, 100)
    assert score(End.FAILED, Pressure(), ()) > score(End.WINDOW, much, ())
    assert score(End.CRASHED, Pressure(), ()) > score(End.FAILED, much, ())


def test_what_is_new_is_worse_than_thin_margins() -> None:
    new = Pressure(frozenset({("a", "b")}))
    known = Pressure(frozenset({("c", "d")}), 100, 100, 100)
    assert score(End.WINDOW, new, {("c", "d")}) > score(End.OUTSIDE, known, {("c", "d")})
    assert score(End.WINDOW, new, {("a", "b")}) < score(End.WINDOW, known, {("a", "b")})


def test_the_program_is_left_alone_unless_another_is_worse() -> None:
    calm, bad = score(End.WINDOW, Pressure(), ()), score(End.FAILED, Pressure(), ())
    assert worst([calm, calm, calm]) == 0
    assert worst([calm, bad, bad]) == 1
    assert worst([calm, NO_SCORE, NO_SCORE]) == 0


def test_a_conflict_is_of_two_operations_on_one_resource_one_of_which_writes() -> None:
    read, write = Operation(READ, "x", None), Operation(WRITE, "x", None)
    other = Operation(WRITE, "y", None)
    assert conflict([read, write])
    assert conflict([write, read])
    assert not conflict([read, read, other, None])


# -- what fragments try ---------------------------------------------------------------------


def test_each_kind_of_policy_has_its_turn_and_the_seed_decides() -> None:
    drawn = policies(random.Random(3), 8, ["0", "0.1"], 100)
    assert {type(policy) for policy in drawn} == {
        Segments,
        PartialOrder,
        UniformRandom,
        Priorities,
    }
    assert drawn == policies(random.Random(3), 8, ["0", "0.1"], 100)
    assert drawn != policies(random.Random(4), 8, ["0", "0.1"], 100)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"budget": 0}, "budget"),
        ({"budget": 100}, "budget"),
        ({"window": 0}, "window"),
        ({"fragments": 0}, "fragments"),
        ({"rounds": 0}, "rounds"),
        ({"seconds": -1.0}, "seconds"),
        ({"patience": 0.0}, "patience"),
    ],
)
def test_options_that_make_no_sense_are_refused(given: dict[str, float], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        LiveOptions(**given)  # type: ignore[arg-type]


# -- what a fragment may ask of the system ----------------------------------------------------


@pytest.mark.parametrize(
    ("name", "calls"),
    [
        ("x86_64", {"write": 1, "read": 0, "sendto": 44, "openat": 257, "clone": 56, "kill": 62}),
        (
            "aarch64",
            {"write": 64, "read": 63, "sendto": 206, "openat": 56, "clone": 220, "kill": 129},
        ),
    ],
)
def test_nothing_that_would_be_seen_outside_passes(name: str, calls: dict[str, int]) -> None:
    machine = MACHINES[name]
    program = filter_of(machine, process=77, descriptors={1, 2, 9}, waits_for_events=False)

    def passes(call: str, *arguments: int) -> bool:
        return outcome_of(program, machine, calls[call], arguments)

    assert all(passes("write", descriptor) for descriptor in (1, 2, 9))
    assert not passes("write", 3)
    assert passes("kill", 77)
    assert not passes("kill", 78)
    assert not any(passes(call, 1) for call in ("read", "sendto", "openat", "clone"))
    assert len(program) < 4_096
    assert len(packed(program)) == 8 * len(program)


def test_memory_is_its_own_only_if_it_is_private() -> None:
    machine = MACHINES["x86_64"]
    program = filter_of(machine, 1, {1}, waits_for_events=False)
    assert outcome_of(program, machine, 9, (0, 4096, 3, 0x22))
    assert not outcome_of(program, machine, 9, (0, 4096, 3, 0x21))


def test_locks_are_its_own_only_if_they_are_private() -> None:
    machine = MACHINES["x86_64"]
    program = filter_of(machine, 1, {1}, waits_for_events=False)
    assert outcome_of(program, machine, 202, (0, 129))
    assert not outcome_of(program, machine, 202, (0, 1))


def test_asking_what_a_terminal_is_passes_and_changing_it_does_not() -> None:
    machine = MACHINES["x86_64"]
    program = filter_of(machine, 1, (), waits_for_events=False)
    asks, changes = 0x5401, 0x5402
    assert outcome_of(program, machine, 16, (1, asks))
    assert not outcome_of(program, machine, 16, (1, changes))
    own = filter_of(machine, 1, {1}, waits_for_events=False)
    assert outcome_of(own, machine, 16, (1, changes))
    assert not outcome_of(own, machine, 16, (2, changes))


def test_events_that_are_told_once_are_left_to_the_program() -> None:
    machine = MACHINES["x86_64"]
    for waits in (True, False):
        program = filter_of(machine, 1, {1}, waits_for_events=waits)
        assert outcome_of(program, machine, 232, (5,)) is waits


def test_calls_of_another_machine_do_not_pass() -> None:
    x86, arm = MACHINES["x86_64"], MACHINES["aarch64"]
    program = filter_of(x86, 1, {1}, waits_for_events=False)
    assert outcome_of(program, x86, 39, ())
    assert not outcome_of(program, arm, 39, ())


# -- reports ----------------------------------------------------------------------------------

REPORT = Report(
    End.FAILED,
    ("KeyError", "0.2"),
    ("0.1", 3, "0.2"),
    Pressure(frozenset({((1, 2), (3, 4))}), 1, 2, 3),
    frozenset({("f.py", "g", 1, 2)}),
    frozenset({("m", "f.py", "g", 1)}),
    frozenset({("f.py", "h", 3, 4)}),
)


def test_a_report_comes_through_a_pipe_as_it_was() -> None:
    assert Report.decoded(REPORT.encoded()) == REPORT


@dataclass
class _Copy:
    report: bytes | None = None
    was_stopped: bool = False
    died_of: int = 0


@pytest.mark.parametrize(
    ("copy", "was_late", "end"),
    [
        (_Copy(REPORT.encoded()), False, End.FAILED),
        (_Copy(REPORT.encoded()[:9]), True, End.LONG),
        (_Copy(REPORT.encoded()[:9]), False, End.LOST),
        (_Copy(was_stopped=True, died_of=signal.SIGSEGV), False, End.OUTSIDE),
        (_Copy(died_of=signal.SIGKILL), True, End.LONG),
        (_Copy(died_of=signal.SIGSEGV), False, End.CRASHED),
        (_Copy(died_of=signal.SIGKILL), False, End.LOST),
        (_Copy(), False, End.LOST),
    ],
)
def test_what_became_of_a_fragment_that_may_not_tell(copy: _Copy, was_late: bool, end: End) -> None:
    assert report_of(copy, was_late).end is end  # type: ignore[arg-type]


def test_growth_comes_through_a_file_as_it_was() -> None:
    growth = (
        Growth(3, frozenset({("f.py", "g", 1, 2), ("f.py", "h", 3, 4)})),
        Growth(9, frozenset(), frozenset({("m", "f.py", "g", 1)}), quiet=True),
    )
    text = json.dumps(growth_to_json(growth))
    assert growth_from_json(json.loads(text)) == growth


@pytest.mark.parametrize(
    "data",
    [
        3,
        [[1]],
        [["x", [], [], False]],
        [[1, [["f"]], [], False]],
        [[1, [], [["f"]], False]],
        [[1, [], [], 1]],
    ],
)
def test_growth_that_is_damaged_is_refused(data: object) -> None:
    with pytest.raises(ValueError, match="growth"):
        growth_from_json(data)


def _summary(outcome: Outcome, **figures: object) -> str:
    result = LiveResult(outcome, Figures(**figures), 2.0, 1_234)  # type: ignore[arg-type]
    return "\n".join(summary_lines(result))


def test_a_summary_never_says_that_a_program_holds() -> None:
    figures = Figures(rounds=2)
    figures.ends.update([End.WINDOW, End.OUTSIDE, End.OUTSIDE])
    text = "\n".join(summary_lines(LiveResult(PASSED, figures, 2.0, 1_234)))
    assert text.startswith("no failure in 2 rounds (3 fragments), ")
    assert "2 ended where they would have been seen outside" in text
    assert "hold" not in text


def test_a_summary_says_what_could_not_be_done() -> None:
    text = _summary(PASSED, rounds=1, parted=2, unproved=[("KeyError", "0.1")], failed_copies=1)
    assert "2 fragments could not be followed" in text
    assert "not proved: KeyError in task 0.1 in 1 fragment" in text
    assert "no copy could be made" in text
    assert "there was no moment" in _summary(PASSED)
    assert _summary(Outcome(OutcomeKind.INTERRUPTED)).startswith("interrupted: no failure")


# -- copies ---------------------------------------------------------------------------------

needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="copies need Linux")


def test_elsewhere_it_is_said_that_there_can_be_no_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(copies.CannotHoldBack, match="need Linux"):
        copies.check()


@needs_linux
def test_copies_can_be_held_back_here() -> None:
    copies.check()


@needs_linux
def test_a_copy_that_takes_too_long_is_ended() -> None:
    copy, _ = copies.start()
    if copy is None:
        while True:
            pass
    assert copies.wait_for([copy], 0.05) == {copy.process}
    assert copy.died_of == signal.SIGKILL
    assert copy.report is None
