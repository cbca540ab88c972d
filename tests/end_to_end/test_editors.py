"""Replays to which an editor attaches through debugpy."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest

from .conftest import Folder
from .editor import Editor
from .programs import LOST_UPDATE
from .test_debugging import DEADLOCK, LATE

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="tried on Linux alone")

TEST = "counter:test_add"


@contextmanager
def attached(
    folder: Folder,
    command: list[str],
    breakpoints: dict[str, list[int]] | None = None,
    **arguments: Any,
) -> Iterator[tuple[Editor, subprocess.Popen[str]]]:
    """An editor, attached to a replay."""
    pytest.importorskip("debugpy")
    replay = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        # The adapter would hold another pipe open.
        stderr=subprocess.STDOUT,
        text=True,
        cwd=folder.path,
        env=folder.environment,
    )
    assert replay.stdout is not None
    try:
        said = ""
        while not (match := re.search(r"waiting for an editor to attach at .*:(\d+)\n", said)):
            line = replay.stdout.readline()
            assert line, said
            said += line
        with closing(Editor(int(match[1]))) as editor:
            by_file = {
                str(folder.path / name): lines for name, lines in (breakpoints or {}).items()
            }
            editor.attach(by_file, **arguments)
            yield editor, replay
    finally:
        replay.kill()
        replay.stdout.close()
        replay.wait()


def stopped(editor: Editor) -> tuple[dict[str, Any], list[dict[str, Any]], dict[str, str]]:
    found = editor.stop()
    assert found is not None
    return found


def test_an_editor_is_shown_preemption_breakpoint_and_failure(folder: Folder) -> None:
    file = str(folder.write_failing("counter.py", LOST_UPDATE, TEST))
    command = folder.command("replay", "--debugpy", "--listen", "0", file)
    with attached(folder, command, {"counter.py": [9, 20]}) as (editor, replay):
        lines = []
        for _ in range(4):
            body, frames, variables = stopped(editor)
            thread = body["threadId"]
            names = {each["id"]: each["name"] for each in editor.ask("threads")["threads"]}
            lines.append((names[thread], body["reason"], frames[0]["line"], variables.get("value")))
            if len(lines) == 2:
                # Evaluated in the task, in the frame in which it is preempted.
                answer = editor.ask(
                    "evaluate", expression="self.value + 7", frameId=frames[0]["id"]
                )
                assert answer["result"] == "7"
            editor.ask("continue", threadId=thread)
        assert [line[0].partition(" ")[0] for line in lines] == [
            *("Thread-1", "Thread-1", "Thread-2", "MainThread"),
        ]
        assert [line[1:] for line in lines] == [
            ("breakpoint", 9, None),
            # The preemption: behind the read, before the write.
            ("breakpoint", 10, "0"),
            ("breakpoint", 9, None),
            ("breakpoint", 20, None),
        ]
        body, frames, variables = stopped(editor)
        assert (body["reason"], body["text"]) == ("exception", "AssertionError")
        assert frames[0]["line"] == 20
        assert "Counter" in variables["counter"]
        said = editor.console()
        assert "Task 0.1 (Thread-1 (add)) is preempted here" in said
        assert "Task 0 (MainThread) failed: AssertionError" in said
        editor.ask("continue", threadId=body["threadId"])
        assert editor.stop() is None
        assert replay.wait(60) == 1


def test_steps_of_an_editor_lead_to_the_lines_of_the_task(folder: Folder) -> None:
    file = str(folder.write_failing("counter.py", LOST_UPDATE, TEST))
    command = folder.command("replay", "--debugpy", "--listen", "0", file)
    with attached(folder, command, justMyCode=False) as (editor, replay):
        body, frames, _ = stopped(editor)
        assert frames[0]["line"] == 10
        # The other task does all that it does; then this one ends, and with it the step.
        editor.ask("next", threadId=body["threadId"])
        found = editor.stop()
        while found is not None:
            body, frames, _ = found
            own = [frame["source"]["path"] for frame in frames if "bohrbug" in frame["name"]]
            assert not own
            editor.ask("continue", threadId=body["threadId"])
            found = editor.stop()
        assert replay.wait(60) == 1


def test_an_editor_is_shown_a_deadlock_twice(folder: Folder) -> None:
    file = str(folder.write_failing("dead.py", DEADLOCK, "dead:test_both"))
    command = folder.command("replay", "--debugpy", "--listen", "0", "--times", "2", file)
    with attached(folder, command, {"dead.py": [14]}) as (editor, replay):
        places = []
        while (found := editor.stop()) is not None:
            body, frames, _ = found
            places.append((frames[0]["name"], frames[0]["line"]))
            editor.ask("continue", threadId=body["threadId"])
        # Nothing is seen of how the tasks are ended, though they pass by the breakpoint.
        assert places == [("forwards", 9), ("backwards", 14), ("backwards", 15)] * 2
        assert replay.wait(60) == 1


def test_an_editor_is_shown_the_coroutine_that_is_late(folder: Folder) -> None:
    test = LATE.replace('if __name__ == "__main__":', "def test_late():")
    folder.write("test_late.py", test)
    assert folder.pytest("--bohrbug", "test_late.py").code == 1
    file = str(folder.reproduction())
    command = folder.command("replay", "--debugpy", "--listen", "0", file)
    with attached(folder, command) as (editor, replay):
        _, frames, variables = stopped(editor)
        assert (frames[0]["name"], frames[0]["line"]) == ("increment", 10)
        assert variables["balance"] == "0"
        assert "is late: it does not go on here yet" in editor.console()
        editor.ask("disconnect")
        assert replay.wait(60) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--debugpy", "--pdb"], "two debuggers"),
        (["--listen", "5678"], "--listen says where --debugpy waits for an editor: give both"),
        (["--debugpy", "--listen", "here"], "'here' is not an address: give a port"),
        (["--debugpy", "--listen", "host:99999"], "'host:99999' is not an address"),
    ],
)
def test_what_makes_no_sense_is_refused(folder: Folder, arguments: list[str], message: str) -> None:
    file = str(folder.write_failing("counter.py", LOST_UPDATE, TEST))
    done = folder.bohrbug("replay", *arguments, file)
    assert done.code == 2
    assert message in done.err


def test_without_debugpy_it_is_said_what_to_install(folder: Folder) -> None:
    file = str(folder.write_failing("counter.py", LOST_UPDATE, TEST))
    hidden = folder.path / "hidden"
    hidden.mkdir()
    (hidden / "debugpy.py").write_text("raise ImportError('No module named debugpy')\n")
    paths = [str(hidden), folder.environment.get("PYTHONPATH", "")]
    done = folder.bohrbug("replay", "--debugpy", file, PYTHONPATH=":".join(filter(None, paths)))
    assert done.code == 2, done.out
    assert "pip install 'bohrbug[debugpy]'" in done.err
    (hidden / "debugpy.py").write_text("__version__ = '1.8.5'\n")
    done = folder.bohrbug("replay", "--debugpy", file, PYTHONPATH=":".join(filter(None, paths)))
    assert done.code == 2, done.out
    assert "debugpy 1.8.5 is too old, it has to be 1.8.22 or newer" in done.err
