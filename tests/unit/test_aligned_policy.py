"""Following the steps of an execution of another version of the program."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from bohrbug.model.following import Follower, followed, tasks_followed
from bohrbug.model.operation import BEGIN, READ, WRITE, YIELD, Kind, Operation, Site
from bohrbug.model.outcome import TaskInfo
from bohrbug.model.plan import Aligned, Mark
from bohrbug.model.trace import Trace
from bohrbug.runtime.policies import decider_for
from tests.deciding import View

FILE = "/somewhere/counter.py"


def at(line: int) -> Site:
    return Site(FILE, line, "f", 3)


def operation(kind: Kind, line: int) -> Operation:
    return Operation(kind, "0:x", at(line))


def mark(task: str, kind: Kind, line: int, fired: bool = False) -> Mark:
    return Mark(task, kind.name, at(line), fired)


Code = dict[str, list[tuple[Kind, int]]]


def run(policy: Aligned, code: Code, blocked: Sequence[str] = ()) -> list[tuple[str, int]]:
    """Who does which line, when each task does what ``code`` says.

    Parameters:
        policy: what is followed.
        code: kinds and lines, by task.
        blocked: tasks that wait until all others have ended.
    """
    decider = decider_for(policy)
    left = {task: [operation(*each) for each in lines] for task, lines in code.items()}
    views = {
        task: View(task, number, lines[0]) for number, (task, lines) in enumerate(left.items())
    }
    running = next(iter(views.values()))
    done: list[tuple[str, int]] = []
    while any(left.values()):
        able = [views[task] for task, lines in left.items() if lines and task not in blocked]
        if not able:
            able = [views[task] for task, lines in left.items() if lines]
        chosen = decider.choose(running, able, [], False, len(done))
        assert chosen in able
        running = views[chosen.id]
        now = left[running.id].pop(0)
        done.append((running.id, now.place.line))
        running.pending = left[running.id][0] if left[running.id] else None
    return done


LOST_UPDATE = Aligned(
    (
        mark("0.1", BEGIN, 1),
        mark("0.1", READ, 5),
        mark("0.2", BEGIN, 2),
        mark("0.2", READ, 5),
        mark("0.2", WRITE, 6),
        mark("0.1", WRITE, 6),
    ),
    (("0.1", at(1)), ("0.2", at(2))),
)
AS_RECORDED = [("0.1", 1), ("0.1", 5), ("0.2", 2), ("0.2", 5), ("0.2", 6), ("0.1", 6)]
"""The lines of ``LOST_UPDATE``, in the order of its marks."""


def test_the_recorded_order_is_followed() -> None:
    code: Code = {
        "0.1": [(BEGIN, 1), (READ, 5), (WRITE, 6)],
        "0.2": [(BEGIN, 2), (READ, 5), (WRITE, 6)],
    }
    assert run(LOST_UPDATE, code) == AS_RECORDED


@pytest.mark.parametrize("eager", [True, False])
def test_what_was_put_in_runs_on_at_once_or_when_it_is_due(eager: bool) -> None:
    policy = Aligned(LOST_UPDATE.marks, LOST_UPDATE.tasks, eager=eager)
    code: Code = {
        "0.1": [(BEGIN, 1), (READ, 5), (READ, 99), (WRITE, 6)],
        "0.2": [(BEGIN, 2), (READ, 5), (READ, 99), (WRITE, 6)],
    }
    lines = run(policy, code)
    assert [line for line in lines if line[1] != 99] == AS_RECORDED
    assert lines.index(("0.1", 99)) == (2 if eager else 6)


def test_what_was_taken_out_is_passed_over() -> None:
    code: Code = {"0.1": [(BEGIN, 1), (WRITE, 6)], "0.2": [(BEGIN, 2), (READ, 5), (WRITE, 6)]}
    assert run(LOST_UPDATE, code) == [
        ("0.1", 1),
        ("0.2", 2),
        ("0.2", 5),
        ("0.2", 6),
        ("0.1", 6),
    ]


def test_with_a_window_of_one_only_the_next_mark_counts() -> None:
    narrow = Follower(Aligned(LOST_UPDATE.marks, LOST_UPDATE.tasks, window=1))
    wide = Follower(LOST_UPDATE)
    for follower, expected in ((narrow, None), (wide, 1)):
        follower.meet("0.1", at(1))
        assert follower.mark_of("0.1", operation(READ, 5)) == expected
        assert follower.executed("0.1", operation(BEGIN, 1)) == 0
        assert follower.executed("0.1", operation(READ, 5)) == 1
        assert follower.next_mark("0.1") == 5


def test_a_task_that_is_blocked_comes_later() -> None:
    code: Code = {
        "0.1": [(BEGIN, 1), (READ, 5), (WRITE, 6)],
        "0.2": [(BEGIN, 2), (READ, 5), (WRITE, 6)],
    }
    lines = run(LOST_UPDATE, code, blocked=["0.2"])
    assert lines == [("0.1", 1), ("0.1", 5), ("0.1", 6), ("0.2", 2), ("0.2", 5), ("0.2", 6)]


def test_a_new_task_does_not_take_the_place_of_a_recorded_one() -> None:
    code: Code = {
        "0.1": [(BEGIN, 77), (READ, 5), (WRITE, 6)],
        "0.2": [(BEGIN, 1), (READ, 5), (WRITE, 6)],
        "0.3": [(BEGIN, 2), (READ, 5), (WRITE, 6)],
    }
    lines = [line for line in run(LOST_UPDATE, code) if line[0] != "0.1"]
    assert lines == [
        ("0.2", 1),
        ("0.2", 5),
        ("0.3", 2),
        ("0.3", 5),
        ("0.3", 6),
        ("0.2", 6),
    ]


def test_a_task_whose_start_is_gone_is_taken_for_one_that_was_started_elsewhere() -> None:
    follower = Follower(Aligned((), (("0.1", None), ("0.2", at(2)), ("0.2.1", at(3)))))
    follower.meet("0.1", at(2))
    follower.meet("0.2", at(9))
    follower.meet("0.3", at(9))
    follower.meet("0.1.1", at(3))
    follower.meet("0.3.1", at(3))
    assert [follower.recorded(task) for task in ("0", "0.1", "0.2", "0.3", "0.1.1", "0.3.1")] == [
        "0",
        "0.2",
        "0.1",
        None,
        "0.2.1",
        None,
    ]


def test_a_timeout_fires_only_where_it_did() -> None:
    decider = decider_for(Aligned((mark("0", READ, 5, fired=True), mark("0", WRITE, 6))))
    root = View("0", 0, operation(READ, 5), deadline=1.0)
    other = View("0.1", 1, operation(READ, 8))
    assert decider.choose(other, [other], [root], False, 0) is root
    root.pending = operation(WRITE, 6)
    assert decider.choose(root, [other], [root], False, 1) is other
    assert decider.choose(other, [], [root], False, 2) is root, "nothing else can happen"


def test_a_loop_that_waits_does_not_keep_whom_it_waits_for_from_running() -> None:
    decider = decider_for(Aligned((mark("0", WRITE, 6),)))
    root = View("0", 0, operation(YIELD, 5))
    other = View("0.1", 1, operation(READ, 8))
    assert decider.choose(root, [root, other], [], False, 0) is root
    root.pending = operation(YIELD, 5)
    assert decider.choose(root, [root, other], [], True, 1) is other


def test_data_choices_are_made_again_if_they_are_still_there() -> None:
    decider = decider_for(Aligned((), (), (("0", (2, 4, 1)),)))
    assert [decider.value(3), decider.value(3), decider.value(3), decider.value(3)] == [2, 0, 1, 0]


def test_which_steps_of_an_execution_were_recorded() -> None:
    trace = Trace(
        tasks=["0.1", "0.1", "0.1", "0.3"],
        operations=[
            operation(BEGIN, 1),
            operation(READ, 99),
            operation(WRITE, 6),
            operation(BEGIN, 7),
        ],
        task_infos={
            "0": TaskInfo("0"),
            "0.1": TaskInfo("0.1", spawned=at(1)),
            "0.3": TaskInfo("0.3", spawned=at(7)),
        },
    )
    assert list(followed(LOST_UPDATE, trace)) == [0, None, 5, None]
    assert tasks_followed(LOST_UPDATE, trace) == {"0": "0", "0.1": "0.1"}
