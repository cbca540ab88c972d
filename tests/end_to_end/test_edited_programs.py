"""Programs that were edited after a failure was found in them: what their replays say."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest

from tests.end_to_end.conftest import Folder
from tests.end_to_end.programs import DEADLOCK, LOST_UPDATE

Edit = Callable[[str], str]

HEAD, MIDDLE, TEST = LOST_UPDATE.partition("def test_add")


def replacing(*pairs: tuple[str, str]) -> Edit:
    def edit(source: str) -> str:
        for old, new in pairs:
            assert old in source
            source = source.replace(old, new)
        return source

    return edit


LOCK_ADDED = replacing(
    ("self.value = 0", "self.value = 0\n        self.lock = threading.Lock()"),
    (
        "        value = self.value\n        self.value = value + 1",
        (
            "        with self.lock:\n            value = self.value\n"
            "            self.value = value + 1"
        ),
    ),
)

STILL_FAILING = {
    "lines above": (lambda source: '"""Counts."""\n\nimport os\n' + source, ()),
    "a statement between": (
        replacing(
            ("self.value = 0", "self.value = 0\n        self.limit = 5"),
            (
                "        self.value = value + 1",
                "        assert value < self.limit\n        self.value = value + 1",
            ),
        ),
        (),
    ),
    "an operation between": (
        replacing(
            ("self.value = 0", "self.value = 0\n        self.log = threading.Lock()"),
            (
                "        self.value = value + 1",
                "        with self.log:\n            print(value)\n        self.value = value + 1",
            ),
        ),
        ("new counter.py", "with self.log: (4 steps)"),
    ),
    "a renamed variable": (
        replacing(
            ("        value = self.value", "        old = self.value"),
            ("value + 1", "old + 1"),
            ("import threading", "import threading\n\n"),
        ),
        ("changed counter.py:9: value = self.value", "to counter.py:11: old = self.value"),
    ),
    "a renamed method": (
        replacing(
            ("def add", "def increment"),
            ("counter.add", "counter.increment"),
            ("import threading", "import threading\n\n"),
        ),
        (),
    ),
    "a moved function": (lambda source: "import threading\n\n" + MIDDLE + TEST + HEAD, ()),
    "a function taken out": (
        replacing(
            (
                "        self.value = value + 1\n",
                (
                    "        self.store(value)\n\n    def store(self, value):\n"
                    "        self.value = value + 1\n"
                ),
            )
        ),
        (),
    ),
    "one more thread before": (
        replacing(
            (
                "    threads = [threading.Thread(target=counter.add) for _ in range(2)]",
                (
                    "    early = threading.Thread(target=print)\n    early.start()\n"
                    "    early.join()\n"
                    "    threads = [threading.Thread(target=counter.add) for _ in range(2)]"
                ),
            )
        ),
        ("task 0.1 (Thread-1 (print)) is new",),
    ),
}


@pytest.mark.parametrize("name", STILL_FAILING)
def test_a_failure_survives(folder: Folder, name: str) -> None:
    edit, told = STILL_FAILING[name]
    folder.write_failing("counter.py", LOST_UPDATE, "counter:test_add")
    folder.write("counter.py", edit(LOST_UPDATE))

    done = folder.bohrbug("replay", str(folder.reproduction()), "--times", "5")

    assert done.code == 1, done.out + done.err
    assert "The program was edited: counter.py" in done.out
    assert "after re-aligning, the same failure: reproduced in 5 of 5 replays" in done.out
    assert f"bohrbug replay {folder.reproduction().relative_to(folder.path)} --update" in done.out
    for words in told:
        assert words in done.out, done.out


def test_an_updated_file_is_that_of_the_edited_program(folder: Folder) -> None:
    path = folder.write_failing("counter.py", LOST_UPDATE, "counter:test_add")
    before = path.read_text(encoding="utf-8")
    unchanged = folder.bohrbug("replay", str(path), "--update")
    assert f"{path} is unchanged" in unchanged.out
    assert path.read_text(encoding="utf-8") == before

    folder.write("counter.py", "import os\n" + LOST_UPDATE)
    updated = folder.bohrbug("replay", str(path), "--update")
    assert updated.code == 1
    assert f"wrote the schedule of the edited program over {path}" in updated.out
    assert "--update" not in updated.out
    assert folder.reproductions() == [path]
    assert path.read_text(encoding="utf-8") != before

    done = folder.bohrbug("replay", str(path), "--times", "10")
    assert done.code == 1
    assert "edited" not in done.out
    assert "reproduced in 10 of 10 replays: AssertionError" in done.out


def test_a_lock_that_mends_it(folder: Folder) -> None:
    path = folder.write_failing("counter.py", LOST_UPDATE, "counter:test_add")
    before = path.read_text(encoding="utf-8")
    folder.write("counter.py", LOCK_ADDED(LOST_UPDATE))
    done = folder.bohrbug("replay", str(path), "--update")
    assert done.code == 0, done.out
    assert "12 of 12 recorded steps followed" in done.out
    assert "new counter.py:10: with self.lock: (4 steps)" in done.out
    due = r"not possible when it was due: task 0\.[12] to read at counter\.py:11"
    assert re.search(due, done.out)
    assert "the program was edited, and this schedule passes now" in done.out
    assert "explore the test again" in done.out
    assert "is unchanged" in done.out
    assert path.read_text(encoding="utf-8") == before


def test_another_failure(folder: Folder) -> None:
    folder.write_failing("counter.py", LOST_UPDATE, "counter:test_add")
    folder.write("counter.py", LOST_UPDATE.replace("counter = Counter()", "counter = Kounter()"))
    done = folder.bohrbug("replay", str(folder.reproduction()))
    assert done.code == 3, done.out
    assert "the program was edited, and another failure happens: NameError" in done.out


def test_a_task_that_is_gone(folder: Folder) -> None:
    folder.write_failing("locks.py", DEADLOCK, "locks:test_both_orders")
    folder.write("locks.py", DEADLOCK.replace(", threading.Thread(target=other)", ""))
    done = folder.bohrbug("replay", str(folder.reproduction()))
    assert done.code == 0, done.out
    assert "task 0.2 (Thread-2 (other)) is no longer started" in done.out


def test_a_deadlock_whose_lines_were_split_and_moved(folder: Folder) -> None:
    folder.write_failing("locks.py", DEADLOCK, "locks:test_both_orders")
    edit = replacing(
        ("first, second = threading", "first, second, third = threading.Lock(), threading"),
        (
            "        with first, second:\n            pass",
            "        with third:\n            pass\n        with first, second:\n            pass",
        ),
    )
    folder.write("locks.py", edit(DEADLOCK))
    done = folder.bohrbug("replay", str(folder.reproduction()))
    assert done.code == 1, done.out
    assert "the same failure: reproduced in 1 of 1 replay: 2 tasks wait for each other" in done.out


def test_pdb_stops_in_the_edited_program(folder: Folder) -> None:
    folder.write_failing("counter.py", LOST_UPDATE, "counter:test_add")
    folder.write("counter.py", "import os\n" + LOST_UPDATE)
    done = folder.bohrbug("replay", str(folder.reproduction()), "--pdb", stdin="p value\nc\nc\n")
    assert done.out.count("is preempted here") == 1
    assert "-> self.value = value + 1" in done.out
    assert "(bohrbug pdb) 0" in done.out
    assert "reproduced in 1 of 1 replay" in done.out


def test_explain_shows_the_program_as_recorded(folder: Folder) -> None:
    folder.write_failing("counter.py", LOST_UPDATE, "counter:test_add")
    folder.write("counter.py", "import os\n" + LOST_UPDATE.replace("value + 1", "1 + value"))
    done = folder.bohrbug("explain", str(folder.reproduction()))
    assert done.code == 0
    assert "counter.py:10" in done.out
    assert "self.value = value + 1" in done.out
    assert "1 + value" not in done.out
    assert "Edited since, and shown as recorded: counter.py" in done.out


def test_a_file_without_the_text_of_the_program(folder: Folder) -> None:
    """One that an older version wrote is replayed as it always was."""
    path = folder.write_failing("counter.py", LOST_UPDATE, "counter:test_add")
    content = folder.content()
    del content["texts"], content["accesses"]
    path.write_text(json.dumps(content), encoding="utf-8")
    assert "reproduced in 1 of 1 replay" in folder.bohrbug("replay", str(path)).out
    folder.write("counter.py", LOCK_ADDED(LOST_UPDATE))
    done = folder.bohrbug("replay", str(path))
    assert done.code == 3
    assert "the first replay that differs: step" in done.out


def test_a_pytest_test(folder: Folder) -> None:
    folder.write("test_counter.py", LOST_UPDATE)
    folder.pytest("--bohrbug")
    path = folder.reproduction()

    folder.write("test_counter.py", "import os\n\n" + LOST_UPDATE)
    replayed = folder.pytest(f"--bohrbug-replay={path}")
    assert replayed.code == 1
    assert "after re-aligning, the same failure: reproduced in 1 of 1 replay" in replayed.out
    updated = folder.bohrbug("replay", str(path), "--update")
    assert updated.code == 1, updated.out
    assert "wrote the schedule of the edited program over" in updated.out
    assert "re-aligning" not in folder.bohrbug("replay", str(path)).out

    folder.write("test_counter.py", LOCK_ADDED(LOST_UPDATE))
    mended = folder.bohrbug("replay", str(path))
    assert mended.code == 0, mended.out
    assert "this schedule passes now" in mended.out
    mended = folder.pytest(f"--bohrbug-replay={path}")
    assert mended.code == 0, mended.out
    assert "this schedule passes now" in mended.out
