"""The documentation: what it shows of a command is what the command prints.

A page is read from its beginning: its programs are written to files, and its commands given by a
shell, in the order in which they stand.  Times differ, and so does where lines are broken;
everything else is compared.  ``...`` on a line of its own, ``[...]`` and ``{...}`` stand for what
the page leaves out.
"""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.documentation import BLOCKS, ROOT
from tests.end_to_end.conftest import SECONDS, left_out
from tests.native.building import need_native

PROGRAMS = Path(__file__).parent / "documented"
"""Whole programs of which a page shows a part, or only what is said of them."""

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"`(\w+\.py)`[^\n`]*:\n\n\Z")
COMMAND = re.compile(r"^\$ (.*)\n", re.MULTILINE)
PROMPT = re.compile(r"^(\(bohrbug (?:pdb|step)\))[ ]?(.*)$", re.MULTILINE)
GOES_ON = re.compile(r"^\(bohrbug step\)\n```\n.*?^```\n(?=\(bohrbug step\))", re.M | re.DOTALL)
LEFT_OUT = re.compile(r"^ *\.\.\.$|\[\.\.\.\]|\{\.\.\.\}", re.MULTILINE)
AGAIN = re.compile(r"Put the broken `(\w+\.py)` back")

SETTINGS = """
[tool.bohrbug]
seconds = 600
causes_seconds = 600
"""
"""So that nothing is cut short on a slow machine."""


@dataclass(frozen=True)
class Case:
    """A page, or a part of it, whose commands are given in a folder of their own.

    Attributes:
        page: where it is, from the root.
        section: the heading of the part; all of the page if it is empty.
        programs: of :data:`PROGRAMS`, by the names that they have there.
        tutorial: whether the programs of the tutorial are there.
        before: shell commands that were given before, whose outputs are what a block without a
            command shows.
        between: a shell command to give after each block.
        columns: of the terminal.
    """

    page: str
    section: str = ""
    programs: dict[str, str] = field(default_factory=dict)
    tutorial: bool = False
    before: tuple[str, ...] = ()
    between: tuple[str, ...] = ()
    columns: int = 80

    def __str__(self) -> str:
        return f"{Path(self.page).stem}-{self.section}".strip("-").replace(" ", "-")

    @property
    def text(self) -> str:
        text = (ROOT / self.page).read_text("utf-8")
        if self.section:
            _, found, text = text.partition(f"\n## {self.section}")
            assert found
            text = re.split(r"^#+ ", text, maxsplit=1, flags=re.MULTILINE)[0]
        return text


SHOP = "bohrbug run --quiet test_shop:test_one_ticket_is_sold_once"
HOW_TO = "docs/how-to"
NATIVE = ROOT / "tests/native/programs"
CC = "cc -g -pthread"
CASES = [
    Case(
        "README.md",
        "What it says",
        before=("bohrbug run --quiet examples/connection_pool.py",),
        columns=96,
    ),
    Case("docs/tutorial.md"),
    Case(f"{HOW_TO}/async-tests.md", "Races over an await"),
    Case(f"{HOW_TO}/async-tests.md", "Deadlocks"),
    Case(f"{HOW_TO}/choose-what-is-a-scheduling-point.md", tutorial=True),
    Case(f"{HOW_TO}/ci.md", "JSON", programs={"counter.py": "counter.py"}),
    Case(f"{HOW_TO}/data-races.md"),
    Case(f"{HOW_TO}/finalizers.md"),
    Case(
        f"{HOW_TO}/explore-a-script.md",
        "What is printed",
        programs={"shop.py": "mended_shop.py"},
        tutorial=True,
        before=(SHOP,),
    ),
    Case(
        f"{HOW_TO}/report-a-bug-with-a-proof.md",
        "Export a failure",
        before=(
            f"cp {ROOT}/examples/connection_pool.py .",
            "bohrbug run --quiet connection_pool.py",
        ),
    ),
    Case(f"{HOW_TO}/gil-or-free-threaded.md", "Explore the rules of the GIL only", tutorial=True),
    Case(f"{HOW_TO}/replay-and-debug.md", "Replay", tutorial=True, before=(SHOP,)),
    Case(f"{HOW_TO}/replay-and-debug.md", "Debug", tutorial=True, before=(SHOP,)),
    Case(
        f"{HOW_TO}/replay-and-debug.md",
        "What the tasks do",
        programs={"transfers.py": "transfers.py"},
        before=("bohrbug run --quiet transfers.py > report",),
        columns=100,
    ),
    Case(
        f"{HOW_TO}/native-programs.md",
        "An example",
        before=(
            f"{CC} -o pipeline {ROOT}/examples/native/pipeline.c",
            "bohrbug run --quiet -- ./pipeline",
        ),
        columns=100,
    ),
    Case(
        f"{HOW_TO}/native-programs.md",
        "Calls that fail",
        before=(
            f"{CC} -o error_paths {NATIVE}/error_paths.c",
            "bohrbug run --quiet --fault send -- ./error_paths",
        ),
        columns=100,
    ),
    Case(
        f"{HOW_TO}/native-programs.md",
        "Data races and atomics",
        before=(
            f"{CC} -fsanitize=thread -o double_checked {NATIVE}/double_checked.c",
            "bohrbug run --quiet -v -- ./double_checked",
        ),
        columns=100,
    ),
    Case(
        f"{HOW_TO}/native-programs.md",
        "Weak memory",
        before=(
            f"{CC} -fsanitize=thread -o store_buffering {NATIVE}/store_buffering.c",
            "bohrbug run --quiet --memory tso -- ./store_buffering",
        ),
        columns=100,
    ),
    Case(
        f"{HOW_TO}/native-programs.md",
        "Atomics with relaxed, acquire and release",
        before=(
            f"{CC} -O1 -fsanitize=thread -o message_passing {NATIVE}/message_passing.c",
            "bohrbug run --quiet --memory relaxed -- ./message_passing",
        ),
        columns=100,
    ),
    Case(
        f"{HOW_TO}/replay-and-debug.md",
        "After an edit",
        programs={
            "counter.py": "counter_in_two_lines.py",
            "renamed.py": "renamed_counter.py",
            "locked.py": "locked_counter.py",
        },
        before=("bohrbug run --quiet counter.py > report", "cp renamed.py counter.py"),
        between=("cp locked.py counter.py",),
    ),
    Case(
        f"{HOW_TO}/replay-and-debug.md",
        "A replay that differs",
        programs={"shop.py": "shop_of_an_environment.py"},
        tutorial=True,
        before=(f"{SHOP} > report",),
    ),
    Case(
        f"{HOW_TO}/step-through-a-schedule.md",
        "A Python test",
        programs={"shop.py": "step_shop.py"},
        columns=100,
    ),
    Case(
        f"{HOW_TO}/step-through-a-schedule.md",
        "In columns",
        programs={"shop.py": "step_shop.py"},
        columns=100,
    ),
    Case(f"{HOW_TO}/tests-that-are-not-deterministic.md", "How it shows"),
    Case(
        f"{HOW_TO}/tests-that-are-not-deterministic.md",
        "Failures that need earlier executions",
        columns=100,
    ),
    Case(
        f"{HOW_TO}/tests-that-are-not-deterministic.md",
        "What is not noticed",
        programs={"nd.py": "nd.py"},
        before=("bohrbug run --quiet nd:work",),
    ),
    Case(
        f"{HOW_TO}/timeouts-and-sleeps.md",
        "Early",
        programs={"poller.py": "poller.py"},
        between=("bohrbug run --quiet --timeouts early poller:sleeps",),
    ),
    Case(
        f"{HOW_TO}/timeouts-and-sleeps.md",
        "Short (default of `bohrbug run` and `bohrbug.explore`)",
        programs={"poller.py": "poller.py"},
    ),
    Case(f"{HOW_TO}/timeouts-and-sleeps.md", "Late", programs={"poller.py": "poller.py"}),
]


class Console:
    """A folder in which the commands of a page are given."""

    def __init__(self, path: Path, environment: dict[str, str], columns: int) -> None:
        self.path = path
        self._first: dict[str, str] = {}
        scripts = Path(sys.executable).parent
        self._environment = environment | {
            "COLUMNS": str(columns),
            "PATH": f"{scripts}{os.pathsep}{environment['PATH']}",
            "PYTEST_ADDOPTS": f"{left_out('anyio', 'trio')} -p no:cacheprovider",
        }
        # What is installed, as for a user.
        del self._environment["PYTHONPATH"]
        path.mkdir()
        (path / "examples").symlink_to(ROOT / "examples")
        self.write("pyproject.toml", SETTINGS)

    def write(self, name: str, text: str) -> None:
        self._first.setdefault(name, text)
        (self.path / name).write_text(text, "utf-8")

    def put_back(self, name: str) -> None:
        """Write a program as it was at first."""
        self.write(name, self._first[name])

    def prints(self, command: str, typed: list[str]) -> str:
        """What a command prints, at whose prompts something is typed."""
        ours, its = pty.openpty()
        with subprocess.Popen(
            ["bash", "-c", command],
            stdin=its,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=self.path,
            env=self._environment,
            encoding="utf-8",
        ) as process:
            os.write(ours, "".join(f"{line}\n" for line in typed).encode() + b"\x04")
            out, _ = process.communicate(timeout=SECONDS)
        os.close(its)
        os.close(ours)
        return out.replace(f"{self.path.parent}/", "")


def comparable(text: str) -> str:
    """Without times and line breaks, and without marks below lines: each Python has its own."""
    text = " ".join(re.sub(r"^ *[~^]+$", "", text, flags=re.MULTILINE).split())
    return re.sub(r"[\d.]+ ?s\b( \([\d,]+ per second\))?|\"seconds\": [\d.]+", "", text)


def assert_shown(shown: str, printed: str) -> None:
    """The parts of what is shown were printed, in this order."""
    rest = comparable(printed)
    for part in filter(None, map(comparable, LEFT_OUT.split(PROMPT.sub(r"\1", shown)))):
        before, found, rest = rest.partition(part)
        assert found, f"{part}\n\nis not in\n\n{before}\n\nof\n\n{printed}"


def blocks(text: str) -> Iterator[tuple[str, str, str]]:
    """What stands before each block, its language, and what is in it; a dialogue is one block."""
    end = 0
    for block in BLOCK.finditer(GOES_ON.sub("", text)):
        yield text[end : block.start()], block[1], block[2]
        end = block.end()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_commands_print_what_is_shown(
    case: Case, tmp_path: Path, environment: dict[str, str]
) -> None:
    if case.page.endswith("native-programs.md"):
        need_native()
    console = Console(tmp_path / "try", environment, case.columns)
    if case.tutorial:
        for before, language, block in blocks((ROOT / "docs/tutorial.md").read_text("utf-8")):
            name = NAMED.search(before)
            if language == "python" and name and not (console.path / name[1]).exists():
                console.write(name[1], block)
    for name, program in case.programs.items():
        console.write(name, (PROGRAMS / program).read_text("utf-8"))
    printed = [console.prints(command, []) for command in case.before]
    between = iter(case.between)
    checked = 0
    for before, language, block in blocks(case.text):
        name, again = NAMED.search(before), AGAIN.search(before)
        if again:
            console.put_back(again[1])
        if language == "python" and name and block[0].isspace():
            assert block in (console.path / name[1]).read_text("utf-8")
        elif language == "python" and name:
            console.write(name[1], block)
        elif not language:
            alone, *shown = COMMAND.split(block)
            if alone:
                assert_shown(alone, "".join(printed))
            for command, text in zip(shown[::2], shown[1::2], strict=True):
                printed = [console.prints(command, [line for _, line in PROMPT.findall(text)])]
                assert_shown(text, *printed)
            printed = [console.prints(command, []) for command in [next(between, "")] if command]
            checked += 1
    assert checked


PICTURE = "a picture"
FORM = "a form, not what a command prints"
LIBRARY = "a library that is not installed for the tests; see docs/bugs.md"
BENCHMARKS = "for those who measure; takes minutes or hours"
HERE = "tests/end_to_end"
HOW_TO_PYTEST = f"{HOW_TO}/explore-a-pytest-suite.md"

FOLLOWED = {"docs/tutorial-real-bug.md"}
"""Pages that tools/tutorial compares, as they install packages."""

ELSEWHERE: list[tuple[str, str, str]] = [
    ("benchmarks/README.md", "python run.py", BENCHMARKS),
    ("benchmarks/search/README.md", "python -m search.run", BENCHMARKS),
    ("benchmarks/texts/README.md", "python -m texts.pct", BENCHMARKS),
    ("docs/architecture.md", "the user's interfaces", PICTURE),
    ("docs/explanation/causes.md", "ConnectionPool._created_connections", LIBRARY),
    ("docs/explanation/causes.md", "in all 41 that meet", "README.md has it of another search"),
    ("docs/explanation/causes.md", "threaded_cached_property", LIBRARY),
    ("docs/explanation/how-it-works.md", "threads runtime", PICTURE),
    (
        f"{HOW_TO}/async-tests.md",
        "async fixtures of wider scopes keep their event loop",
        f"{HERE}/test_async_tests.py",
    ),
    (
        f"{HOW_TO}/async-tests.md",
        "holds Lock Bank.first (taken at",
        "tests/unit/test_trio_reports.py",
    ),
    (f"{HOW_TO}/async-tests.md", "the 3rd resume ...", "its parts are named in the text"),
    (
        f"{HOW_TO}/async-tests.md",
        "task 0.1.2 (later) goes on first (",
        "tests/unit/test_trio_reports.py",
    ),
    (f"{HOW_TO}/async-tests.md", "is cancelled while it waits", "tests/unit/test_cancelling.py"),
    (
        f"{HOW_TO}/run-live.md",
        "FAILED: deadlock: 2 threads wait for each other, and nothing moved for",
        f"{HERE}/test_live_delayed.py",
    ),
    (
        f"{HOW_TO}/async-tests.md",
        "Task exception was never retrieved",
        f"{HERE}/test_asyncio_errors.py",
    ),
    (HOW_TO_PYTEST, "PASSED (holds: one schedule: no second task", f"{HERE}/test_pytest_plugin.py"),
    (HOW_TO_PYTEST, "verdicts: holds: 2", f"{HERE}/test_pytest_plugin.py"),
    (HOW_TO_PYTEST, "found by a remembered schedule", f"{HERE}/test_between_executions.py"),
    (HOW_TO_PYTEST, "its remembered schedule passes now", f"{HERE}/test_between_executions.py"),
    (HOW_TO_PYTEST, "tests in which nothing failed, and nothing", f"{HERE}/test_unchanged.py"),
    (HOW_TO_PYTEST, "replayed, not explored again: 1 test", f"{HERE}/test_unchanged.py"),
    (HOW_TO_PYTEST, "was spent", f"{HERE}/test_unchanged.py"),
    (HOW_TO_PYTEST, "in which something new was still found", f"{HERE}/test_unchanged.py"),
    (
        f"{HOW_TO}/gil-or-free-threaded.md",
        "Interpreter Needs free-threaded Python",
        "docs/tutorial.md has it",
    ),
    (
        f"{HOW_TO}/gil-or-free-threaded.md",
        "Can happen on today's GIL builds",
        "tests/unit/test_report_parts.py",
    ),
    (
        f"{HOW_TO}/gil-or-free-threaded.md",
        "With the GIL another schedule ends in the same kind of failure.",
        "tests/unit/test_report_parts.py",
    ),
    (f"{HOW_TO}/install.md", "Bohrbug supports CPython", f"{HERE}/test_unsupported_pythons.py"),
    (
        f"{HOW_TO}/interrupt-and-resume.md",
        "To go on: bohrbug resume .bohrbug/counter",
        f"{HERE}/test_command_line.py",
    ),
    (f"{HOW_TO}/interrupt-and-resume.md", "has changed", f"{HERE}/test_workers.py"),
    (
        f"{HOW_TO}/make-a-flaky-test-steady.md",
        "came to try_recv on queue.Queue 0/0",
        f"{HERE}/test_messages.py",
    ),
    (f"{HOW_TO}/native-programs.md", "fees.c:32", "by hand: gcc decides on the line"),
    (
        f"{HOW_TO}/replay-and-debug.md",
        "Task 0.1.1 is late: it does not go on here yet; task 0.1.2 goes on first.",
        f"{HERE}/test_debugging.py",
    ),
    (
        f"{HOW_TO}/replay-and-debug.md",
        "is preempted here, before its acquire of mutex",
        "tests/native/test_gdb.py",
    ),
    (f"{HOW_TO}/run-live.md", "no failure in", f"{HERE}/test_live.py"),
    (f"{HOW_TO}/run-live.md", "detached; the service", f"{HERE}/test_live_attached.py"),
    (f"{HOW_TO}/run-live.md", "FAILED: a failed", f"{HERE}/test_live_native_threads.py"),
    (f"{HOW_TO}/run-live.md", "race: on Counter", f"{HERE}/test_live_native_threads.py"),
    (f"{HOW_TO}/step-through-a-schedule.md", "$ bohrbug step shop.py", "compared as a dialogue"),
    (
        f"{HOW_TO}/tests-that-are-not-deterministic.md",
        "can't be executed again and again",
        "tests/unit/test_findings.py",
    ),
    (
        f"{HOW_TO}/timeouts-and-sleeps.md",
        "would fail if a timeout or a sleep ended",
        f"{HERE}/test_pytest_plugin.py",
    ),
    (f"{HOW_TO}/where-runs-part.md", "The first event that differs", f"{HERE}/test_messages.py"),
    (f"{HOW_TO}/where-runs-part.md", "Messages 0", "by hand: of a run of which only one is so"),
    ("docs/reference/messages.md", "file =", FORM),
    ("docs/reference/messages.md", "events =", FORM),
    (
        "docs/reference/options.md",
        "there is no option 'bond'; did you mean 'bound'",
        "tests/unit/test_documented_blocks.py",
    ),
    ("docs/reference/step.md", "bohrbug step FILE.json", FORM),
    (
        "docs/reference/verdicts-and-exit-codes.md",
        "executions: a bug of depth 1 would be missed with probability at most",
        "tests/unit/test_search_random.py",
    ),
]
"""Blocks that are not compared here: page, words of it, and why, or which test has these words."""


def test_no_block_is_left_out() -> None:
    done = [block for case in CASES for _, _, block in blocks(case.text)]
    left = [
        (block.page, " ".join(block.text.split()))
        for block in BLOCKS
        # Dialogues go on from one block to the next, and were compared as one.
        if not block.language
        and block.page not in FOLLOWED
        and block.text not in done
        and not block.text.startswith("(bohrbug step)")
    ]
    for page, words, where in ELSEWHERE:
        (found,) = (each for each in left if each[0] == page and words in each[1])
        left.remove(found)
        if where.endswith(".py"):
            assert words in (ROOT / where).read_text("utf-8"), (page, words)
    assert not left
