"""Five failures of five kinds: the first screen says which lines are at fault, in which order."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROGRAMS = Path(__file__).parent / "programs"
WIDTH, HEIGHT = 1280, 800


def explored(
    folder: Path, environment: dict[str, str], program: list[str], *options: str
) -> tuple[Path, str]:
    """The page and the text of an exploration of a program, which fails."""
    page = folder / "page.html"
    main = "from bohrbug_entry.command import run; run()"
    command = [sys.executable, "-c", main, "run", "-q", "--html", str(page), *options, *program]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 1, done.stdout + done.stderr
    return page, done.stdout


def first_screen(browser: Any, path: Path) -> list[tuple[str, str, str]]:
    """Task, line of source and place of each operation at fault that is wholly in view."""
    page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
    page.goto(path.as_uri())
    found = []
    for moment in page.locator(".moment:not(.is-end)").all():
        box = moment.bounding_box()
        assert box["y"] + box["height"] <= HEIGHT
        assert box["x"] + box["width"] <= WIDTH
        place = moment.locator(".moment-place").inner_text().split()[0]
        found.append(
            (moment.locator(".chip").inner_text(), moment.locator("code").inner_text(), place)
        )
    sentence = page.locator(".sentence").bounding_box()
    assert sentence["y"] + sentence["height"] <= HEIGHT
    page.close()
    return found


def test_a_lost_update(browser: Any, tmp_path: Path, environment: dict[str, str]) -> None:
    page, text = explored(tmp_path, environment, [str(PROGRAMS / "bank.py")])
    assert "It fails if and only if" in text
    read, write = "current = self.balance", "self.balance = current + amount"
    shown = first_screen(browser, page)
    assert [each[1:] for each in shown] == [
        (read, "bank.py:11"),
        (read, "bank.py:11"),
        (write, "bank.py:12"),
        (write, "bank.py:12"),
    ]
    # Both have read before either writes.
    assert {shown[0][0], shown[1][0]} == {shown[2][0], shown[3][0]} == {"0.1", "0.2"}


def test_a_deadlock_of_three(browser: Any, tmp_path: Path, environment: dict[str, str]) -> None:
    page, _ = explored(tmp_path, environment, [str(PROGRAMS / "philosophers.py")])
    shown = first_screen(browser, page)
    assert [each[1] for each in shown] == ["with self.left:"] * 3 + ["with self.right:"] * 3
    tasks = {"0.1", "0.2", "0.3"}
    assert {each[0] for each in shown[:3]} == {each[0] for each in shown[3:]} == tasks


def test_a_lost_wake_up(browser: Any, tmp_path: Path, environment: dict[str, str]) -> None:
    page, _ = explored(tmp_path, environment, [str(PROGRAMS / "wakeup.py")])
    shown = first_screen(browser, page)
    lines = [each[:2] for each in shown]
    # It looks, is called, and only then begins to wait.
    looks = lines.index(("0.1", "if not self.letters:"))
    called = lines.index(("0", "with self.ready:"))
    waits = lines.index(("0.1", "with self.ready:"))
    assert looks < called < waits


def test_coroutines(browser: Any, tmp_path: Path, environment: dict[str, str]) -> None:
    page, text = explored(tmp_path, environment, [str(PROGRAMS / "seats.py")])
    assert "It fails if and only if" in text
    shown = first_screen(browser, page)
    # Both look at the number before either takes one: the lines at fault, not those of the turns.
    assert [each[1] for each in shown] == ["if self.free > 0:"] + ["self.free -= 1"] * 2
    late, other, again = (each[0] for each in shown)
    assert late == again != other


@pytest.mark.skipif(
    not sys.platform.startswith("linux") or shutil.which("gcc") is None, reason="needs gcc on Linux"
)
def test_a_native_race(browser: Any, tmp_path: Path, environment: dict[str, str]) -> None:
    source, program = PROGRAMS / "race.c", tmp_path / "race"
    flags = ["-g", "-O0", "-fsanitize=thread", "-pthread"]
    subprocess.run(["gcc", *flags, "-o", str(program), str(source)], check=True)
    page, _ = explored(tmp_path, environment, ["--", str(program)], "--races", "fail")
    shown = first_screen(browser, page)
    assert {each[1] for each in shown} <= {"hits = seen + 1;", "int seen = hits;"}
    assert [each[0] for each in shown] == ["0.1", "0.2"]
