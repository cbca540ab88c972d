"""The documentation: the commands of its ``sh`` blocks can be given as they stand.

What they print is not looked at here; that of blocks that show it is compared in
``test_documented_outputs.py``.  That commands have the options they are given is checked of all
blocks, those left out here too, in ``tests/unit/test_documented_blocks.py``.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.documentation import BLOCKS, ROOT, commands_of
from tests.end_to_end.conftest import Folder
from tests.end_to_end.programs import LOST_UPDATE

PROGRAMS = Path(__file__).parent / "documented"

LOGS = ("FILE", "PASS", "FAIL")

CALLED = f"{LOST_UPDATE}\n\ntest_add()\n"

MODULE = """
class Class:
    @staticmethod
    def method():
        pass

def function():
    pass
"""

POOL = """
import asyncio

class Pool:
    async def use(self, slots):
        await slots.acquire()
        await asyncio.sleep(0)
        slots.release()

async def main():
    slots, pool = asyncio.Semaphore(1), Pool()
    await asyncio.wait([asyncio.create_task(pool.use(slots)) for _ in range(2)])

asyncio.run(main())
"""

ORDERS = """
import queue, threading

def test_orders():
    orders = queue.Queue()
    threads = [threading.Thread(target=orders.put, args=(n,)) for n in range(2)]
    for thread in threads:
        thread.start()
    assert sum(orders.get() for _ in threads) == 1
    for thread in threads:
        thread.join()
"""


@dataclass(frozen=True)
class Reader:
    """Somebody who gives the commands of some pages in one folder.

    Attributes:
        pages: whose commands they are.
        programs: what is in the folder, by name.
        before: what is done before, as arguments of bohrbug.
        reproductions: what the pages call the failures of programs, by program.
    """

    pages: tuple[str, ...]
    programs: dict[str, str]
    before: tuple[tuple[str, ...], ...] = ()
    reproductions: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return Path(self.pages[0]).stem


READERS = [
    Reader(
        pages=(
            "docs/how-to/async-tests.md",
            "docs/how-to/choose-what-is-a-scheduling-point.md",
            "docs/how-to/explore-a-script.md",
            "docs/how-to/make-a-flaky-test-steady.md",
            "docs/how-to/read-a-report.md",
            "docs/how-to/replay-and-debug.md",
            "docs/how-to/step-through-a-schedule.md",
            "docs/how-to/use-all-cores.md",
        ),
        programs={
            "counters.py": CALLED,
            "folder/file.py": MODULE,
            "module.py": MODULE,
            "package/module.py": MODULE,
            "pool_test.py": POOL,
            "script.py": CALLED,
            "shop.py": (PROGRAMS / "step_shop.py").read_text("utf-8"),
            "tests/test_orders.py": ORDERS,
        },
        before=(
            ("run", "--quiet", "script.py"),
            ("run", "--quiet", "shop.py"),
            *(("record", "-o", name, "--", "python", "script.py") for name in LOGS),
        ),
        reproductions={"script.py": "FILE.json", "shop.py": "shop.py-5f4b7485.json"},
    ),
]

WAITS_FOR_AN_EDITOR = "--debugpy"
"""Commands with it are given in test_editors.py, where an editor attaches."""

MUST_SUCCEED = ("explain", "replay-messages", "explorations")
"""Commands that have no reason to say that something failed."""

PYTEST = "pytest alone; its options are parsed, and tested in test_pytest_options.py"
INSTALLS = "installs something"
DEVELOPMENT = "for those who change Bohrbug: .ci/run gives those that it takes to release it"
NATIVE = "for a program of the reader; the options are tested in tests/native"
OF_THE_TUTORIAL = "the tutorial goes on with the same failure in test_documented_outputs.py"

LEFT_OUT = {
    "README.md": "the first two by tools/check-installation and .ci/run, the third there, too; the"
    " last as in make-a-flaky-test-steady.md",
    "docs/bugs.md": INSTALLS,
    "docs/development.md": DEVELOPMENT,
    "docs/gallery.md": INSTALLS,
    "docs/how-to/ci.md": PYTEST,
    "docs/how-to/explore-a-pytest-suite.md": PYTEST,
    "docs/how-to/install.md": INSTALLS,
    "docs/how-to/interrupt-and-resume.md": "test_resuming.py, which interrupts something",
    "docs/how-to/native-programs.md": NATIVE,
    "docs/how-to/run-live.md": "test_live.py, test_live_attached.py",
    "docs/how-to/where-runs-part.md": "test_messages.py, with a program that fails by no chance",
    "docs/how-to/report-a-bug-with-a-proof.md": "needs another Python; test_export.py",
    "docs/reference/conformance.md": DEVELOPMENT,
    "docs/tutorial-real-bug.md": "tools/tutorial, as it installs packages",
    "docs/tutorial.md": OF_THE_TUTORIAL,
}
"""Pages of which no ``sh`` block is run here, and why."""


def test_each_page_with_commands_has_its_place() -> None:
    pages = {block.page for block in BLOCKS if block.language == "sh"}
    run = {page for reader in READERS for page in reader.pages}
    assert pages == run | LEFT_OUT.keys()
    assert not run & LEFT_OUT.keys()


@pytest.mark.parametrize("reader", READERS, ids=str)
def test_commands_can_be_given(reader: Reader, folder: Folder) -> None:
    (folder.path / "examples").symlink_to(ROOT / "examples")
    for program, text in reader.programs.items():
        (folder.path / program).parent.mkdir(exist_ok=True)
        folder.write(program, textwrap.dedent(text))
    if reader.before:
        folder.each(reader.before)
    for program, name in reader.reproductions.items():
        (path,) = (folder.path / ".bohrbug").glob(f"{program}-*.json")
        path.with_name(name).write_bytes(path.read_bytes())
    commands = [
        tuple(words[1:])
        for block in BLOCKS
        if block.language == "sh" and block.page in reader.pages
        for words in commands_of(block.text)
        if words[0] == "bohrbug" and "./" not in " ".join(words)  # but for native programs
        if WAITS_FOR_AN_EDITOR not in words
    ]
    for arguments, ended in zip(commands, folder.each(commands), strict=True):
        shown = f"bohrbug {' '.join(arguments)}\n{ended.out}{ended.err}"
        assert ended.code in (0, 1), shown
        assert "of Bohrbug itself" not in ended.err, shown
        assert ended.code == 0 or arguments[0] not in MUST_SUCCEED, shown
