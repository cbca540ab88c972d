"""The section that the pytest plugin prints at the end."""

from __future__ import annotations

from typing import Any

from bohrbug.exploration.verdicts import Caveat, CaveatKind
from bohrbug.pytest_plugin.summary import Summary, _limit


class Reporter:
    def __init__(self) -> None:
        self.lines: list[str] = []

    def section(self, title: str) -> None:
        self.lines.append(title)

    def line(self, line: str) -> None:
        self.lines.append(line)


def data(**changes: Any) -> dict[str, Any]:
    return {
        "verdict": "failed",
        "executions": 10,
        "seconds": 1.0,
        "races": [],
        "notices": [],
        "untimely": [],
        "failures": [],
        "limits": [],
        "tasks": 3,
        "concurrent": True,
        **changes,
    }


def limit(what: str, times: int = 1) -> tuple[str, str, str, int]:
    return _limit("test_x", Caveat(what, CaveatKind.UNCONTROLLED, times))


def written(*reports: dict[str, Any]) -> list[str]:
    summary = Summary()
    for report in reports:
        summary.add(report)
    reporter = Reporter()
    summary.write(reporter)  # type: ignore[arg-type]
    return reporter.lines


def test_several_races_on_a_variable_in_one_test_are_one_test() -> None:
    lines = written(data(races=["Counter.value", "Counter.value", "Counter.value", "Other.x"]))
    assert lines[-3:] == ["data races seen:", "  Counter.value", "  Other.x"]


def test_tests_with_the_same_race_or_caveat_are_counted() -> None:
    child = limit("a child process")
    report = data(races=["Counter.value"] * 2, limits=[child, child])
    lines = written(report, report, data())
    assert "  Counter.value (2 tests)" in lines
    assert "  a child process (4 times, in 2 tests)" in lines


def test_how_often_something_was_waited_for_is_added_up() -> None:
    lines = written(
        data(limits=[limit("a child", 3), limit("a file")]),
        data(limits=[limit("a child", 2)]),
        data(limits=[limit("a file")]),
        data(limits=[limit("a pipe", 4)]),
        data(limits=[limit("a socket")]),
    )
    assert lines[-4:] == [
        "  a child (5 times, in 2 tests)",
        "  a file (2 tests)",
        "  a pipe (4 times)",
        "  a socket",
    ]


def test_tests_that_are_not_deterministic_are_one_line_wherever_they_differ() -> None:
    words = "the test is not deterministic: at step {}"
    several = [_limit(f"test_{n}", Caveat(words.format(n), CaveatKind.DIVERGENCE)) for n in (1, 2)]
    diverged = _limit("test_1", Caveat("3 executions diverged", CaveatKind.DIVERGENCE))
    one = data(limits=[several[0], diverged])
    assert written(one)[-1] == "  test_1: the test is not deterministic: at step 1"
    assert written(one, data(limits=[several[1]]))[-1] == (
        "  2 tests are not deterministic, such as test_1: at step 1"
    )


def test_what_a_busy_machine_could_do_comes_before_what_it_could_not() -> None:
    early = [(30.0, "test_a: Empty, 30 s early"), (0.1, "test_b: Empty, 0.1 s early")]
    lines = written(data(untimely=early[:1]), data(untimely=early[1:]))
    assert lines[-2:] == ["  test_b: Empty, 0.1 s early", "  test_a: Empty, 30 s early"]


def test_failures_are_listed_where_nothing_else_tells_of_them() -> None:
    report = data(failures=["test_x.py::test: Deadlock (bohrbug explain .bohrbug/x.json)"])
    assert report["failures"][0] not in "".join(written(report))
    summary = Summary()
    summary.add(report)
    reporter = Reporter()
    summary.write(reporter, with_failures=True)  # type: ignore[arg-type]
    assert reporter.lines[-2:] == ["failures:", f"  {report['failures'][0]}"]
