"""Imports only go downwards."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent.parent / "src" / "bohrbug"

LAYERS = (
    ("cli", "pytest_plugin", "debugger", "api", "__main__"),
    ("live",),
    ("platforms",),
    ("report", "export"),
    ("exploration",),
    ("search",),
    ("monitors",),
    ("runtime",),
    ("model",),
)
"""From top to bottom; a module may import from its own layer and from those below it."""

C_OF_POSIX = ("shim", "hooks", "allocations", "delays", "versions")

EVERYWHERE = ("settings", "own_names", "accelerator", "paths")
"""They import nothing else of ours, so that all may import them."""

# The top of the package loads what it offers on first use.
ALLOWED_ABOVE = {"__init__"}

MODULES = sorted(PACKAGE.rglob("*.py"))


def part_of(dotted: str) -> str:
    """``report`` for ``bohrbug.report.text``."""
    parts = dotted.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def layer_of(part: str) -> int | None:
    for number, layer in enumerate(LAYERS):
        if part in layer:
            return number
    return None


def imports_of(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, name.name) for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: imports are absolute"
            module = node.module or ""
            if module == "bohrbug":
                yield from ((node.lineno, f"bohrbug.{name.name}") for name in node.names)
            else:
                yield node.lineno, module


def dotted_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


NAMES = {dotted_name(path) for path in MODULES}


KNOWN_CIRCLES = (
    {
        *("aftermath", "checks", "clock", "control", "deciding", "deferred_signals", "ending"),
        *("execution", "lifecycle", "monitoring", "outside", "raised", "recorded", "recording"),
        *("resources", "shared_test_state"),
    },
    {"pending", "recording", "session", "streams"},
    {"replayed_stream", "replaying"},
)
"""Modules of one package that name each other's types; to be taken apart, and not to be joined."""


def named_by(path: Path) -> set[str]:
    """The modules of ours that one names, those that are imported only for types included."""
    named = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            named |= NAMES & {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            for name in node.names:
                module = f"{node.module}.{name.name}"
                named |= NAMES & {module if module in NAMES else str(node.module)}
    return named - {dotted_name(path)}


class _NeededToRun(ast.NodeVisitor):
    """Collects which of our modules one imports, now or in a function; not those only for types."""

    def __init__(self) -> None:
        self.modules: set[str] = set()

    def visit_If(self, node: ast.If) -> None:
        if ast.unparse(node.test) != "TYPE_CHECKING":
            self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> None:
        self.modules |= NAMES & {name.name for name in node.names}

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for name in node.names:
            module = f"{node.module}.{name.name}"
            self.modules |= NAMES & {module if module in NAMES else node.module}


def needed_to_run(path: Path) -> set[str]:
    visitor = _NeededToRun()
    visitor.visit(ast.parse(path.read_text(encoding="utf-8")))
    return visitor.modules


@pytest.mark.parametrize("path", MODULES, ids=dotted_name)
def test_imports_go_downwards(path: Path) -> None:
    part = part_of(dotted_name(path))
    if part in ALLOWED_ABOVE:
        return
    own = layer_of(part)
    assert own is not None or part in EVERYWHERE, f"{part} belongs to no layer"
    for line, imported in imports_of(path):
        if not imported.startswith("bohrbug.") or part_of(imported).startswith("__version"):
            continue
        target = part_of(imported)
        if target in EVERYWHERE:
            continue
        assert part not in EVERYWHERE, f"{path}:{line} imports {imported}"
        layer = layer_of(target)
        assert layer is not None, f"{path}:{line} imports {imported}, of no layer"
        assert own is not None and own <= layer, f"{path}:{line} imports {imported} from above"


@pytest.mark.parametrize("part", ["report", "exploration", "search"])
def test_only_platforms_know_how_a_platform_executes(part: str) -> None:
    """Plans go down and traces come up; what executes them is behind ``runtime.protocol``."""
    for path in sorted((PACKAGE / part).rglob("*.py")):
        for line, imported in imports_of(path):
            is_of_platform = re.match(r"bohrbug\.runtime\.(threads|posix)\b", imported)
            assert not is_of_platform, f"{path}:{line} imports {imported}"


def test_the_model_needs_nothing_but_python() -> None:
    for path in sorted((PACKAGE / "model").glob("*.py")):
        for line, imported in imports_of(path):
            top = imported.partition(".")[0]
            assert top not in {"greenlet", "bytecode", "click", "rich", "pytest"}, f"{path}:{line}"


def test_a_session_in_which_tests_have_one_task_loads_nothing_that_is_for_others(
    tmp_path: Path,
) -> None:
    """Such suites pay for what every session loads."""
    tmp_path.joinpath("pytest.ini").write_text("")
    tmp_path.joinpath("test_alone.py").write_text("def test_alone(): pass\n")
    words = (
        "import sys, pytest; pytest.main(['--bohrbug', '-p', 'no:cacheprovider']);"
        "print(*sys.modules)"
    )
    command = [sys.executable, "-c", words]
    told = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert "verdicts: holds: 1" in told.stdout
    loaded = told.stdout.splitlines()[-1].split()
    assert "bohrbug.exploration.explorer" in loaded
    # What explains and prints failures, and what searches for them.
    late = {"rich", "bohrbug.report.text", "bohrbug.search.registry", "bohrbug.search.bounded"}
    late |= {f"bohrbug.exploration.minimisation.{name}" for name in ("causes", "preemptions")}
    late |= {"bohrbug.exploration.reproduction", "bohrbug.runtime.threads.live_runtime"}
    assert not late & set(loaded)


def test_commands_load_neither_debuggers_nor_other_formats_unless_they_are_asked_for() -> None:
    words = "import sys, bohrbug.cli.commands; print(*sys.modules)"
    told = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True)
    loaded = set(told.stdout.split())
    assert "bohrbug.debugger.choice" in loaded
    late = {"pdb", "debugpy", "bohrbug.debugger.remote", "bohrbug.report.formats.sarif"}
    assert not loaded & late


def test_only_one_module_knows_the_insides_of_pytest() -> None:
    for path in MODULES:
        if path.name == "internals.py":
            continue
        for line, imported in imports_of(path):
            assert not imported.startswith("_pytest"), f"{path}:{line}"


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = {dotted_name(path): needed_to_run(path) for path in MODULES}
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle


def test_no_further_modules_name_each_other_in_a_circle() -> None:
    graph = {dotted_name(path): named_by(path) for path in MODULES}
    for circle in KNOWN_CIRCLES:
        whole = {name for name in graph if any(name.endswith(f".{part}") for part in circle)}
        members = {name for name in whole if graph[name] & whole}
        assert members, circle
        for name in members:
            graph[name] -= whole
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle


FOLDERS_OF_C = ("core", "accelerator", *(f"runtime/posix/{name}" for name in C_OF_POSIX))


@pytest.mark.parametrize("folder", FOLDERS_OF_C)
def test_headers_include_each_other_downwards(folder: str) -> None:
    headers = sorted((PACKAGE / folder).glob("*.h"))
    included = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
    graph = {path.name: set(included.findall(path.read_text("utf-8"))) for path in headers}
    TopologicalSorter(graph).prepare()


INCLUDE = re.compile(r"^ *# *include ([<\"][^>\"]+[>\"])", re.MULTILINE)


def included_by(path: Path) -> list[str]:
    return INCLUDE.findall(path.read_text("utf-8"))


VARIABLE = re.compile(
    r"^(?!typedef|const|static const)[a-z][\w *]*(?:\[\w*\])?(?: = .*)?;$"
    r"|^ +static (?!const).*$",
    re.MULTILINE,
)
"""Of a file in C, and not of a function, unless that keeps it from one call to the next."""

CORE = {f'"core/{path.name}"' for path in (PACKAGE / "core").glob("*.h")}


def test_the_shim_knows_nothing_of_what_is_loaded_beside_it() -> None:
    shim = {f'"{path.name}"' for path in (PACKAGE / "runtime/posix/shim").glob("*.h")}
    for path in (PACKAGE / "runtime/posix/shim").glob("*.[ch]"):
        for name in included_by(path):
            assert name in shim | CORE or name.startswith("<"), f"{path.name} includes {name}"


def test_the_core_knows_neither_python_nor_the_system() -> None:
    """It is below both that use it: numbers in memory that they give it, and nothing else."""
    own = {f'"{path.name}"' for path in (PACKAGE / "core").glob("*.h")}
    paths = sorted((PACKAGE / "core").glob("*.[ch]"))
    assert len(paths) > 2
    for path in paths:
        beyond = set(included_by(path)) - own - {"<stdbool.h>", "<stddef.h>", "<stdint.h>"}
        assert not beyond, f"{path.name} includes {beyond}"
        # What it keeps is in what it is given: it has no variables of its own.
        variables = VARIABLE.findall(path.read_text("utf-8"))
        assert not variables, f"{path.name} has variables: {variables}"


def test_c_of_the_accelerator_includes_its_own_headers_and_the_core() -> None:
    own = {f'"{path.name}"' for path in (PACKAGE / "accelerator").glob("*.h")}
    for path in (PACKAGE / "accelerator").glob("*.[ch]"):
        for name in included_by(path):
            is_of_python = name.startswith(("<", '"internal/pycore_'))
            assert name in own | CORE or is_of_python, f"{path.name} includes {name}"


def test_python_tests_load_nothing_that_controls_native_programs() -> None:
    """Each command and each session of pytest would begin later by a tenth."""
    script = (
        "import sys, bohrbug.cli.commands, bohrbug.pytest_plugin.plugin\n"
        "print(*(name for name in sys.modules if name.startswith('bohrbug.runtime.posix.')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    words = {"elf", "engines", "enumerations"}
    assert {name.rpartition(".")[2] for name in done.stdout.split()} == words
