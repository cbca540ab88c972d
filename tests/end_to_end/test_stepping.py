"""``bohrbug step`` as it is typed, with its commands from standard input and from a terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

from .conftest import SECONDS, Folder
from .programs import LOST_UPDATE

SCRIPT = LOST_UPDATE + "\nif __name__ == '__main__':\n    test_add()\n"


def failing_script(folder: Folder) -> str:
    """Commands by which the counter loses an update."""
    return "next\n0.1\n0.1\n0.2\n0.2\n0.2\n"


def test_a_script_of_commands_makes_the_test_fail(folder: Folder) -> None:
    folder.write("counter.py", SCRIPT)
    done = folder.bohrbug("step", "counter.py", stdin=failing_script(folder) + "save made.json\n")
    assert done.code == 1, done.out + done.err
    assert "(bohrbug step)" not in done.out
    assert "preempts 0.1" in done.out
    assert "It fails when task 0.1" in done.out
    replayed = folder.bohrbug("replay", "made.json", "--times=10")
    assert replayed.code == 1
    assert "reproduced in 10 of 10 replays" in replayed.out

    followed = folder.bohrbug("step", "made.json")
    assert followed.code == 1
    assert "following the plan" in followed.out
    departed = folder.bohrbug("step", "made.json", stdin="preemption\n0.1\nsave passes.json\n")
    assert departed.code == 0, departed.out + departed.err
    assert "Passed" in departed.out
    assert folder.bohrbug("replay", "passes.json").code == 0


def test_the_end_of_the_script_is_the_end_of_the_execution(folder: Folder) -> None:
    folder.write("counter.py", SCRIPT)
    done = folder.bohrbug("step", "counter.py", stdin="")
    assert done.code == 0, done.out + done.err
    assert "Passed" in done.out
    left = folder.bohrbug("step", "counter.py", stdin="next\nquit\n")
    assert left.code == 3


def test_the_last_steps_are_shown_in_columns(folder: Folder) -> None:
    folder.write("counter.py", SCRIPT)
    script = failing_script(folder)
    done = folder.bohrbug("step", "counter.py", stdin=f"{script}lanes 3\nlanes\nlanes\nquit\n")
    plain, *changes = done.out.split("earlier steps not shown")
    assert "0.1 Thread-1" not in plain
    assert len(changes) == 1
    three, _, rest = changes[0].partition("\nstep 7")
    assert "0.2 Thread-2" in three
    assert "· write Counter.value" in three
    assert "0 MainThread" not in three
    # Then without, and then with twelve.
    twelve = rest.partition("\nstep 7")[2]
    assert "0 MainThread" in twelve
    assert "✂ 0.1 preempted" in twelve
    from_the_start = folder.bohrbug("step", "--lanes", "counter.py", stdin=f"{script}quit\n")
    assert "✂ 0.1 preempted" in from_the_start.out


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("next\n\njump\n", "line 3: there is no command 'jump'"),
        ("0.7\n", "line 1: there is no task 0.7 now"),
        ("9\n", "line 1: there is no option 9"),
        ("preemption\n", "line 1: no plan is followed here"),
        ("save no/such/folder.json\n", "line 1: "),
    ],
)
def test_a_command_that_cannot_be_done_ends_the_script(
    folder: Folder, script: str, message: str
) -> None:
    folder.write("counter.py", SCRIPT)
    done = folder.bohrbug("step", "counter.py", stdin=script)
    assert done.code == 2
    assert message in done.err
    assert "Traceback" not in done.err


def test_what_the_test_prints_is_shown_when_it_is_printed(folder: Folder) -> None:
    folder.write(
        "script.py",
        """
        import threading
        threads = [threading.Thread(target=print, args=(f"hello from {n}",)) for n in (1, 2)]
        for thread in threads: thread.start()
        print("hello from the test")
        for thread in threads: thread.join()
        """,
    )
    script = "0\n0.2\nview\nundo\n0.1\n"
    done = folder.bohrbug("step", "--level=sync", "script.py", stdin=script)
    assert done.code == 0, done.out + done.err
    assert done.out.count("hello from the test") == 1
    words = [line.strip() for line in done.out.splitlines() if "hello" in line]
    assert words == ["hello from the test", "hello from 2", "hello from 1", "hello from 2"]


def test_a_reproduction_of_pytest_is_stepped_through_in_pytest(folder: Folder) -> None:
    folder.write("test_counter.py", LOST_UPDATE)
    assert folder.pytest("--bohrbug", "--bohrbug-strategy=ipb", "-q").code == 1
    path = str(folder.reproduction().relative_to(folder.path))
    done = folder.bohrbug("step", path, stdin="preemption\nstacks\n")
    assert done.code == 1, done.out + done.err
    assert "following the plan" in done.out
    assert "AssertionError" in done.out
    departed = folder.bohrbug("step", path, stdin="end\nundo 100\n")
    assert departed.code == 2
    assert "decisions were made" in departed.err
    passing = folder.bohrbug("step", path, stdin="preemption\n0.1\nsave passes.json\n")
    assert passing.code == 0, passing.out + passing.err
    assert folder.bohrbug("replay", "passes.json").code == 0


def test_files_take_no_further_options(folder: Folder) -> None:
    folder.write("counter.py", SCRIPT)
    folder.bohrbug("step", "counter.py", stdin="save made.json\n")
    done = folder.bohrbug("step", "--level=all", "made.json")
    assert done.code == 2
    assert "give it alone" in done.err


def test_an_edited_program_is_told_of(folder: Folder) -> None:
    folder.write("counter.py", SCRIPT)
    folder.bohrbug("step", "counter.py", stdin=failing_script(folder) + "save made.json\n")
    folder.write("counter.py", SCRIPT.replace("+ 1", "+ 1  # the update"))
    done = folder.bohrbug("step", "made.json")
    assert "counter.py was edited since" in done.err
    assert done.code == 1


def test_at_a_terminal_it_asks(folder: Folder) -> None:
    folder.write("counter.py", SCRIPT)
    ours, its = pty.openpty()
    with subprocess.Popen(
        folder.command("step", "counter.py"),
        stdin=its,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=folder.path,
        env=folder.environment,
        encoding="utf-8",
    ) as process:
        # An empty line goes on; what makes no sense is only told.
        os.write(ours, b"help\n\njump\nend\nquit\n")
        out, _ = process.communicate(timeout=SECONDS)
    os.close(its)
    os.close(ours)
    assert process.returncode == 0, out
    assert out.count("(bohrbug step)") == 5, out
    assert "go on to the next preemption of the plan" in out
    assert "there is no command 'jump'" in out


def test_options_for_the_other_kind_of_test_are_refused(folder: Folder) -> None:
    folder.write("program.py", "pass\n")

    native, python = folder.each(
        [
            ["step", "--cancel", "worker", "--", sys.executable],
            ["step", "--no-fibers", "program.py"],
        ]
    )

    assert native.code == python.code == 2
    assert "--cancel is for Python tests, and this is a native program" in native.err
    assert "--no-fibers is for native programs, and this is a Python test" in python.err
