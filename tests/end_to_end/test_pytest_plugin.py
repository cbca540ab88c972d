"""``pytest --bohrbug`` as it is typed."""

from __future__ import annotations

import os
import re

import pytest

from .conftest import Folder
from .programs import DEADLOCK, LOCKED, LOST_UPDATE


def test_a_failure_is_reported_and_replayed_in_a_new_process(folder: Folder) -> None:
    folder.write("test_counter.py", LOST_UPDATE)

    assert folder.pytest("-q").code == 0, "without the option it is an ordinary test"
    found = folder.pytest("--bohrbug")

    assert found.code == 1, found.out
    assert "It fails if and only if" in found.out
    assert "the counter says 1" in found.out
    assert "verdicts: failed: 1" in found.out
    assert re.search(r"FAILED test_counter.py::test_add - Assert", found.out)
    path = folder.reproduction().relative_to(folder.path)
    assert f"bohrbug replay {path}" in found.out

    replayed = folder.pytest(f"--bohrbug-replay={path}", "--bohrbug-times=100")
    assert replayed.code == 1, replayed.out
    assert "reproduced in 100 of 100 replays" in replayed.out
    assert "1 failed" in replayed.out


def test_the_replay_command_works_for_tests(folder: Folder) -> None:
    folder.write("test_counter.py", LOST_UPDATE + "\ndef test_other(): pass\n")
    folder.pytest("--bohrbug")
    path = str(folder.reproduction())
    replayed = folder.bohrbug("replay", path)
    assert replayed.code == 1, replayed.out + replayed.err
    assert "reproduced in 1 of 1 replay" in replayed.out
    with_pdb = folder.bohrbug("replay", path, "--pdb", stdin="p value\nc\nc\n")
    assert "-> self.value = value + 1" in with_pdb.out, with_pdb.out
    assert "(bohrbug pdb) 0" in with_pdb.out
    assert "reproduced in 1 of 1 replay" in with_pdb.out
    explained = folder.bohrbug("explain", path)
    assert explained.code == 0
    assert "test_counter.py::test_add" in explained.out


@pytest.mark.parametrize(
    ("options", "configuration"),
    [([], "here/pytest.ini"), (["--rootdir=other", "-c", "own.ini"], "own.ini")],
)
def test_the_test_is_found_again_from_another_folder(
    folder: Folder, options: list[str], configuration: str
) -> None:
    for name in ("here", "other"):
        (folder.path / name).mkdir()
    folder.write("here/test_counter.py", LOST_UPDATE + "\nadds = test_add\ndel test_add\n")
    folder.write(configuration, "[pytest]\npython_functions = adds\n")
    first = folder.pytest("--bohrbug", *options, "here/test_counter.py")
    assert first.code == 1, first.out + first.err
    (path,) = folder.path.rglob("*.json")
    replayed = folder.bohrbug("replay", str(path))
    assert replayed.code == 1, replayed.out + replayed.err
    assert "reproduced in 1 of 1 replay" in replayed.out
    moved = folder.pytest(f"--bohrbug-replay={path}", "-c", configuration, "--rootdir=.")
    assert "reproduced in 1 of 1 replay" in moved.out, moved.out


def test_a_replay_imports_from_where_python_m_pytest_does(folder: Folder) -> None:
    (folder.path / "tests").mkdir()
    folder.write("pytest.ini", "[pytest]\n")
    folder.write("shop.py", "")
    folder.write("tests/test_counter.py", "import shop\n" + LOST_UPDATE)
    assert folder.pytest("--bohrbug").code == 1
    # The installed command does not begin with the current folder, either.
    replayed = folder.bohrbug("replay", str(folder.reproduction()), PYTHONSAFEPATH="1")
    assert replayed.code == 1, replayed.out + replayed.err
    assert "reproduced in 1 of 1 replay" in replayed.out


def test_a_deadlock(folder: Folder) -> None:
    folder.write("test_locks.py", DEADLOCK)
    found = folder.pytest("--bohrbug")
    assert found.code == 1
    assert "wait for each other" in found.out
    path = folder.reproduction()
    replayed = folder.pytest(f"--bohrbug-replay={path}", "--bohrbug-times=10")
    assert "reproduced in 10 of 10 replays" in replayed.out


def test_a_test_that_holds_says_so(folder: Folder) -> None:
    folder.write("test_locks.py", LOCKED + "\ndef test_alone(): pass\n")
    done = folder.pytest("--bohrbug", "--bohrbug-strategy=dfs", "-v")
    assert done.code == 0, done.out
    assert re.search(r"test_add PASSED \(holds: all schedules", done.out)
    assert "test_alone PASSED (holds: one schedule: no second task was started" in done.out
    assert "2 tests explored, 1 of them with a choice between tasks" in done.out
    assert "verdicts: holds: 2" in done.out
    assert not folder.reproductions()


def test_an_inconclusive_test_is_not_counted_as_passed(folder: Folder) -> None:
    folder.write(
        "test_endless.py",
        """
        import threading
        def test_endless():
            thread = threading.Thread(target=print)
            thread.start()
            for _ in iter(int, 1): pass
        """,
    )
    done = folder.pytest("--bohrbug", "--bohrbug-hang-seconds=0.5", "-v")
    assert "test_endless INCONCLUSIVE (after " in done.out, done.out
    assert "= 1 inconclusive in " in done.out
    assert "passed" not in done.out
    assert done.code == 0


ONCE = """
import threading
made = []
def add(value):
    made.append(value)
def test_once():
    threads = [threading.Thread(target=add, args=(value,)) for value in (1, 2)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
"""


def test_what_passes_once_and_fails_if_repeated_is_no_failure(folder: Folder) -> None:
    folder.write("test_once.py", ONCE + "    assert len(made) == 2\n")
    assert folder.pytest().code == 0
    done = folder.pytest("--bohrbug", "-v")
    assert "test_once INCONCLUSIVE (after 2 executions: the test can't be exec" in done.out
    assert done.code == 0


def test_unless_another_schedule_was_the_first_to_fail(folder: Folder) -> None:
    """It may have a bug, of which something is left behind."""
    folder.write("test_once.py", ONCE + "    assert made == [1, 2] * (len(made) // 2)\n")
    done = folder.pytest("--bohrbug", "-v")
    assert "the test can't be executed again and again" in done.out
    assert done.code == 1, done.out


def test_classes_parameters_and_unittest(folder: Folder) -> None:
    folder.write(
        "test_kinds.py",
        """
        import threading, unittest
        import pytest

        def in_two_threads(function):
            threads = [threading.Thread(target=function) for _ in range(2)]
            for thread in threads: thread.start()
            for thread in threads: thread.join()

        class TestClass:
            values = None
            def setup_method(self):
                assert self.values is None
                self.values = []
            def test_method(self):
                in_two_threads(lambda: self.values.append(1))
                assert len(self.values) == 2

        @pytest.mark.parametrize("times", [1, 2])
        def test_parameter(times):
            done = []
            in_two_threads(lambda: done.extend([1] * times))
            assert len(done) == 2 * times

        class OldFashioned(unittest.TestCase):
            classes = []
            @classmethod
            def setUpClass(cls):
                cls.classes.append(1)
            def setUp(self):
                self.value = 0
                assert len(self.classes) == 1
            def add(self):
                value = self.value
                self.value = value + 1
            def test_lost(self):
                in_two_threads(self.add)
                self.assertEqual(self.value, 2)
            def test_kept(self):
                lock = threading.Lock()
                def add():
                    with lock: self.add()
                in_two_threads(add)
                self.assertEqual(self.value, 2)
            @unittest.skip("not now")
            def test_skipped(self): raise RuntimeError
            @unittest.expectedFailure
            def test_expected(self):
                in_two_threads(self.add)
                self.assertEqual(self.value, 2)
            def test_deadlock(self):
                threading.Lock().acquire()
                lock = threading.Lock()
                lock.acquire()
                in_two_threads(lock.acquire)
        """,
    )
    done = folder.pytest("--bohrbug", "--bohrbug-executions=200", "-v", "-ra")
    # An unexpected success is a failure for unittest, here as without exploring.
    assert "3 failed, 4 passed, 1 skipped" in done.out, done.out
    assert "FAILED test_kinds.py::OldFashioned::test_lost - AssertionError" in done.out
    assert "FAILED test_kinds.py::OldFashioned::test_deadlock" in done.out
    assert "not now" in done.out
    lost = next(path for path in folder.reproductions() if "test_lost" in path.name)
    replayed = folder.pytest(f"--bohrbug-replay={lost}", "--bohrbug-times=20")
    assert "reproduced in 20 of 20 replays" in replayed.out, replayed.out


def test_skips_and_expected_failures(folder: Folder) -> None:
    folder.write(
        "test_outcomes.py",
        """
        import threading
        import pytest

        @pytest.mark.skip(reason="marked")
        def test_marked(): raise RuntimeError

        def test_inside(): pytest.skip("inside")

        @pytest.fixture
        def skipping(): pytest.skip("in a fixture")

        def test_in_fixture(skipping): raise RuntimeError

        def test_import(): pytest.importorskip("there_is_no_such_module")

        @pytest.mark.xfail(raises=ZeroDivisionError)
        def test_expected(): 1 / 0

        @pytest.mark.xfail(raises=ZeroDivisionError)
        def test_other_than_expected(): raise ValueError

        @pytest.mark.xfail(strict=True)
        def test_unexpected_pass(): pass

        @pytest.mark.xfail(run=False, reason="not run")
        def test_not_run(): raise RuntimeError

        def test_imperative(): pytest.xfail("known")

        def test_raises():
            with pytest.raises(ValueError, match="expected"):
                raise ValueError("expected")

        def test_warns():
            with pytest.warns(UserWarning):
                import warnings
                warnings.warn("careful")
        """,
    )
    plain = folder.pytest("-q")
    explored = folder.pytest("-q", "--bohrbug")
    counts = re.findall(r"\d+ (?:failed|passed|skipped|xfailed|xpassed|error)", plain.lines[-1])
    assert counts
    assert re.findall(r"\d+ (?:failed|passed|skipped|xfailed|error)", explored.lines[-1]) == counts
    assert "2 failed" in explored.out


def test_what_is_not_explored_is_said(folder: Folder) -> None:
    folder.write(
        "test_others.py",
        '''
        """
        >>> 1 + 1
        2
        """
        from hypothesis import given, strategies

        @given(strategies.integers())
        def test_drawn(number): assert number == number
        ''',
    )
    done = folder.pytest("--bohrbug", "--doctest-modules")
    assert "2 passed" in done.out, done.out
    assert "not explored: 1 test, DoctestItem is not a Python function" in done.out
    assert "not explored: 1 test, hypothesis draws other examples" in done.out


def test_the_order_of_log_records_is_explored_for_who_looks_at_them(folder: Folder) -> None:
    folder.write(
        "test_logs.py",
        """
        import logging
        import threading

        def log_in_two_threads():
            threads = [threading.Thread(target=logging.warning, args=(word,)) for word in "ab"]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        def test_order(caplog):
            log_in_two_threads()
            assert caplog.messages == ["a", "b"]

        def test_nobody_looks():
            log_in_two_threads()
        """,
    )
    done = folder.pytest("--bohrbug", "-v")
    assert "1 failed, 1 passed" in done.out
    assert "test_nobody_looks PASSED (holds: all schedules" in done.out, done.out


def test_exceptions_in_threads_and_logging(folder: Folder) -> None:
    folder.write(
        "test_threads.py",
        """
        import logging, threading
        def test_raises_in_a_thread():
            def work():
                logging.getLogger("shop").warning("nobody is there")
                raise LookupError("gone")
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
        def test_logs(caplog):
            def work(): logging.getLogger("shop").warning("hello")
            threads = [threading.Thread(target=work) for _ in range(2)]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
            assert [record.message for record in caplog.records] == ["hello"] * 2
        """,
    )
    done = folder.pytest("--bohrbug", "-W", "error")
    assert "LookupError: gone" in done.out
    assert "1 failed, 1 passed" in done.out, done.out
    assert "nobody is there" in done.out
    assert "TaskKilled" not in done.out + done.err


@pytest.mark.parametrize(
    ("filters", "code"),
    [
        ("ignore::pytest.PytestUnhandledThreadExceptionWarning", 0),
        ("ignore:Exception in thread worker:pytest.PytestUnhandledThreadExceptionWarning", 0),
        ("ignore:Exception in thread other:pytest.PytestUnhandledThreadExceptionWarning", 1),
        ("ignore::pytest.PytestUnhandledThreadExceptionWarning:_pytest.threadexception", 0),
        ("ignore::pytest.PytestUnhandledThreadExceptionWarning:shop", 1),
        ("error::pytest.PytestUnhandledThreadExceptionWarning", 1),
        # Who wants to see no warnings at all has not said that threads may die.
        ("ignore", 1),
        ("ignore::pytest.PytestWarning", 1),
    ],
)
def test_a_test_says_that_threads_may_raise(folder: Folder, filters: str, code: int) -> None:
    folder.write(
        "test_threads.py",
        f"""
        import pytest, threading
        @pytest.mark.filterwarnings({filters!r})
        def test_raises_in_a_thread():
            thread = threading.Thread(target=[].pop, name="worker")
            thread.start()
            thread.join()
        """,
    )
    done = folder.pytest("--bohrbug")
    assert done.code == code, done.out


def test_keep_going_reports_all_failures(folder: Folder) -> None:
    folder.write(
        "test_two.py",
        """
        import threading
        def test_two():
            values = []
            def work(name):
                values.append(name)
                if values == ["b", "a"]: raise KeyError("backwards")
            def other():
                if values == ["a"]: raise ValueError("between")
                work("b")
            threads = [threading.Thread(target=work, args="a"), threading.Thread(target=other)]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
        """,
    )
    done = folder.pytest("--bohrbug", "--bohrbug-keep-going")
    assert "KeyError" in done.out, done.out
    assert "ValueError" in done.out
    assert len(folder.reproductions()) == 2


def test_output_that_is_not_captured(folder: Folder) -> None:
    folder.write("test_counter.py", LOST_UPDATE)
    for capture in ("no", "sys", "tee-sys"):
        done = folder.pytest("--bohrbug", f"--capture={capture}")
        assert done.code == 1
        assert "the counter says 1" in done.out


def test_exit_and_stop_after_the_first_failure(folder: Folder) -> None:
    folder.write("test_a.py", LOST_UPDATE)
    folder.write("test_b.py", "import pytest\ndef test_exit(): pytest.exit('enough', 7)\n")
    assert "stopping after 1 failures" in folder.pytest("--bohrbug", "-x").out
    assert folder.pytest("--bohrbug", "test_b.py").code == 7


def test_control_is_taken_before_test_modules_are_imported(folder: Folder) -> None:
    folder.write(
        "test_early.py",
        """
        import threading
        from threading import Lock
        lock = Lock()
        event = threading.Event()
        value = 0
        def test_early():
            global value
            value = 0
            def add():
                global value
                with lock:
                    old = value
                    value = old + 1
            threads = [threading.Thread(target=add) for _ in range(2)]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
            assert value == 2
        """,
    )
    done = folder.pytest("--bohrbug", "-v")
    assert "PASSED (" in done.out, done.out
    assert "not controlled" not in done.out


@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT to a child process")
def test_an_interrupt_ends_the_session_and_keeps_findings(folder: Folder) -> None:
    from .test_command_line import SIGNALS, interrupt

    folder.write("signals.py", SIGNALS)
    folder.write("test_a.py", LOST_UPDATE)
    folder.write(
        "test_b.py", LOCKED.replace("assert", "import signals; signals.signal('ran'); assert")
    )
    folder.write("test_c.py", "def test_never(): raise RuntimeError('executed')\n")
    command = folder.pytest_command(
        "--bohrbug",
        "--bohrbug-strategy=random",
        "--bohrbug-executions=100000000",
        "--bohrbug-seconds=none",
    )
    done = interrupt(folder, command, "ran")
    assert done.code == 2, done.out
    assert "KeyboardInterrupt" in done.out
    assert "It fails if and only if" in done.out
    assert "1 failed" in done.out
    assert "executed" not in done.out
    assert folder.reproduction().is_file()


def test_subtests_belong_to_the_executions(folder: Folder) -> None:
    folder.write(
        "test_sub.py",
        """
        import threading
        import unittest

        class TestCounts(unittest.TestCase):
            def test_lost_update(self):
                for number in (1, 2):
                    with self.subTest(number=number):
                        box = [0]

                        def work():
                            value = box[0]
                            box[0] = value + 1

                        threads = [threading.Thread(target=work) for _ in range(number)]
                        for thread in threads:
                            thread.start()
                        for thread in threads:
                            thread.join()
                        self.assertEqual(box, [number])

            def test_right(self):
                for number in (1, 2):
                    with self.subTest(number=number):
                        thread = threading.Thread(target=int)
                        thread.start()
                        thread.join()
        """,
    )
    ended = folder.pytest("--bohrbug", "-v")
    assert ended.code == 1
    assert ended.out.count("Lists differ: [1] != [2] ") == 1
    assert "SUBFAILED" not in ended.out
    assert "test_right PASSED (holds" in ended.out


def test_what_needs_an_early_timeout_is_listed_and_passes(folder: Folder) -> None:
    folder.write(
        "test_guard.py",
        """
        import queue
        import threading

        def test_guard():
            items = queue.Queue()
            got = []
            thread = threading.Thread(target=lambda: got.append(items.get(timeout=1)))
            thread.start()
            items.put(3)
            thread.join()
            assert got == [3]
        """,
    )
    ended = folder.pytest("--bohrbug")
    assert ended.code == 0
    assert "would fail if a timeout or a sleep ended" in ended.out
    early = "1 s early, as on a busy machine"
    assert f"test_guard.py::test_guard: Empty, {early} (bohrbug explain .bohrbug/" in ended.out
    assert "explored without that from then on" not in ended.out
    replayed = folder.bohrbug("replay", str(folder.reproduction()))
    assert replayed.code == 1
    assert folder.pytest("--bohrbug", "--bohrbug-timeouts", "early").code == 1


def test_those_that_take_longer_than_they_may_are_named(folder: Folder) -> None:
    folder.write(
        "test_long.py",
        """
        def test_long():
            assert sum(range(20_000_000))

        def test_short():
            pass
        """,
    )
    ended = folder.pytest("--bohrbug", "--bohrbug-seconds=0.1")
    assert ended.code == 0
    assert "took longer than --bohrbug-seconds says, as no execution is cut short:" in ended.out
    assert "  test_long.py::test_long: " in ended.out
    assert " in 1 execution, given 0.10 s" in ended.out
    assert "test_long.py::test_short: " not in ended.out
    assert "took longer" not in folder.pytest("--bohrbug", "--bohrbug-again").out
