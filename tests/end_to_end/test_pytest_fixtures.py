"""Fixtures, set-up and teardown under ``pytest --bohrbug``."""

from __future__ import annotations

from .conftest import Folder


def test_a_deadlock_in_a_teardown_leaves_no_fixture_behind(folder: Folder) -> None:
    folder.write(
        "test_actor.py",
        """
        import threading
        import pytest

        @pytest.fixture
        def log():
            return []

        @pytest.fixture
        def actor(log):
            asked, answered = threading.Event(), threading.Event()

            def work():
                if asked.is_set():
                    answered.set()

            threading.Thread(target=work).start()
            yield
            log.append("torn down")
            asked.set()
            answered.wait()

        def test_first(actor, log):
            assert log == []

        def test_second(log):
            assert log == []
        """,
    )
    done = folder.pytest("--bohrbug")
    assert "1 error" in done.out
    assert "2 passed" in done.out


def test_fixtures_of_functions_are_set_up_for_each_execution(folder: Folder) -> None:
    folder.write(
        "test_fixtures.py",
        """
        import threading
        import pytest

        log = []

        @pytest.fixture(scope="session")
        def once():
            log.append("session")
            return []

        @pytest.fixture(scope="module", autouse=True)
        def module():
            log.append("module")
            yield
            assert log.count("session") == log.count("module") == 1
            assert log.count("setup") == log.count("teardown") == log.count("test") > 5

        @pytest.fixture
        def fresh(once):
            log.append("setup")
            value = []
            yield value
            log.append("teardown")

        def test_fresh(fresh, tmp_path, monkeypatch, capsys, request):
            log.append("test")
            assert fresh == []
            assert not list(tmp_path.iterdir())
            (tmp_path / "file").write_text("text")
            import os
            assert "FRESH" not in os.environ
            monkeypatch.setenv("FRESH", "1")
            print("printed")
            assert capsys.readouterr().out == "printed\\n"
            def work():
                fresh.append(1)
            threads = [threading.Thread(target=work) for _ in range(2)]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
            assert len(fresh) == 2
        """,
    )
    done = folder.pytest("--bohrbug", "--bohrbug-executions=50", "-v")
    assert done.code == 0, done.out
    assert "1 passed" in done.out


def test_threads_of_fixtures_are_controlled_and_leaks_found(folder: Folder) -> None:
    folder.write(
        "test_server.py",
        """
        import queue, threading
        import pytest

        @pytest.fixture
        def server():
            requests = queue.Queue()
            def serve():
                while requests.get() is not None:
                    pass
            thread = threading.Thread(target=serve)
            thread.start()
            yield requests
            requests.put(None)
            thread.join()

        def test_server(server):
            server.put(1)

        def test_leak():
            threading.Thread(target=threading.Event().wait).start()
        """,
    )
    done = folder.pytest("--bohrbug", "-v")
    assert done.code == 1, done.out
    assert "test_server PASSED (holds" in done.out
    assert "after the test has ended, task 0.1 waits for ever" in done.out
    assert "1 failed, 1 passed" in done.out


def test_fixtures_that_fail_are_errors(folder: Folder) -> None:
    folder.write(
        "test_errors.py",
        """
        import queue, sys, pytest

        @pytest.fixture
        def broken(): raise RuntimeError("in the setup")

        @pytest.fixture
        def waiting(): queue.Queue().get()

        @pytest.fixture
        def exiting(): sys.exit("from the setup")

        @pytest.fixture
        def leaving():
            yield
            raise RuntimeError("in the teardown")

        @pytest.fixture(scope="module")
        def wide(): raise RuntimeError("in a wide setup")

        def test_setup(broken): pass
        def test_deadlock(waiting): pass
        def test_exit(exiting): pass
        def test_teardown(leaving): pass
        def test_wide(wide): pass
        def test_missing(no_such_fixture): pass
        def test_plain(): assert [1, 2] == [1, 3]
        """,
    )
    done = folder.pytest("--bohrbug")
    assert "1 failed, 1 passed, 6 errors" in done.out, done.out
    assert "ERROR at setup of test_setup" in done.out
    assert "waits for Queue" in done.out and "not confirmed" not in done.out
    assert "SystemExit: from the setup" in done.out
    assert "ERROR at teardown of test_teardown" in done.out
    assert "fixture 'no_such_fixture' not found" in done.out
    assert "At index 1 diff: 2 != 3" in done.out, "an ordinary failure is shown as always"
    assert [each for each in folder.reproductions() if "test_deadlock" not in str(each)] == []


def test_setup_of_modules_and_classes_runs_once(folder: Folder) -> None:
    folder.write(
        "test_once.py",
        """
        import threading
        calls = []
        def setup_module(): calls.append("module")
        def teardown_module(): assert calls == ["module", "class", "class is over"], calls
        class TestIt:
            def setup_class(cls): calls.append("class")
            def teardown_class(cls): calls.append("class is over")
            def test_one(self):
                thread = threading.Thread(target=int); thread.start(); thread.join()
            def test_two(self): pass
        """,
    )
    done = folder.pytest("--bohrbug")
    assert "2 passed" in done.out, done.out


def test_what_a_hook_skips_is_skipped_before_fixtures_and_kinds_of_tests_matter(
    folder: Folder,
) -> None:
    folder.write(
        "conftest.py",
        """
        import pytest

        def pytest_runtest_setup(item):
            if "slow" in item.name:
                pytest.skip("too slow here")

        @pytest.fixture(scope="module")
        def server():
            raise RuntimeError("there is none")
        """,
    )
    folder.write(
        "test_it.py",
        """
        import pytest

        def test_slow_server(server):
            assert False

        async def test_slow_async():
            assert False

        @pytest.mark.skip(reason="not now")
        def test_marked(server):
            assert False

        def test_slow():
            assert False

        def test_server(server):
            pass
        """,
    )
    done = folder.pytest("--bohrbug", "-rs")
    assert "4 skipped, 1 error" in done.out, done.out
    assert done.out.count("too slow here") == 1
    assert "SKIPPED [3]" in done.out
    assert "not now" in done.out
    assert "not natively supported" not in done.out


def test_fixtures_that_a_plugin_adds_are_set_up_for_each_execution(folder: Folder) -> None:
    folder.write(
        "conftest.py",
        """
        import threading, pytest

        @pytest.fixture
        def before():
            yield

        @pytest.fixture
        def waiting(before):
            lock = threading.Lock()
            lock.acquire()
            lock.acquire()

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_setup(item):
            item.fixturenames.append("waiting")
        """,
    )
    folder.write("test_it.py", "def test_it(): pass")
    done = folder.pytest("--bohrbug")
    assert "1 error" in done.out, done.out
    assert "reproduced in 3 of 3 replays" in done.out
