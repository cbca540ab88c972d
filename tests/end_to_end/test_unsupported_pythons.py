"""What a Python that is not supported is told, by each way in."""

from __future__ import annotations

import importlib.metadata
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.end_to_end.conftest import Ended, Folder

ROOT = Path(__file__).parent.parent.parent
SENTENCE = "Bohrbug supports CPython 3.11, 3.12, 3.13, 3.14 and 3.15, and this is "

OTHERS = {
    "CPython 3.10.13": ("cpython", (3, 10, 13, "final", 0)),
    "CPython 3.16.0": ("cpython", (3, 16, 0, "final", 0)),
    "PyPy 3.11.2": ("pypy", (3, 11, 2, "final", 0)),
}
"""Pythons that are pretended to be, and what they are called."""

EVERYWHERE = """
    import sys
    sys.implementation.name, version = {!r}
    class Version(tuple):
        major, minor, micro, releaselevel, serial = version
    sys.version_info = Version(version)
"""
"""The whole interpreter says that it is another one."""

ONLY_TO_US = """
    from types import SimpleNamespace
    from bohrbug_entry import pythons
    name, version = {!r}
    implementation = SimpleNamespace(name=name)
    pythons.sys = SimpleNamespace(implementation=implementation, version_info=version)
"""
"""Only our table is asked by another one: pytest itself would break on a Python that is none."""

TESTS = """
    import pytest

    @pytest.mark.bohrbug(executions=3)
    def test_passes():
        pass
"""


@pytest.fixture(params=sorted(OTHERS))
def other(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def elsewhere(folder: Folder, other: str) -> Folder:
    """A folder whose Python is another one."""
    return pretending(folder, EVERYWHERE, other)


def pretending(folder: Folder, how: str, other: str) -> Folder:
    """Let the interpreters of the folder pretend to be another one when they start."""
    folder.write("sitecustomize.py", how.format(OTHERS[other]))
    folder.environment["PYTHONPATH"] += f":{folder.path}"
    return folder


def check_refused(done: Ended, other: str) -> None:
    assert (done.code, done.out, done.err) == (2, "", f"{SENTENCE}{other}\n")


@pytest.mark.parametrize("arguments", [(), ("--version",), ("run", "x.py"), ("record", "ls")])
def test_python_m(elsewhere: Folder, other: str, arguments: tuple[str, ...]) -> None:
    check_refused(elsewhere.bohrbug(*arguments), other)


@pytest.mark.parametrize("arguments", [(), ("run", "x.py"), ("replay-messages", "x")])
def test_the_command(elsewhere: Folder, other: str, arguments: tuple[str, ...]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    entry = importlib.metadata.EntryPoint(
        "bohrbug", project["scripts"]["bohrbug"], "console_scripts"
    )
    # As installers write it.
    script = elsewhere.write(
        "bohrbug",
        f"""
        import sys
        from {entry.module} import {entry.attr}
        if __name__ == "__main__":
            sys.exit({entry.attr}())
        """,
    )
    check_refused(elsewhere.run([sys.executable, str(script), *arguments]), other)


def test_an_import(elsewhere: Folder, other: str) -> None:
    program = """
        try:
            import bohrbug
        except ImportError as error:
            print(error)
    """
    done = elsewhere.run([sys.executable, str(elsewhere.write("program.py", program))])
    assert (done.code, done.out, done.err) == (0, f"{SENTENCE}{other}\n", "")


def test_an_import_in_another_module_run_by_m(elsewhere: Folder, other: str) -> None:
    elsewhere.write("program.py", "import bohrbug")
    done = elsewhere.run([sys.executable, "-m", "program"])
    assert done.code == 1
    assert done.err.splitlines()[-1] == f"ImportError: {SENTENCE}{other}"


def test_an_import_when_python_starts_does_not_end_it(elsewhere: Folder, other: str) -> None:
    path = elsewhere.path / "sitecustomize.py"
    path.write_text(path.read_text(encoding="utf-8") + "import bohrbug", encoding="utf-8")
    elsewhere.write("program.py", "print('runs')")
    done = elsewhere.run([sys.executable, "-m", "program"])
    assert (done.code, done.out) == (0, "runs\n")
    assert f"{SENTENCE}{other}" in done.err


def test_a_command_that_is_recorded_runs_as_ever(elsewhere: Folder, other: str) -> None:
    startup = ROOT / "src" / "bohrbug" / "runtime" / "channels" / "startup"
    # The pretence comes first, and then what a recording puts there.
    code = f"""
        import runpy, sys
        runpy.run_path({str(startup / "sitecustomize.py")!r}, run_name="sitecustomize")
        print("bohrbug.runtime" in sys.modules)
    """
    program = elsewhere.write("program.py", code)
    done = elsewhere.run([sys.executable, str(program)], BOHRBUG_MESSAGES="{}")
    assert (done.code, done.out, done.err) == (0, "False\n", "")


def test_pytest_goes_on_and_says_so_in_one_line(folder: Folder, other: str) -> None:
    # (The pretence itself is why a module of ours is imported before pytest can rewrite it.)
    pretending(folder, ONLY_TO_US, other)
    folder.write("test_it.py", TESTS)
    folder.write(
        "pytest.ini",
        """
        [pytest]
        addopts = --strict-markers --strict-config
        filterwarnings =
            error
            ignore::pytest.PytestAssertRewriteWarning
        bohrbug_executions = 5
        """,
    )
    done = folder.pytest()
    assert done.code == 0, done.out + done.err
    assert "1 passed" in done.lines[-1]
    assert "warning" not in done.out
    assert [line for line in done.lines if "Bohrbug" in line] == [
        f"bohrbug: not active. {SENTENCE}{other}"
    ]


@pytest.mark.parametrize("option", ["--bohrbug", "--bohrbug-executions=5", "--bohrbug-replay=x"])
def test_pytest_refuses_the_options(folder: Folder, other: str, option: str) -> None:
    pretending(folder, ONLY_TO_US, other)
    folder.write("test_it.py", TESTS)
    done = folder.pytest(option)
    assert done.code == pytest.ExitCode.USAGE_ERROR
    assert done.err == f"ERROR: {option}: {SENTENCE}{other}\n\n"


@pytest.mark.parametrize("name", ["python3.7", "python3.8", "python3.9", "python3.10", "pypy3"])
def test_real_ones_that_are_on_this_machine(folder: Folder, name: str) -> None:
    interpreter = shutil.which(name)
    if interpreter is None or _version(interpreter, name) is None:
        pytest.skip(f"no {name} here")
    expected = f"{SENTENCE}{_version(interpreter, name)}"
    for arguments in (
        ["-m", "bohrbug", "run", "x"],
        ["-c", "import bohrbug_entry.command as c; c.run()"],
    ):
        done = folder.run([interpreter, *arguments])
        assert (done.code, done.out, done.err) == (2, "", f"{expected}\n")
    done = folder.run([interpreter, "-c", "import bohrbug"])
    assert (done.code, done.err.splitlines()[-1]) == (1, f"ImportError: {expected}")


def _version(interpreter: str, name: str) -> str | None:
    """What it calls itself, if it runs at all."""
    code = "import platform; print(platform.python_implementation(), platform.python_version())"
    done = subprocess.run([interpreter, "-c", code], capture_output=True, text=True, check=False)
    if done.returncode or (name.startswith("python") and f" {name[6:]}." not in done.stdout):
        return None
    # PyPy has a version of its own; the language's is the one that is told.
    return done.stdout.strip()
