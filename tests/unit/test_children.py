"""Children get the processor until each of them waits or has ended."""

from __future__ import annotations

import asyncio
import multiprocessing
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

import bohrbug
from bohrbug.exploration.result import Result
from bohrbug.exploration.verdicts import VerdictKind
from bohrbug.runtime.threads import children, outside
from bohrbug.runtime.threads.children import FAST, IN_ORDER, settle_children

pytestmark = pytest.mark.skipif(not children._TELLS, reason="needs /proc")

COMPUTES = "sum(range(2_000_000)); print(1, flush=True); input()"
HAS_A_THREAD = f"""
import threading
t = threading.Thread(target=lambda: exec({COMPUTES!r}))
t.start(); t.join()
"""
HAS_A_CHILD = f"""
import subprocess, sys
subprocess.run([sys.executable, "-c", {COMPUTES!r}])
"""
ENDS = "print(1, flush=True)"


@pytest.fixture(autouse=True)
def _forgets() -> Iterator[None]:
    yield
    children._left.clear()


def _tell_of(pid: int) -> None:
    children._left[pid] = children.PATIENCE


def _python(code: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )


@pytest.mark.parametrize("code", [COMPUTES, HAS_A_THREAD, HAS_A_CHILD, ENDS])
def test_child_has_answered_once_it_has_settled(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Whatever else the machine has to do.
    monkeypatch.setattr(children, "PATIENCE", 60.0)
    with _python(code) as child:
        _tell_of(child.pid)
        settle_children()
        assert child.stdout is not None
        readable, _, _ = select.select([child.stdout], [], [], 0)
        assert readable
        assert (child.poll() is not None) == (code == ENDS)
        assert bool(children._left) == (code != ENDS)
        child.communicate(b"\n")


def test_child_that_computes_for_long_is_not_waited_for_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(children, "PATIENCE", 0.05)
    with _python("while True: pass") as child:
        _tell_of(child.pid)
        settle_children()
        assert not children._left
        child.kill()


def test_nothing_is_waited_for_without_children(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", pytest.fail)
    settle_children()


async def _echo(words: str) -> bytes:
    process = await asyncio.create_subprocess_exec("echo", words, stdout=subprocess.PIPE)
    printed, _ = await process.communicate()
    return printed


def _in_order() -> None:
    done: list[str] = []

    async def echo(words: str) -> None:
        done.append((await _echo(words)).decode().strip())

    async def main() -> None:
        await asyncio.gather(echo("a"), echo("b"))

    asyncio.run(main())
    assert done == ["a", "b"]


def _in_threads() -> None:
    done: list[bytes] = []

    def echo(words: str) -> None:
        done.append(subprocess.run(["echo", words], capture_output=True, check=True).stdout)

    threads = [threading.Thread(target=echo, args=(words,)) for words in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done == [b"a\n", b"b\n"]


@pytest.mark.parametrize("test", [_in_order, _in_threads])
def test_order_in_which_children_answer_is_found_and_replayed(test: object) -> None:
    result = bohrbug.explore(test, executions=300)  # type: ignore[arg-type]
    (failure,) = result.failures
    assert failure.confirmed >= 3
    assert not [caveat for caveat in result.verdict.caveats if "deterministic" in caveat]


def test_loop_with_a_child_is_deterministic() -> None:
    async def main() -> None:
        process = await asyncio.create_subprocess_exec(
            "cat", stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert process.stdin is not None
        assert process.stdout is not None
        for words in (b"one\n", b"two\n"):
            process.stdin.write(words)
            assert await process.stdout.readline() == words
        process.stdin.close()
        assert await process.wait() == 0

    result = bohrbug.explore(main, executions=40, strategy="random")
    assert result.verdict.kind is not VerdictKind.FAILED
    assert _conditions(result) == (FAST,)
    assert not [caveat for caveat in result.verdict.caveats if "deterministic" in caveat]


def _put(queue: multiprocessing.Queue[int], number: int) -> None:
    queue.put(number)


@pytest.mark.parametrize("count", [1, 2])
def test_nothing_is_promised_of_other_orders_of_children(count: int) -> None:
    """Which nobody varies: these two answer in the order in which they were started, mostly."""

    def test() -> None:
        queue: multiprocessing.Queue[int] = multiprocessing.Queue()
        processes = [
            multiprocessing.Process(target=_put, args=(queue, number)) for number in range(count)
        ]
        for process in processes:
            process.start()
        assert {queue.get() for _ in processes} == {*range(count)}
        for process in processes:
            process.join()

    result = bohrbug.explore(test)
    assert not result.failures
    assert _conditions(result) == ((FAST, IN_ORDER) if count == 2 else (FAST,))


def test_looks_at_a_child_pause_shortly_while_another_task_could_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What the child waits for may be up to that task, which the schedule holds back."""
    pauses: list[float] = []
    monkeypatch.setattr(outside, "_real_sleep", pauses.append)
    longest: list[float] = []

    def look_often(child: subprocess.Popen[bytes]) -> None:
        pauses.clear()
        for _ in range(20):
            assert child.poll() is None
        longest.append(max(pauses))

    def test() -> None:
        with _python("input()") as child:
            thread = threading.Thread(target=int)
            thread.start()
            look_often(child)
            thread.join()
            look_often(child)
            child.communicate(b"1")

    bohrbug.explore(test, executions=1)
    assert longest == [outside.LONGEST_PAUSE_BESIDE_OTHERS, outside.LONGEST_PAUSE]


def _conditions(result: Result) -> tuple[str, ...]:
    """As what the verdict takes things."""
    conditions = result.verdict.conditions
    assert conditions is not None
    return conditions.taking


def test_who_starts_many_processes_gives_time_to_none_of_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks: list[str] = []
    in_vain = outside.Glances.in_vain

    def counted(self: outside.Glances, around: outside.Outside | None = None) -> None:
        looks.append("in vain")
        in_vain(self, around)

    monkeypatch.setattr(outside.Glances, "in_vain", counted)

    def test() -> None:
        fork = multiprocessing.get_context("fork")
        go_on = fork.Event()
        processes = [fork.Process(target=go_on.wait) for _ in range(4)]
        for process in processes:
            process.start()
        started = len(looks)
        # Who asks himself may do so until one has ended.
        assert len(multiprocessing.active_children()) == 4
        asked = len(looks) - started
        go_on.set()
        for process in processes:
            process.join()
        assert (started, asked) == (0, 4)

    result = bohrbug.explore(test, executions=1, seconds=None)
    assert not result.failures, result.failures[0].outcome


@pytest.mark.parametrize("fails", [True, False])
def test_processes_of_a_failed_execution_end_with_its_tasks(fails: bool) -> None:
    started: list[multiprocessing.process.BaseProcess] = []

    def test() -> None:
        fork = multiprocessing.get_context("fork")
        go_on = fork.Event()
        process = fork.Process(target=go_on.wait, args=(60,), daemon=True)
        process.start()
        started.append(process)
        assert not fails
        go_on.set()

    result = bohrbug.explore(test, executions=2, minimise=False, causes=0)
    assert bool(result.failures) is fails
    for process in started:
        process.join(30)
    assert {process.exitcode for process in started} == {-signal.SIGKILL if fails else 0}
