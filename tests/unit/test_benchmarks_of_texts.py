"""The scripts that repeat the measurements of the source texts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.texts.bugs import SOURCES, bugs_of, source_of, table_of_bugs
from benchmarks.texts.counting import Share
from benchmarks.texts.proxy.mutations import unmarked, variants
from bohrbug.runtime.posix.build import compiler

ROOT = Path(__file__).parents[2]
PROXY = ROOT / "benchmarks" / "texts" / "proxy" / "proxy.c"


def test_there_are_many_faulty_proxies_each_of_which_is_another_one() -> None:
    source = PROXY.read_text(encoding="utf-8")
    made = list(variants(source))
    assert len(made) >= 30
    assert len({variant.name for variant in made}) == len(made)
    assert len({variant.text for variant in made} | {unmarked(source)}) == len(made) + 1
    assert not any("/*@" in variant.text for variant in made)


def test_faulty_proxies_can_be_compiled() -> None:
    cc = compiler()
    if cc is None:
        pytest.skip("needs a C compiler")
    for variant in variants(PROXY.read_text(encoding="utf-8")):
        command = [cc, "-std=gnu11", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-x", "c", "-"]
        done = subprocess.run(
            command, input=variant.text, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, (variant.name, done.stderr)


@pytest.mark.parametrize(
    ("operators", "expected"),
    [
        ("drop", "one();\nthree();"),
        ("twice", "one();\ntwo();\ntwo();\nthree();"),
        ("up(1)", "two();\none();\nthree();"),
        ("down(1)", "one();\nthree();\ntwo();"),
        ("instead(other(1, 2);)", "one();\nother(1, 2);\nthree();"),
        (
            "split(&a)",
            "one();\npthread_mutex_unlock(&a); pthread_mutex_lock(&a);\ntwo();\nthree();",
        ),
    ],
)
def test_operators(operators: str, expected: str) -> None:
    source = f"one();\ntwo(); /*@ place: {operators} */\nthree();"
    assert [variant.text for variant in variants(source)] == [expected]


def test_a_critical_section_is_bared_up_to_the_next_one() -> None:
    lock, unlock = "    pthread_mutex_lock(&a);", "    pthread_mutex_unlock(&a);"
    source = f"{lock} /*@ place: bare */\n    one();\n{unlock}\n{lock}\n    two();\n{unlock}\n}}"
    (variant,) = variants(source)
    assert variant.text == f"    one();\n{lock}\n    two();\n{unlock}\n}}"


def test_a_mark_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="while"):
        list(variants("one(); /*@ place: if */"))
    with pytest.raises(ValueError, match="no operator"):
        list(variants("one(); /*@ place: other */"))


def test_each_bug_of_the_documentation_is_counted_once() -> None:
    text = (ROOT / "docs" / "bugs.md").read_text(encoding="utf-8")
    bugs = bugs_of(text)
    assert len(bugs) > 70
    assert {bug.source for bug in bugs} == set(SOURCES)
    assert f"| **total** | {len(bugs)} |" in table_of_bugs(text)


def test_where_a_bug_is_known_from() -> None:
    assert source_of("issue #1") == "reported"
    assert source_of("found by exploring its own tests") == "exploring"
    assert source_of("deadlocks of unknown cause; reading the source").startswith("known failure")


def test_intervals() -> None:
    low, high = Share(50, 100).interval()
    assert low < 0.5 < high
    assert Share(0, 100).interval()[0] == 0
    assert Share(0, 0).interval() == (0, 1)


def test_pct_is_measured() -> None:
    words = ["--language", "Python", "--tight-only", "--executions", "20"]
    done = subprocess.run(
        [sys.executable, "-m", "texts.pct", *words],
        cwd=ROOT / "benchmarks",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Python, depth 3:" in done.stdout
