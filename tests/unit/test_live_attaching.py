"""What attaching to a service is made of: addresses, messages, a listener, approaches, time."""

from __future__ import annotations

import os
import random
import socket
import sys
import threading
import time
from collections.abc import Generator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bohrbug.live import addresses, attaching, listener
from bohrbug.live.addresses import AttachError, check_private, find_address, make_address
from bohrbug.live.figures import Figures
from bohrbug.live.harm import End
from bohrbug.live.inside import PAUSE, STEPS, Approach, StayingInside, Where
from bohrbug.live.options import LiveOptions
from bohrbug.live.result import LiveResult
from bohrbug.live.system_calls import MACHINES, filter_of, outcome_of
from bohrbug.live.wire import (
    HISTORY,
    VERSION,
    AttachRequest,
    MessageKind,
    decoded,
    encoded,
    result_from_json,
    result_to_json,
)
from bohrbug.model.conditions import Level
from bohrbug.model.operation import ACQUIRE, EXTERNAL, READ, Operation
from bohrbug.model.outcome import PASSED, Outcome, OutcomeKind
from bohrbug.model.plan import NonPreemptive, UniformRandom
from bohrbug.runtime.policies import decider_for
from bohrbug.runtime.threads.arrivals import Arrivals
from bohrbug.runtime.threads.clock import RealClock
from bohrbug.runtime.threads.io.waiting import READABLE, WRITABLE
from bohrbug.runtime.threads.task import Task

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="live rounds need Linux")

# -- where services listen ------------------------------------------------------------------


@pytest.fixture
def runtime_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    # The path of a socket is short.
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path / "bohrbug"


@on_linux
def test_a_socket_is_in_a_directory_that_is_private(runtime_directory: Path) -> None:
    path = make_address(os.getpid())
    assert path == runtime_directory / f"{os.getpid()}.sock"
    assert runtime_directory.stat().st_mode & 0o777 == 0o700


@on_linux
def test_a_directory_that_others_can_write_to_is_not_used(runtime_directory: Path) -> None:
    runtime_directory.mkdir()
    runtime_directory.chmod(0o770)
    with pytest.raises(AttachError, match="is open to other users"):
        check_private(runtime_directory, os.geteuid())
    assert make_address(os.getpid()).parent != runtime_directory
    listening = socket.socket(socket.AF_UNIX)
    with listening:
        listening.bind(str(runtime_directory / "7.sock"))
        with pytest.raises(AttachError, match="is open to other users"):
            find_address(7, os.geteuid())


@on_linux
def test_a_directory_of_another_user_is_not_used(runtime_directory: Path) -> None:
    runtime_directory.mkdir(mode=0o700)
    with pytest.raises(AttachError, match="belongs to user"):
        check_private(runtime_directory, os.geteuid() + 1)


@on_linux
def test_what_killed_processes_have_left_is_removed(runtime_directory: Path) -> None:
    runtime_directory.mkdir(mode=0o700)
    own, gone, other = (runtime_directory / f"{n}.sock" for n in (os.getpid(), 2**22 + 1, 1))
    for path in (own, gone, other):
        path.touch()
    make_address(os.getpid())
    assert [path.exists() for path in (own, gone, other)] == [False, False, True]


@on_linux
def test_where_nothing_listens_there_is_no_address(runtime_directory: Path) -> None:
    assert find_address(os.getpid(), os.geteuid()) is None


# -- what is told -----------------------------------------------------------------------------


def test_what_is_wanted_arrives_as_it_was_but_for_what_a_service_decides() -> None:
    wanted = AttachRequest(
        LiveOptions(budget=7.0, window=9, rounds=3, debug=True), Level.ALL, ("a", "b")
    )
    found = AttachRequest.from_json(wanted.to_json())
    assert found == replace(wanted, rounds=replace(wanted.rounds, history=HISTORY, debug=False))


def test_another_version_is_refused() -> None:
    data = {**AttachRequest(LiveOptions()).to_json(), "version": VERSION + 1}
    with pytest.raises(ValueError, match="different versions"):
        AttachRequest.from_json(data)


def test_options_that_make_no_sense_are_refused() -> None:
    data = AttachRequest(LiveOptions()).to_json()
    data["rounds"]["budget"] = 400
    with pytest.raises(ValueError, match="budget must be"):
        AttachRequest.from_json(data)


def test_results_arrive_as_they_were() -> None:
    figures = Figures(rounds=3, retired=1, unproved=[("ValueError", "0.1")], share=12.5)
    figures.ends.update({End.WINDOW: 5, End.FAILED: 1})
    for outcome in (PASSED, Outcome(OutcomeKind.INTERRUPTED, "interrupted by the user")):
        result = LiveResult(outcome, figures, 1.5, 70, is_whole=False)
        kind, data = decoded(encoded(MessageKind.OVER, result_to_json(result)))
        assert kind is MessageKind.OVER
        assert result_from_json(data) == result


# -- the listener --------------------------------------------------------------------------------


@pytest.fixture
def news() -> list[str]:
    return []


@pytest.fixture
def opened(runtime_directory: Path, news: list[str]) -> Generator[listener.Listener]:
    made = listener.Listener(lambda: news.append("news"))
    yield made
    made.close()
    assert not made.path.exists()


def call(opened: listener.Listener, message: bytes) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(20)
    connection.connect(str(opened.path))
    # Who is refused may be told so before it has said anything.
    with suppress(BrokenPipeError):
        connection.sendall(message)
    return connection


def answer(connection: socket.socket) -> tuple[MessageKind, Any]:
    with connection.makefile("rb") as file:
        return decoded(file.readline())


def until(condition: Any) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


ASK = encoded(MessageKind.ATTACH, AttachRequest(LiveOptions()).to_json())


@on_linux
def test_one_is_let_in_and_the_next_one_is_refused(
    opened: listener.Listener, news: list[str]
) -> None:
    with call(opened, ASK) as first:
        until(lambda: opened.client is not None)
        client = opened.client
        assert client is not None
        assert (client.process, client.user) == (os.getpid(), os.geteuid())
        with call(opened, ASK) as second:
            expected = f"process {os.getpid()} is attached to it already"
            assert answer(second) == (MessageKind.REFUSED, expected)
        assert not client.has_left
        first.sendall(encoded(MessageKind.DETACH))
        until(lambda: client.has_left)
        assert news == ["news"] * 2
        client.tell(MessageKind.OVER, 1, is_last=True)
        assert answer(first) == (MessageKind.OVER, 1)
        client.wait_until_told()
        assert first.recv(1) == b""


@on_linux
def test_who_is_gone_has_left(opened: listener.Listener) -> None:
    call(opened, ASK).close()
    until(lambda: opened.client is not None and opened.client.has_left)


@on_linux
def test_what_is_no_message_is_refused(opened: listener.Listener) -> None:
    for message in (b"GET / HTTP/1.1\n", b"[]\n", encoded(MessageKind.ATTACH, {}), b"\xff\n"):
        with call(opened, message) as connection:
            assert answer(connection)[0] is MessageKind.REFUSED
    assert opened.client is None


@on_linux
def test_who_never_stops_talking_is_refused(opened: listener.Listener) -> None:
    with call(opened, b"x" * (1 << 16)) as connection:
        sender = threading.Thread(target=lambda: _send(connection, b"x" * (1 << 21)))
        sender.start()
        assert answer(connection) == (MessageKind.REFUSED, "that is too long")
        sender.join()


def _send(connection: socket.socket, data: bytes) -> None:
    try:
        connection.sendall(data)
    except OSError:
        return


@on_linux
def test_another_user_is_refused(
    opened: listener.Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listener, "peer_of", lambda connection: (7, os.geteuid() + 1))
    with call(opened, ASK) as connection:
        assert answer(connection)[0] is MessageKind.REFUSED
    assert opened.client is None


@on_linux
def test_who_is_refused_before_it_has_asked_is_told_why(
    opened: listener.Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(*message: Any) -> bytes:
        time.sleep(0.2)
        return encoded(*message)

    monkeypatch.setattr(listener, "peer_of", lambda connection: (7, os.geteuid() + 1))
    monkeypatch.setattr(attaching, "encoded", late)
    with attaching.Attaching(os.getpid(), AttachRequest(LiveOptions())) as refused:
        with pytest.raises(AttachError, match="the service is not user"):
            list(refused.events())


@on_linux
def test_what_is_left_to_be_told_is_told_when_it_closes(runtime_directory: Path) -> None:
    made = listener.Listener(lambda: None)
    with call(made, ASK) as connection:
        until(lambda: made.client is not None)
        assert made.client is not None
        # More than what fits between the two.
        made.client.tell(MessageKind.OVER, "x" * (1 << 21), is_last=True)
        reader: list[tuple[MessageKind, Any]] = []
        thread = threading.Thread(target=lambda: reader.append(answer(connection)))
        thread.start()
        made.close()
        thread.join()
        assert reader[0][1] == "x" * (1 << 21)


@on_linux
def test_the_peer_is_who_the_kernel_says() -> None:
    one, other = socket.socketpair(socket.AF_UNIX)
    with one, other:
        assert addresses.peer_of(one) == (os.getpid(), os.geteuid())


# -- inside ------------------------------------------------------------------------------------


def a_task(index: int, kind: Any, resource: str = "0:1") -> Any:
    task = Task(f"0.{index}", index, 0)
    task.pending = Operation(kind, resource, None)
    return task


class Recording:
    """Stands for an execution; notes by what it decides."""

    def __init__(self, *alive: Any) -> None:
        self.alive = alive
        self.policies: list[type] = []

    def decide_by(self, policy: Any) -> None:
        self.policies.append(type(policy))


def test_who_would_be_seen_outside_waits_as_long_as_others_can_go_on() -> None:
    inside, leaving = a_task(2, READ), a_task(1, EXTERNAL)
    staying = StayingInside(decider_for(NonPreemptive()))
    for enabled in ([leaving, inside], [inside, leaving]):
        assert staying.choose(leaving, enabled, [], False, 0) is inside
    assert staying.choose(leaving, [leaving], [], False, 0) is leaving


def test_an_approach_ends_where_two_tasks_inside_are_about_to_conflict() -> None:
    one, other, leaving = a_task(1, ACQUIRE), a_task(2, ACQUIRE), a_task(3, EXTERNAL)
    execution: Any = Recording(one, other, leaving)
    # The length before which it does not look is drawn.
    lengths = set()
    for seed in range(20):
        approach = Approach(random.Random(seed))
        step = 100
        while approach.look(execution, step, [one, other, leaving]) is Where.UNDER_WAY:
            step += 1
        lengths.add(step - 100)
        assert step - 100 <= STEPS
        assert execution.policies[-2:] == [UniformRandom, NonPreemptive]
    assert len(lengths) > 5


def test_an_approach_in_vain_is_followed_by_a_pause() -> None:
    one, leaving = a_task(1, ACQUIRE), a_task(3, EXTERNAL)
    execution: Any = Recording(one, leaving)
    approach = Approach(random.Random(0))
    found = [approach.look(execution, step, [one, leaving]) for step in range(STEPS + 2)]
    assert found == [Where.UNDER_WAY] * STEPS + [Where.IN_VAIN] * 2
    assert execution.policies == [UniformRandom, NonPreemptive]
    assert approach.look(execution, STEPS + PAUSE, [one, leaving]) is Where.UNDER_WAY


def test_an_approach_goes_on_when_steps_are_forgotten() -> None:
    one, leaving = a_task(1, ACQUIRE), a_task(3, EXTERNAL)
    execution: Any = Recording(one, leaving)
    approach = Approach(random.Random(0))
    approach.look(execution, 1_000, [one, leaving])
    approach.forget(900)
    assert approach.look(execution, 100 + STEPS - 1, [one, leaving]) is Where.UNDER_WAY
    assert approach.look(execution, 100 + STEPS, [one, leaving]) is Where.IN_VAIN


def test_asking_what_a_socket_is_passes_and_taking_its_error_does_not() -> None:
    machine = MACHINES["x86_64"]
    program = filter_of(machine, 1, (), waits_for_events=False)
    names, peers, options = 51, 52, 55
    assert outcome_of(program, machine, names, (5,))
    assert outcome_of(program, machine, peers, (5,))
    for option, passes in ((3, True), (38, True), (39, True), (4, False), (20, False)):
        assert outcome_of(program, machine, options, (5, 1, option)) is passes


# -- real time ----------------------------------------------------------------------------------


def test_the_real_clock_is_that_of_the_system_and_jumps_only_in_copies() -> None:
    clock = RealClock()
    assert abs(clock.now - time.monotonic()) < 5
    assert abs(clock.epoch + clock.now - time.time()) < 5
    far = clock.now + 1_000
    clock.advance_to(far)
    assert clock.now < far
    clock.can_jump = True
    clock.advance_to(far)
    assert clock.now >= far


@on_linux
def test_what_arrives_ends_the_wait_at_once() -> None:
    reading, writing = os.pipe()
    try:
        arrivals, task = Arrivals(), Task("0.1", 1, 0)
        arrivals.watch(task, lambda: ((reading, READABLE),))
        assert arrivals.wait([task], 0.001) is False
        os.write(writing, b"x")
        began = time.monotonic()
        assert arrivals.wait([task], 1_000.0) is True
        assert time.monotonic() - began < 20
        # Somebody else waits for something else.
        assert arrivals.wait([task, Task("0.2", 2, 0)], 0.001) is None
        arrivals.unwatch(task)
        assert arrivals.wait([task], 0.001) is None
        assert arrivals.wait([], 0.001) is None
    finally:
        os.close(reading)
        os.close(writing)


@on_linux
def test_two_tasks_may_wait_for_one_descriptor() -> None:
    one, other = socket.socketpair()
    with one, other:
        arrivals = Arrivals()
        reader, writer = Task("0.1", 1, 0), Task("0.2", 2, 0)
        arrivals.watch(writer, lambda: ((one.fileno(), WRITABLE),))
        arrivals.watch(reader, lambda: ((one.fileno(), READABLE),))
        assert arrivals.wait([writer, reader], 0.001) is True
        assert arrivals.wait([reader], 0.001) is False


def test_a_closed_descriptor_is_not_waited_for() -> None:
    arrivals, task = Arrivals(), Task("0.1", 1, 0)
    arrivals.watch(task, lambda: ((-1, 1),))
    assert arrivals.wait([task], 0.001) is None


def test_nothing_happens_when_nobody_has_started() -> None:
    import bohrbug.live

    bohrbug.live.failed(ValueError())
    with pytest.raises(RuntimeError, match="was not called"):
        bohrbug.live.stop()
