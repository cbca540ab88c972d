"""``bohrbug`` as it is typed."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from .conftest import SECONDS, Ended, Folder
from .programs import DEADLOCK, LOCKED, LOST_UPDATE

SCRIPT = LOST_UPDATE + "\nif __name__ == '__main__':\n    test_add()\n"


# What it does depends on a file that is no part of the program.
COUNTED_DEADLOCK = DEADLOCK.replace(
    ", threading.Thread(target=other)]",
    "] + int(open('count').read()) * [threading.Thread(target=other)]",
)


def test_a_failing_script_is_found_reported_and_replayed(folder: Folder) -> None:
    folder.write("counter.py", SCRIPT)

    found = folder.bohrbug("run", "counter.py")

    assert found.code == 1, found.err
    assert "AssertionError" in found.out
    assert "It fails if and only if" in found.out
    assert "the counter says 1" in found.out
    path = folder.reproduction()
    assert f"bohrbug replay {path.relative_to(folder.path)}" in found.out

    replayed = folder.bohrbug("replay", str(path), "--times", "100")
    assert replayed.code == 1, replayed.err
    assert "reproduced in 100 of 100 replays: AssertionError" in replayed.out


def test_a_crash_of_the_interpreter_says_where(folder: Folder) -> None:
    folder.write("crash.py", "import ctypes\nctypes.string_at(0)\n")

    done = folder.bohrbug("run", "crash.py")

    assert done.code == -signal.SIGSEGV
    assert "Segmentation fault" in done.err
    assert 'crash.py", line 2' in done.err


def test_an_error_of_our_own_is_no_failure_of_the_program(folder: Folder) -> None:
    folder.write(
        "program.py",
        """
        import linecache, traceback
        linecache.checkcache = traceback.walk_tb = None
        assert False
        """,
    )

    done = folder.bohrbug("run", "program.py")

    assert done.code == 3, done.out + done.err
    assert "error in Bohrbug itself" in done.err


def test_a_script_is_executed_as_python_does(folder: Folder) -> None:
    folder.write("helper.py", "def double(n):\n    return 2 * n\n")
    folder.write(
        "script.py",
        """
        import os, sys, helper
        assert __name__ == "__main__"
        assert sys.argv == ["script.py", "one", "--bound", "two"], sys.argv
        assert os.path.basename(__file__) == "script.py"
        assert sys.modules["__main__"].__dict__ is globals()
        assert "left over" not in globals()
        globals()["left over"] = True
        assert helper.double(2) == 4
        sys.exit(0)
        """,
    )
    done = folder.bohrbug("run", "script.py", "one", "--bound", "two")
    assert done.code == 0, done.out + done.err
    assert "Holds" in done.out


def test_each_execution_of_a_script_begins_afresh(folder: Folder) -> None:
    folder.write(
        "script.py",
        """
        import threading
        seen = []
        lock = threading.Lock()
        def work():
            with lock:
                seen.append(1)
        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        assert len(seen) == 2, seen
        """,
    )
    done = folder.bohrbug("run", "--json", "script.py")
    assert done.code == 0, done.out
    assert json.loads(done.out)["executions"] > 2


def test_an_exit_code_is_a_failure(folder: Folder) -> None:
    folder.write("script.py", "import sys\nsys.exit(3)\n")
    done = folder.bohrbug("run", "script.py")
    assert done.code == 1
    assert "SystemExit: 3" in done.out


def test_a_coroutine_function_is_explored_and_replayed(folder: Folder) -> None:
    folder.write(
        "shop.py",
        """
        import asyncio

        stock = 1

        async def sell_twice():
            sold = []
            def sell():
                if not sold:
                    sold.append(1)
            await asyncio.gather(asyncio.to_thread(sell), asyncio.to_thread(sell))
            assert len(sold) == 1

        async def numbers():
            yield 1
        """,
    )
    done = folder.bohrbug("run", "--causes", "0", "shop:sell_twice")
    assert done.code == 1, done.out + done.err
    assert "shop:sell_twice" in done.out
    replay = folder.bohrbug("replay", str(folder.reproduction()))
    assert replay.code == 1, replay.out + replay.err
    assert "reproduced in 1 of 1 replay" in replay.out
    done = folder.bohrbug("run", "shop:numbers")
    assert done.code == 2
    assert "takes no generator function" in done.err


def test_a_function_of_a_file_finds_the_modules_beside_it(folder: Folder) -> None:
    (folder.path / "sub").mkdir()
    folder.write("sub/beside.py", "LIMIT = 1\n")
    folder.write("sub/mine.py", "import beside\ndef test():\n    assert beside.LIMIT == 2\n")
    done = folder.bohrbug("run", "sub/mine.py:test")
    assert done.code == 1, done.err
    assert "at sub/mine.py:3 in test" in done.out
    (path,) = folder.reproductions()
    assert "reproduced in 1 of 1 replay" in folder.bohrbug("replay", str(path)).out
    (folder.path / "sub/beside.py").unlink()
    done = folder.bohrbug("replay", str(path))
    assert done.code == 2
    assert "mine.py raised ModuleNotFoundError: No module named 'beside'" in done.err


def test_a_function_is_found_by_its_name(folder: Folder) -> None:
    folder.write("locks.py", DEADLOCK)
    found = folder.bohrbug("run", "locks:test_both_orders")
    assert found.code == 1
    assert "wait for each other" in found.out
    replayed = folder.bohrbug("replay", str(folder.reproduction()))
    assert replayed.code == 1
    assert "reproduced in 1 of 1 replay" in replayed.out


def test_what_is_printed_to_has_a_descriptor(folder: Folder) -> None:
    folder.write(
        "mine.py",
        "import os, subprocess, sys\n"
        "def test():\n"
        "    assert not os.isatty(sys.stderr.fileno())\n"
        "    subprocess.run([sys.executable, '-c', ''], stdout=sys.stdout, check=True)\n",
    )
    done = folder.bohrbug("run", "--executions", "2", "mine:test")
    assert done.code == 0, done.out


def test_a_test_that_holds(folder: Folder) -> None:
    folder.write("locks.py", LOCKED)
    done = folder.bohrbug("run", "--strategy", "dfs", "locks:test_add")
    assert done.code == 0, done.out
    assert "Holds" in done.out
    assert not folder.reproductions()


def test_json_output_is_the_only_output(folder: Folder) -> None:
    folder.write("counter.py", SCRIPT)
    done = folder.bohrbug("run", "--json", "counter.py")
    result = json.loads(done.out)
    assert done.code == result["exit_code"] == 1
    assert result["format"] == "bohrbug-result"
    assert result["verdict"]["kind"] == "failed"
    (failure,) = result["failures"]
    assert failure["kind"] == "assertion"
    assert failure["preemptions"] == 1
    assert failure["confirmed"] >= 1
    assert failure["reproduction"] == str(folder.reproduction().relative_to(folder.path))
    assert result["races"][0]["label"].endswith("value")


def test_explain_executes_nothing(folder: Folder) -> None:
    path = folder.write_failing("counter.py", SCRIPT, "counter.py")
    folder.write("counter.py", "raise RuntimeError('executed')\n")
    done = folder.bohrbug("explain", str(path))
    assert done.code == 0, done.err
    assert "Schedule" in done.out
    assert "AssertionError" in done.out


def test_a_replay_of_a_program_that_was_mended_passes(folder: Folder) -> None:
    path = folder.write_failing("counter.py", SCRIPT, "counter.py")
    folder.write("counter.py", SCRIPT.replace("== 2", "in (1, 2)"))
    done = folder.bohrbug("replay", str(path))
    assert done.code == 0, done.out
    assert "the program was edited, and this schedule passes now" in done.out


def test_a_replay_that_differs_says_where(folder: Folder) -> None:
    folder.write("count", "1")
    folder.write("locks.py", COUNTED_DEADLOCK)
    folder.bohrbug("run", "locks:test_both_orders")
    folder.write("count", "0")
    done = folder.bohrbug("replay", str(folder.reproduction()))
    assert done.code == 3, done.out
    assert "reproduced in 0 of 1 replay" in done.out
    assert "the first replay that differs: step" in done.out
    assert "edited" not in done.out


def test_pdb_stops_at_the_preemption_and_at_the_failure(folder: Folder) -> None:
    path = str(folder.write_failing("counter.py", SCRIPT, "counter.py"))
    done = folder.bohrbug("replay", path, "--pdb", stdin="p value\nc\np counter.value\nc\n")
    assert "is preempted here" in done.out
    assert "-> self.value = value + 1" in done.out
    assert "(bohrbug pdb) 0" in done.out
    assert "failed: AssertionError" in done.out
    assert "(bohrbug pdb) 1" in done.out
    assert "reproduced in 1 of 1 replay" in done.out
    assert done.code == 1


@pytest.mark.parametrize("typed", ["q\n", ""])
def test_a_replay_that_was_left_in_pdb_has_not_passed(folder: Folder, typed: str) -> None:
    path = folder.write_failing("counter.py", SCRIPT, "counter.py")
    done = folder.run(folder.command("replay", "--pdb", str(path)), stdin=typed)
    assert done.code == 3, done.out
    assert "reproduced in 0 of 1 replay: interrupted by the user" in done.out


def test_what_is_done_in_pdb_does_not_change_the_replay(folder: Folder) -> None:
    path = folder.write_failing("counter.py", SCRIPT, "counter.py")
    commands = "p self.value\nimport threading\nwith threading.Lock(): pass\n\ns\nn\nn\nc\nc\n"
    done = folder.bohrbug("replay", str(path), "--pdb", "--times", "3", stdin=commands + "c\n" * 20)
    assert "reproduced in 3 of 3 replays" in done.out, done.out


NO_SENSE = [
    (["run", "missing.py"], "there is no file missing.py"),
    (["run", "missing"], "missing is neither a script that exists nor of the form"),
    (["run", "tests"], "tests is a folder; for the tests in it: pytest --bohrbug tests"),
    (["run", "script"], "; there is script.py"),
    (["run", "script.main"], "; did you mean script:main?"),
    (["script.py", "--one"], "did you mean: bohrbug run script.py --one"),
    (["run", "test_it.py::test_it"], "or without fixtures: bohrbug run test_it.py:test_it"),
    (["run", "test_it.py::TestIt::test_it"], "use: pytest --bohrbug test_it.py::TestIt::test_it"),
    (["run", "random:shufle"], "no function 'shufle'; did you mean 'shuffle'?"),
    (["run", "missing.py:function"], "there is no file missing.py"),
    (["run", "script.py:"], "'script.py:' is not of the form file.py:function"),
    (["run", "sub/random.py:function"], "random is another module than sub/random.py: "),
    (
        ["run", "fails:function"],
        "importing fails raised ZeroDivisionError: division by zero (fails.py:2)",
    ),
    (["run", "lacks:function"], "can't import lacks: No module named 'missing' (lacks.py:1)"),
    (["step", "missing.json"], "there is no file missing.json"),
    (["run", "--most-faults", "2", "script.py"], "--most-faults"),
    (["run", "missing.py", "--seed=3"], "--seed: after the program, so passed to it"),
    (["run", "missing:function"], "can't import missing"),
    (["run", "json:missing"], "module 'json' has no function 'missing'"),
    (["run", "json:__name__"], "is not a function"),
    (["run", "--bound", "many", "json:loads"], "--bound must be a whole number or 'none'"),
    (
        ["run", "--strategy", "luck", "json:loads"],
        "Error: --strategy must be one of auto, bpor",
    ),
    (
        ["run", "json:loads"],
        "calls the function without arguments (missing a required argument",
    ),
    (["run", "asyncio:sleep"], "calls the function without arguments (missing a required argument"),
    (["run", "--executions", "0", "json:loads"], "Error: --executions must be at least 1, not 0"),
    (["run", "--scope", "+", "json:loads"], "names no module"),
    (["run", "--no-such", "json:loads"], "No such option"),
    (["replay", "missing.json"], "missing.json: No such file"),
    (["explain", "missing.json"], "missing.json: No such file"),
]

NO_REPRODUCTIONS = {
    "not-json.json": ("{", "is not a reproduction file of Bohrbug, or is damaged: it is not JSON"),
    "empty.json": ("\n", "bohrbug: empty.json is empty"),
    "list.json": ("[]", "is not a reproduction file of Bohrbug"),
    "new.json": ('{"format": "bohrbug-reproduction", "version": 99}', "has version 99"),
    "damaged.json": (
        '{"format": "bohrbug-reproduction", "version": 1}',
        "is damaged: there is no 'trace'",
    ),
    "deep.json": ("[" * 200_000, "its brackets are nested too deeply"),
    "surrogate.json": (
        '{"format": "bohrbug-reproduction", "test": "\\ud800"}',
        "is not text and names no file",
    ),
    "nothing.json": (
        '{"format": "bohrbug-reproduction", "test": "a\\u0000b"}',
        "is not text and names no file",
    ),
}


@pytest.fixture(scope="module")
def refusals(
    tmp_path_factory: pytest.TempPathFactory, environment: dict[str, str]
) -> dict[tuple[str, ...], Ended]:
    """How commands end that should be refused; loading the program for each takes too long."""
    folder = Folder(tmp_path_factory.mktemp("refusals"), environment)
    for name, (content, _) in NO_REPRODUCTIONS.items():
        folder.write(name, content)
    folder.write("script.py", "")
    folder.write("fails.py", "\n1 / 0\n")
    folder.write("lacks.py", "import missing\n")
    (folder.path / "tests").mkdir()
    (folder.path / "sub").mkdir()
    folder.write("sub/random.py", "")
    commands = [arguments for arguments, _ in NO_SENSE]
    commands += [["replay", name] for name in NO_REPRODUCTIONS]
    return {tuple(each): ended for each, ended in zip(commands, folder.each(commands), strict=True)}


@pytest.mark.parametrize(("arguments", "message"), NO_SENSE)
def test_a_command_that_makes_no_sense(
    refusals: dict[tuple[str, ...], Ended], arguments: list[str], message: str
) -> None:
    done = refusals[tuple(arguments)]
    assert done.code == 2
    assert message in done.err
    assert "Traceback" not in done.err


def test_a_script_that_is_not_python(folder: Folder) -> None:
    folder.write("broken.py", "def (:\n")
    done = folder.bohrbug("run", "broken.py")
    assert done.code == 2
    assert "broken.py can't be compiled" in done.err


def test_a_reproduction_is_no_script(folder: Folder) -> None:
    folder.write("file.json", "{}")
    done = folder.bohrbug("run", "file.json")
    assert done.code == 2
    assert "file.json is not a script; use: bohrbug replay file.json" in done.err


@pytest.mark.parametrize("name", NO_REPRODUCTIONS)
def test_a_file_that_is_no_reproduction(refusals: dict[tuple[str, ...], Ended], name: str) -> None:
    done = refusals["replay", name]
    assert done.code == 2
    assert NO_REPRODUCTIONS[name][1] in done.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"foo": 1}, "the option 'foo' is not known to this Bohrbug; it may be of a newer one"),
        ([], "options: an object expected, found []"),
        ({"executions": "many"}, "executions must be a whole number or 'none', not 'many'"),
    ],
)
def test_a_reproduction_with_options_that_make_no_sense(
    folder: Folder, options: object, message: str
) -> None:
    path = folder.write_failing("counter.py", SCRIPT, "counter.py")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"options": options}))
    done = folder.bohrbug("replay", str(path))
    assert done.code == 2
    assert f"is damaged: {message}" in done.err


@pytest.mark.skipif(sys.platform != "linux", reason="file names are text elsewhere")
def test_a_name_that_is_no_text(folder: Folder) -> None:
    path = folder.write("counter.py", SCRIPT)
    name = os.fsdecode(b"counter\xff.py")
    path.rename(folder.path / name)
    explored = folder.bohrbug("run", name)
    assert explored.code == 1
    assert "Traceback" not in explored.err
    replayed = folder.bohrbug("replay", str(folder.reproduction()))
    assert replayed.code == 1
    assert "reproduced in 1 of 1 replay" in replayed.out


def test_a_file_from_somewhere_else(folder: Folder) -> None:
    elsewhere = folder.path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "counter.py").write_text(textwrap.dedent(SCRIPT), encoding="utf-8")
    here = Folder(folder.path / "here", folder.environment)
    here.path.mkdir()
    assert here.bohrbug("run", str(elsewhere / "counter.py")).code == 1
    own = here.reproduction()
    given = here.path / "given.json"
    given.write_bytes(own.read_bytes())
    for command in (["replay", "given.json"], ["step", "given.json"]):
        done = here.bohrbug(*command)
        assert done.code == 2
        assert "counter.py, which is not in this folder: give --trust" in done.err
    assert here.bohrbug("replay", "--trust", "given.json").code == 1
    # Bohrbug wrote it here.
    assert here.bohrbug("replay", str(own)).code == 1


def test_settings_in_pyproject(folder: Folder) -> None:
    folder.write("counter.py", SCRIPT)
    folder.write("pyproject.toml", "[tool.bohrbug]\nexecutions = 3\nstrategy = 'random'\n")
    assert json.loads(folder.bohrbug("run", "--json", "counter.py").out)["executions"] <= 3
    done = folder.bohrbug("run", "--json", "--strategy", "dfs", "counter.py")
    assert json.loads(done.out)["executions"] <= 3

    folder.write("pyproject.toml", "[tool.bohrbug]\nexekutions = 3\n")
    done = folder.bohrbug("run", "counter.py")
    assert done.code == 2
    said = "bohrbug: pyproject.toml, [tool.bohrbug]: there is no option 'exekutions'"
    assert f"{said}; did you mean 'executions'?" in done.err

    folder.write("pyproject.toml", "[tool.bohrbug]\nexecutions = 0\n")
    done = folder.bohrbug("run", "counter.py")
    assert "pyproject.toml, [tool.bohrbug]: executions must be at least 1, not 0" in done.err

    folder.write("pyproject.toml", "[tool.bohrbug]\nexecutions = 'three'\n")
    done = folder.bohrbug("run", "counter.py")
    assert done.code == 2
    assert "executions must be a whole number or 'none', not 'three'" in done.err


def test_colour_only_where_it_is_wanted(folder: Folder) -> None:
    folder.write("counter.py", SCRIPT)
    assert "\x1b[" not in folder.bohrbug("run", "counter.py").out
    assert "\x1b[" in folder.bohrbug("run", "counter.py", FORCE_COLOR="1").out
    assert "\x1b[3" not in folder.bohrbug("run", "counter.py", FORCE_COLOR="1", NO_COLOR="1").out


def test_help_and_version(folder: Folder) -> None:
    shown = folder.bohrbug("run", "--help").out
    assert "Exit codes:" in shown
    assert "--strategy" in shown
    assert folder.bohrbug("--version").out.startswith("bohrbug, version ")


SIGNALS = """
import pathlib
calls = 0
def signal(name, after=0):
    global calls
    calls += 1
    if calls > after:
        pathlib.Path(name).touch()
"""


def interrupt(folder: Folder, command: list[str], when: str) -> Ended:
    """Start a command, send Ctrl-C as soon as the test has made a file, and wait for its end."""
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        cwd=folder.path,
        env=folder.environment,
    )
    try:
        while process.poll() is None and not (folder.path / when).exists():
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=SECONDS)
    finally:
        process.kill()
    return Ended(process.returncode, out, err)


ENDLESS = ("--strategy", "random", "--executions", "100000000", "--seconds", "none")


@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT to a child process")
def test_an_interrupt_keeps_what_was_found(folder: Folder) -> None:
    folder.write("signals.py", SIGNALS)
    # A failure is found when replays have confirmed it: after some more executions that fail.
    told = "import signals; signals.signal('failed', after=20)"
    told = f"if counter.value != 2:\n        {told}\n    assert"
    folder.write("counter.py", SCRIPT.replace("assert", told))
    command = folder.command("run", "--keep-going", *ENDLESS, "counter.py")
    done = interrupt(folder, command, "failed")
    assert done.code == 1, done.out + done.err
    assert "AssertionError" in done.out
    assert "(interrupted)" in done.out
    assert "To go on: bohrbug resume .bohrbug/counter.py-" in done.out
    assert not done.err
    assert folder.reproduction().is_file()


@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT to a child process")
def test_an_interrupt_before_anything_is_found_is_inconclusive(folder: Folder) -> None:
    folder.write("signals.py", SIGNALS)
    folder.write(
        "locks.py", LOCKED.replace("assert", "import signals; signals.signal('ran'); assert")
    )
    done = interrupt(folder, folder.command("run", *ENDLESS, "locks:test_add"), "ran")
    assert done.code == 3, done.out + done.err
    assert "Inconclusive" in done.out


RARELY_TIDIED = """
import threading

class Stock:
    def __init__(self):
        self.items = 2
        self.closed = threading.Event()

    def keep(self):
        while not self.closed.wait(60):
            self.tidy()

    def tidy(self):
        if self.items:
            self.share = 10 // self.items

def test():
    stock = Stock()
    keeper = threading.Thread(target=stock.keep)
    keeper.start()
    stock.items = 0
    stock.closed.set()
    keeper.join()
"""


def test_a_preemption_in_a_function_that_seldom_runs_is_replayed(folder: Folder) -> None:
    """Without preemptions nobody tidies, so that its accesses must be found in another way."""
    folder.write("stock.py", RARELY_TIDIED)
    found = folder.bohrbug("run", "--timeouts", "early", "stock:test")
    assert found.code == 1, found.out + found.err
    replayed = folder.bohrbug("replay", str(folder.reproduction()))
    assert replayed.code == 1, replayed.out + replayed.err
    assert "reproduced in 1 of 1 replay" in replayed.out


def test_a_file_for_pytest_is_no_script(folder: Folder) -> None:
    folder.write("test_it.py", "def test_it(): pass\n")
    done = folder.bohrbug("run", "test_it.py")
    assert "to explore them: pytest --bohrbug test_it.py" in done.err
    folder.write("test_it.py", "def test_it(): pass\nif __name__ == '__main__': test_it()\n")
    assert "pytest" not in folder.bohrbug("run", "test_it.py").err


def test_where_no_file_can_be_written(folder: Folder) -> None:
    """The folder for them is a file, which stops even those who may do all."""
    folder.write(".bohrbug", "")
    folder.write("counter.py", SCRIPT)
    done = folder.bohrbug("run", "--quiet", "counter.py")
    assert done.code == 1
    assert "✗ AssertionError" in done.out
    assert "note: no reproduction file was written: .bohrbug/: File exists" in done.out
    result = json.loads(folder.bohrbug("run", "--json", "counter.py").out)
    assert result["failures"][0]["reproduction"] is None
    assert result["notices"] == ["no reproduction file was written: .bohrbug/: File exists"]


def test_what_differs_is_told_by_short_paths(folder: Folder) -> None:
    folder.write(
        "both.py",
        """
        import os, threading
        lock = threading.Lock()
        counts = {"value": 0}
        def work():
            if os.environ.get("LOCKED"):
                lock.acquire()
            value = counts["value"]
            counts["value"] = value + 1
            if os.environ.get("LOCKED"):
                lock.release()
        def test():
            counts["value"] = 0
            threads = [threading.Thread(target=work) for _ in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert counts["value"] == 2
        """,
    )
    folder.bohrbug("run", "--quiet", "both:test")
    done = folder.bohrbug("replay", str(folder.reproduction()), LOCKED="1")
    assert done.code == 3
    differs = done.lines[-1]
    assert " at both.py:8 in work, but task " in differs
    assert differs.endswith(" does acquire at both.py:7 in work")


SLOWLY_FAILING = """
import pathlib, threading

def test():
    got = []
    threads = [threading.Thread(target=got.append, args=(n,)) for n in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if pathlib.Path("replaying").exists():
        sum(range({length}))
        pathlib.Path("ran").touch()
    assert got == [0, 1]
"""


@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT to a child process")
@pytest.mark.parametrize("length", [10, 3_000, 30_000])
@pytest.mark.parametrize("with_pytest", [False, True])
def test_an_interrupt_ends_a_replay(folder: Folder, with_pytest: bool, length: int) -> None:
    folder.write("test_order.py", SLOWLY_FAILING.format(length=length))
    if with_pytest:
        folder.pytest("--bohrbug")
    else:
        assert folder.bohrbug("run", "test_order:test").code == 1
    (folder.path / "replaying").touch()
    file = str(folder.reproduction())
    # In most of its time it is the code of a task that runs.
    done = interrupt(folder, folder.command("replay", "--times", "1000000", file), "ran")
    assert done.code == 3, done.out + done.err
    assert "Aborted" not in done.err
    assert "Traceback (most" not in done.err
    if "reproduced in" in done.out:
        told = re.search(r"reproduced in ([\d,]+) of ([\d,]+) replays?: ", done.out)
        assert told is not None and told[1] == told[2], done.out
        assert re.search(r"interrupted: [\d,]+ more replays had been asked for", done.out)
    else:
        assert "interrupted" in done.err or "KeyboardInterrupt" in done.out


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
@pytest.mark.parametrize("command", ["run -q script.py", "explain FILE", "--help", "messages LOG"])
def test_output_that_can_not_be_written(folder: Folder, command: str) -> None:
    path = folder.write("script.py", "")
    if "FILE" in command:
        path = folder.write_failing("counter.py", SCRIPT, "counter.py")
    words = [str(path) if word == "FILE" else word for word in command.split()]
    if "LOG" in words:
        folder.bohrbug("record", "-q", "-o", "LOG", "--", sys.executable, "-c", "")
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            folder.command(*words),
            cwd=folder.path,
            env=folder.environment,
            stdout=full,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            timeout=SECONDS,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr == "bohrbug: the output can't be written: No space left on device\n"


@pytest.mark.skipif(os.name != "posix", reason="a shell that closes descriptors")
@pytest.mark.parametrize("closed", ["0<&-", ">&-", "2>&-", "0<&- >&- 2>&-"])
def test_standard_streams_that_are_closed(folder: Folder, closed: str) -> None:
    """The next file to be opened would take the place of one."""
    folder.write("counter.py", SCRIPT)
    for command in ("run -q", "step"):
        words = shlex.join(folder.command(*command.split(), "counter.py"))
        done = folder.run(["sh", "-c", f"{words} {closed}"])
        assert done.code == (1 if command == "run -q" else 0), done.err
        assert done.err == ""
    assert folder.reproduction().read_bytes()[:1] == b"{"


def test_a_terminal_without_a_width(folder: Folder) -> None:
    folder.write("script.py", "")
    assert "Holds" in folder.run(folder.command("run", "-q", "script.py"), COLUMNS="0").out
