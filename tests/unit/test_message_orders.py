"""Causal order, partings, hybrids and the bisection, on logs made by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from bohrbug.cli.message_logs import messages
from bohrbug.report.message_chart import draw_chart
from bohrbug.report.message_diff import draw_partings
from bohrbug.report.message_files import mermaid, trace_events
from bohrbug.report.message_topology import draw_topology
from bohrbug.report.style import Paper
from bohrbug.runtime.channels.bisection import NotDecidedError, Verdict, decide
from bohrbug.runtime.channels.codec import encode
from bohrbug.runtime.channels.events import (
    ChannelId,
    Event,
    Kind,
    Log,
    MessageId,
    Outcome,
    Status,
    in_tree_order,
    process_of,
)
from bohrbug.runtime.channels.orders import causal_order, hybrid, partings

CHANNEL = ChannelId("0", 0)
FLAVOUR = "queue.Queue"


def send() -> Event:
    return Event(Kind.SEND, CHANNEL, FLAVOUR, Outcome(Status.SENT))


def recv(sender: str, number: int) -> Event:
    return Event(Kind.RECV, CHANNEL, FLAVOUR, Outcome(Status.RECEIVED, MessageId(sender, number)))


def run(received: str) -> Log:
    """Two senders and a receiver; ``received`` names the senders, such as ``abab``."""
    count = {"a": 0, "b": 0}
    events = []
    for letter in received:
        events.append(recv({"a": "0.1", "b": "0.2"}[letter], count[letter]))
        count[letter] += 1
    sends = {"0.1": [send()] * count["a"], "0.2": [send()] * count["b"]}
    return Log({"0": events, **sends}, {"command": ["x"]}, {"passed": True}, {"0": "x"})


def received_by(log: Log) -> str:
    names = {"0.1": "a", "0.2": "b"}
    return "".join(names[event.outcome.message.sender] for event in log.tasks["0"])


def test_a_send_comes_before_its_receive() -> None:
    order = causal_order(run("bbaab"))
    assert len(order) == 10
    sent = {"0.1": 0, "0.2": 0}
    for step in order:
        if step.task == "0":
            message = step.event.outcome.message
            assert message.number < sent[message.sender]
        else:
            sent[step.task] += 1


def test_messages_that_nobody_sent_do_not_stop_the_order() -> None:
    log = run("ab")
    del log.tasks["0.2"]
    assert len(causal_order(log)) == 3


def test_where_two_runs_part() -> None:
    (parting,) = partings(run("aabb"), run("abab"))
    assert (parting.task, parting.number) == ("0", 1)
    assert parting.first == recv("0.1", 1)
    assert parting.second == recv("0.2", 0)
    assert partings(run("ab"), run("ab")) == []


def test_a_hybrid_begins_as_one_run_and_ends_as_the_other() -> None:
    passing, failing = run("aabb"), run("bbaa")
    order = causal_order(failing)
    found = {received_by(hybrid(passing, failing, order, n)) for n in range(len(order) + 1)}
    assert found == {"aabb", "baab", "bbaa"}


@pytest.mark.parametrize("deciding", range(1, 5))
def test_the_exchange_that_decides_is_found(deciding: int) -> None:
    """The program fails if the ``deciding``-th message of b comes before the first of a."""

    def attempt(log: Log) -> Verdict:
        received = received_by(log)
        early = received.split("a")[0].count("b") >= deciding
        return Verdict.FAILED if early else Verdict.PASSED

    passing, failing = run("aaaabbbb"), run("bbbbaaaa")
    decision = decide(passing, failing, attempt)
    assert decision.step.event == recv("0.2", deciding - 1)
    assert decision.instead == recv("0.1", 0)


def test_runs_that_do_not_repeat_are_refused() -> None:
    with pytest.raises(NotDecidedError, match="passing run does not pass"):
        decide(run("ab"), run("ba"), lambda log: Verdict.FAILED)
    with pytest.raises(NotDecidedError, match="failing run does not fail"):
        decide(run("ab"), run("ba"), lambda log: Verdict.PASSED)


def paper(width: int = 100, encoding: str = "utf-8") -> tuple[Paper, Console]:
    import io

    console = Console(file=io.TextIOWrapper(io.BytesIO(), encoding), width=width)
    return Paper(console, ["0", "0.1", "0.2"]), console


def text_of(console: Console) -> str:
    console.file.flush()
    return console.file.buffer.getvalue().decode()


def test_the_topology_counts_who_sends_to_whom() -> None:
    sheet, console = paper()
    draw_topology(sheet, run("aab"))
    text = text_of(console)
    assert "6 events of 3 tasks" in text
    assert "queue.Queue 0/0  0.1 2, 0.2 1 ─▶ 0 3" in text


@pytest.mark.parametrize(("width", "encoding"), [(100, "utf-8"), (40, "utf-8"), (100, "ascii")])
def test_the_chart_fits(width: int, encoding: str) -> None:
    sheet, console = paper(width, encoding)
    draw_chart(sheet, causal_order(run("abab")), count=3)
    text = text_of(console)
    assert "5 more events" in text
    assert all(len(line) <= width for line in text.splitlines())


def test_partings_are_shown_with_the_names_of_the_runs() -> None:
    sheet, console = paper()
    draw_partings(sheet, partings(run("ab"), run("ba")), ("pass", "fail"))
    assert "fail  recv on queue.Queue 0/0: received #1 of 0.2" in text_of(console)


def test_logs_of_different_commands_are_told_of(tmp_path: Path) -> None:
    other = run("ba")
    other.about = {"command": ["y"]}
    for name, log in (("one", run("ab")), ("two", run("ba")), ("other", other)):
        (tmp_path / name).write_bytes(encode(log))

    def diff(second: str) -> Result:
        return CliRunner().invoke(messages, ["diff", str(tmp_path / "one"), str(tmp_path / second)])

    told = diff("other")
    assert told.exit_code == 1
    assert "one and other are logs of different commands" in told.output
    assert "different commands" not in diff("two").output


def test_mermaid_has_an_arrow_for_each_message() -> None:
    text = mermaid(causal_order(run("aab")))
    assert text.startswith("sequenceDiagram\n    participant T0 as task 0\n")
    assert text.count("->>T0:") == 3
    assert "2 more events" in mermaid(causal_order(run("ab")), limit=2)


def test_trace_events_join_each_send_to_its_receive() -> None:
    log = run("aab")
    content = json.loads(trace_events(log, causal_order(log)))["traceEvents"]
    starts = {event["id"] for event in content if event["ph"] == "s"}
    ends = {event["id"] for event in content if event["ph"] == "f"}
    assert starts == ends
    assert len(starts) == 3
    assert len([event for event in content if event["ph"] == "X"]) == 6


def test_tasks_are_sorted_and_found_as_in_the_tree() -> None:
    assert in_tree_order(["0.10", "0", "0.2.1", "0.2"]) == ["0", "0.2", "0.2.1", "0.10"]
    assert process_of("0.2.1", ["0", "0.2"]) == "0.2"
    assert process_of("0.21", ["0", "0.2"]) == "0"
    assert process_of("1", ["0"]) is None
