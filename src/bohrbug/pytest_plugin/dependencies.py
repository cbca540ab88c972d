"""The files on which it depends what a test does, as far as modules tell."""

from __future__ import annotations

import hashlib
import site
import sys
import sysconfig
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType, ModuleType

from bohrbug.pytest_plugin.import_statements import Imported, imported_by

Files = Mapping[str, str]
"""Files, with the names of the modules that they are, or ""."""


class FilesBehind:
    """The files of modules, looked for once for all tests that begin with the same modules.

    They are looked for again when a module has been imported since.
    """

    def __init__(self) -> None:
        self._imported: tuple[int, str] = 0, ""
        self._known: dict[tuple[frozenset[ModuleType], frozenset[str]], Files] = {}

    def of(self, modules: frozenset[ModuleType], files: Iterable[str]) -> Files:
        """See :func:`files_behind`; the same object for the same files."""
        # The last one is what was imported last.
        imported = len(sys.modules), next(reversed(sys.modules))
        if imported != self._imported:
            self._imported = imported
            self._known.clear()
        key = modules, frozenset(files)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = files_behind(*key)
        return known


def files_behind(modules: Iterable[ModuleType | None], files: Iterable[str]) -> dict[str, str]:
    """The files of modules, and of those that they refer to, directly or not, with their names.

    A module refers to those that it or its functions import, and to those that its globals come
    from.  What is installed, and the standard library, is left out: a version says what it is.

    Parameters:
        modules: to begin with.
        files: of further ones.
    """
    wanted = {str(Path(file)) for file in files}
    pending = [module for module in modules if module is not None]
    if wanted:
        pending += [module for module in [*sys.modules.values()] if _file_of(module) in wanted]
    met: set[str] = set()
    found = {file: "" for file in wanted if _is_of_the_project(file)}
    while pending:
        module = pending.pop()
        name = _name_of(module)
        if name in met:
            continue
        met.add(name)
        file = _file_of(module)
        is_own = name.partition(".")[0] in ("bohrbug", "bohrbug_entry")
        if file is None or is_own or not _is_of_the_project(file):
            continue
        found[file] = name
        known = (sys.modules.get(each) for each in _referred_to(module, file))
        pending += [each for each in known if isinstance(each, ModuleType)]
    return found


def is_still_found(name: str, file: str) -> bool:
    """Whether importing a module would still give a file, and not another one that comes before it.

    Parameters:
        name: of the module; "" if nobody knows.
        file: where it was.
    """
    if name in sys.modules:
        return _file_of(sys.modules[name]) == file
    parent = name.rpartition(".")[0]
    if not name or (parent and parent not in sys.modules):
        # The parent, too, is among what is looked at.
        return True
    try:
        spec = find_spec(name)
    except (ImportError, ValueError):
        return False
    return spec is not None and spec.origin == file


def _name_of(module: ModuleType) -> str:
    """The name of a module, which a test may have taken from it."""
    name = vars(module).get("__name__")
    if isinstance(name, str):
        return name
    return next((name for name, known in [*sys.modules.items()] if known is module), "")


def _file_of(module: object) -> str | None:
    file = vars(module).get("__file__") if isinstance(module, ModuleType) else None
    return file if isinstance(file, str) else None


@cache
def _installed() -> tuple[str, ...]:
    """Folders of what has a version: the standard library and installed distributions."""
    paths = sysconfig.get_paths()
    folders = {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    folders.update(site.getsitepackages())
    if isinstance(user := site.getusersitepackages(), str):
        folders.add(user)
    return tuple(str(Path(folder).resolve()) + "/" for folder in folders)


@cache
def _is_of_the_project(file: str) -> bool:
    path = Path(file)
    if not path.is_file():
        return False
    resolved = path.resolve()
    own = Path(__file__).resolve().parents[1]
    return not (str(resolved).startswith(_installed()) or resolved.is_relative_to(own))


def _referred_to(module: ModuleType, file: str) -> frozenset[str]:
    """Names of modules that a module imports, or has got functions, classes and objects of."""
    origins = set()
    for value in [*vars(module).values()]:
        is_made_there = isinstance(value, _WITH_MODULES)
        origin = value.__module__ if is_made_there else type(value).__module__
        if isinstance(origin, str):
            origins.add(origin)
    package = vars(module).get("__package__") or ""
    return _imported_names(file, _name_of(module), package).union(*map(_with_packages, origins))


_WITH_MODULES = type, FunctionType
"""Types of objects that say in which module they were made."""


@cache
def _imported_names(file: str, name: str, package: str) -> frozenset[str]:
    """Names of the modules that the source of one imports, and of its own package."""
    names = {name.rpartition(".")[0]}
    for level, source in _imports(file):
        base = package.split(".")[: len(package.split(".")) - level + 1] if level else []
        names.add(".".join([*base, source] if source else base))
    return frozenset().union(*map(_with_packages, names))


@cache
def _with_packages(name: str) -> tuple[str, ...]:
    """A module is executed within its packages."""
    parts = name.split(".")
    return tuple(".".join(parts[:n]) for n in range(1, len(parts) + 1))


@cache
def _imports(file: str) -> Imported:
    try:
        return imported_by(Path(file).read_bytes())
    except OSError:
        # Nothing that is imported from source.
        return frozenset()


class Digests:
    """Digests of the contents of files, each of which is read once."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def of(self, file: str) -> str:
        """The digest of a file; "" if it can't be read."""
        known = self._known.get(file)
        if known is None:
            try:
                known = hashlib.sha256(Path(file).read_bytes()).hexdigest()
            except OSError:
                known = ""
            self._known[file] = known
        return known
