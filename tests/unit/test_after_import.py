"""Who watches for a module is called when it is whole, and nothing around it is half imported."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bohrbug.runtime.channels.after_import import AfterImport
from bohrbug.runtime.channels.installation import FAMILIES
from bohrbug.runtime.channels.joining import environment_for
from bohrbug.runtime.channels.session import SessionOptions

Watch = Callable[..., list[tuple[str, bool]]]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package whose modules import each other while it is half imported itself."""
    folder = tmp_path / "circular_package"
    folder.mkdir()
    (folder / "__init__.py").write_text("from . import first\nwhole = True\n")
    (folder / "first.py").write_text("from . import second\nname = 'first'\n")
    (folder / "second.py").write_text("from . import first\n")
    (tmp_path / "outside.py").write_text("import circular_package.second\nwhole = True\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield folder
    for name in list(sys.modules):
        if name.startswith("circular_package") or name == "outside":
            del sys.modules[name]


@pytest.fixture
def watch() -> Iterator[Watch]:
    """Watches for modules; what it returns gets a name at each call, and what was whole then."""
    finders = []

    def begin(*names: str) -> list[tuple[str, bool]]:
        calls: list[tuple[str, bool]] = []
        finder = AfterImport(
            lambda name: calls.append((name, hasattr(sys.modules["circular_package"], "whole")))
        )
        finder.watch(names)
        sys.meta_path.insert(0, finder)
        finders.append(finder)
        return calls

    yield begin
    for finder in finders:
        sys.meta_path.remove(finder)


def test_the_call_comes_when_the_package_is_whole(package: Path, watch: Watch) -> None:
    calls = watch("circular_package.second", "circular_package.first")
    importlib.import_module("circular_package")
    assert calls == [("circular_package.second", True), ("circular_package.first", True)]


def test_the_call_comes_before_the_program_goes_on(package: Path, watch: Watch) -> None:
    calls = watch("circular_package.second")
    (package.parent / "outside.py").write_text(
        "import circular_package.second, sys\nsys.heard_of_it = list(sys.calls)\n"
    )
    sys.calls = calls  # type: ignore[attr-defined]
    try:
        importlib.import_module("outside")
        assert sys.heard_of_it == [("circular_package.second", True)]  # type: ignore[attr-defined]
    finally:
        del sys.calls, sys.heard_of_it  # type: ignore[attr-defined]


def test_each_module_is_told_of_once(package: Path, watch: Watch) -> None:
    calls = watch("circular_package.first")
    importlib.import_module("circular_package.first")
    importlib.reload(sys.modules["circular_package.first"])
    assert len(calls) == 1


def test_an_import_that_fails_is_told_of_when_it_succeeds(package: Path, watch: Watch) -> None:
    calls = watch("circular_package.second")
    whole = (package / "first.py").read_text()
    (package / "first.py").write_text("from . import second\nraise OSError\n")
    with pytest.raises(OSError):
        importlib.import_module("circular_package")
    assert calls == []
    (package / "first.py").write_text(whole)
    importlib.invalidate_caches()
    importlib.import_module("circular_package")
    assert calls == [("circular_package.second", True)]


def test_another_thread_does_not_wait_for_imports_of_this_one(package: Path, watch: Watch) -> None:
    calls = watch("circular_package.second", "colorsys")
    sys.modules.pop("colorsys", None)
    (package / "first.py").write_text(
        "import threading, importlib\n"
        "from . import second\n"
        "thread = threading.Thread(target=importlib.import_module, args=('colorsys',))\n"
        "thread.start()\n"
        "thread.join()\n"
    )
    importlib.import_module("circular_package")
    assert calls == [("colorsys", False), ("circular_package.second", True)]


def test_the_module_does_not_see_who_watches(package: Path, watch: Watch) -> None:
    watch("circular_package.second", "math")
    module = importlib.import_module("circular_package.second")
    assert module.__spec__ is not None
    for loader in (module.__loader__, module.__spec__.loader):
        assert type(loader).__module__.startswith("_frozen_importlib")
        assert "import first" in loader.get_source("circular_package.second")  # type: ignore[union-attr]


def test_modules_in_c_are_watched_too(watch: Watch) -> None:
    name = next(name for name in ("_bisect", "_heapq", "_statistics") if name in _in_c())
    kept = sys.modules.pop(name, None)
    sys.modules["circular_package"] = sys
    try:
        calls = watch(name)
        importlib.import_module(name)
        assert calls == [(name, False)]
    finally:
        del sys.modules["circular_package"]
        if kept is not None:
            sys.modules[name] = kept


def _in_c() -> set[str]:
    found = set()
    for name in ("_bisect", "_heapq", "_statistics"):
        spec = importlib.util.find_spec(name)
        if spec is not None and not (spec.origin or "").endswith(".py"):
            found.add(name)
    return found


PACKAGES = {name.rpartition(".")[0] for name in FAMILIES} - {""}


@pytest.mark.parametrize("name", sorted({*FAMILIES, *PACKAGES}))
def test_each_module_can_be_the_first_that_a_program_imports(name: str, tmp_path: Path) -> None:
    """In a new process, where nothing but what Python needs to start was imported before."""
    check = (
        f"import sys, {name}\n"
        "from bohrbug.runtime.channels.installation import FAMILIES, _installation as placed\n"
        "import importlib\n"
        "ours = {module: name for module, name in FAMILIES.items() if module in sys.modules}\n"
        "there = [f'bohrbug.runtime.channels.{name}' for name in ours.values()]\n"
        "assert {sys.modules[name].patches for name in there} == set(placed.patches), there\n"
        f"assert {name!r} in ours or {name!r} in {sorted(PACKAGES)}\n"
    )
    options = SessionOptions("record", str(tmp_path / "log"), str(tmp_path))
    done = subprocess.run(
        [sys.executable, "-c", check],
        env={**environment_for(options, _environment(), None)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def _environment() -> dict[str, str]:
    return {name: text for name, text in os.environ.items() if not name.startswith("COV")}


def test_imports_of_a_thread_are_its_own() -> None:
    finder = AfterImport(lambda name: None)
    finder._imports.under_way = 5
    seen = []
    thread = threading.Thread(target=lambda: seen.append(finder._imports.under_way))
    thread.start()
    thread.join()
    assert seen == [0]
