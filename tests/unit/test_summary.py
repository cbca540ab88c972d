"""The section that the pytest plugin prints at the end."""

from __future__ import annotations

from typing import Any

from bohrbug.pytest_plugin.summary import Summary


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
        "caveats": [],
        "tasks": 3,
        **changes,
    }


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
    report = data(races=["Counter.value"] * 2, caveats=["a child process", "a child process"])
    lines = written(report, report, data())
    assert "  Counter.value (2 tests)" in lines
    assert "  a child process (2 tests)" in lines


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
