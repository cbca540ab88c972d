"""The tool that tries mutants says what comes of each."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from tests.unit.test_mutants import ROOT, tool


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with one rule and one test, which holds half of it."""
    (tmp_path / "tools").mkdir()
    (tmp_path / "tests").mkdir()
    (tmp_path / "src").mkdir()
    shutil.copy(ROOT / "tools" / "mutants", tmp_path / "tools" / "mutants")
    (tmp_path / "pyproject.toml").write_text(
        "[tool.pytest.ini_options]\npythonpath = ['src']\nmarkers = ['fast: in a second']\n"
    )
    (tmp_path / "src" / "rules.py").write_text("def sign(x):\n    return (x > 0) - (x < 0)\n")
    (tmp_path / "tests" / "test_rules.py").write_text(
        "import pytest, rules\n\npytestmark = pytest.mark.fast\n\n"
        "def test_sign():\n    assert rules.sign(2) == 1\n    assert rules.sign(0) == 0\n"
    )
    return tmp_path


def entry(name: str, text: str, replacement: str, more: str = "") -> str:
    return (
        f"[[mutant]]\nname = '{name}'\nrule = 'A rule.'\nfile = 'src/rules.py'\ntext = '{text}'\n"
        f"replacement = '{replacement}'\ntests = ['tests/test_rules.py']\n{more}\n"
    )


KILLED = entry("positive", "(x > 0)", "0")
SURVIVING = entry("negative", "(x < 0)", "0")


def tried(
    checkout: Path, entries: str, monkeypatch: pytest.MonkeyPatch, *arguments: str
) -> int | str | None:
    """The exit code of the tool."""
    (checkout / "tests" / "mutants.toml").write_text(entries)
    monkeypatch.setattr(sys, "argv", ["mutants", *arguments])
    module = tool(checkout)
    sys.modules["mutants"] = module
    try:
        return module.main()
    except SystemExit as end:
        return end.code
    finally:
        del sys.modules["mutants"]


def test_who_is_killed_and_who_survives(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tried(checkout, KILLED + SURVIVING, monkeypatch) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("killed    positive")
    assert said[0].endswith("by tests/test_rules.py::test_sign")
    assert said[1].startswith("SURVIVED  negative")
    assert said[2] == "1 of 2 mutants were killed"
    # The checkout itself is as it was.
    assert (checkout / "src" / "rules.py").read_text().count("(x > 0) - (x < 0)") == 1


def test_a_survivor_with_a_reason_is_no_failure(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    known = entry("negative", "(x < 0)", "0", "survives = 'Nobody asks.'")
    assert tried(checkout, KILLED + known, monkeypatch, "--named") == 0
    assert "negative survived: Nobody asks." in capsys.readouterr().out


def test_a_list_that_does_not_fit_is_refused(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for text in ("(x == 0)", "x"):
        assert tried(checkout, KILLED + entry("other", text, "0"), monkeypatch) == 2
        assert "other: its text is in src/rules.py" in capsys.readouterr().err


def test_tests_that_fail_by_themselves_say_nothing(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = checkout / "src" / "rules.py"
    source.write_text(source.read_text().replace("(x > 0)", "(x > 5)"))
    assert tried(checkout, SURVIVING, monkeypatch) == 2
    assert "without a mutant" in capsys.readouterr().err
