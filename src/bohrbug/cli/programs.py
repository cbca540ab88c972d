"""What the command line can explore: scripts and functions, and how a file names them."""

from __future__ import annotations

import builtins
import difflib
import importlib
import importlib.util
import io
import shlex
import sys
import traceback
import types
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bohrbug.api import check_test
from bohrbug.exploration.store import SUFFIX
from bohrbug.paths import display_path
from bohrbug.platforms.threads.coroutine_functions import as_test
from bohrbug.runtime.threads.exiting import Exiting


class ProgramError(ValueError):
    """There is no such program; the message says what is missing."""


class Script:
    """A script, executed as ``__main__`` in a fresh namespace each time.

    Modules that the script imports are loaded once, as everywhere.

    Parameters:
        path: of the script.
        arguments: what it finds in ``sys.argv`` after its name.

    Raises:
        ProgramError: it can't be read or compiled.
    """

    def __init__(self, path: str, arguments: Sequence[str] = ()) -> None:
        self.name = Path(path).name
        self._path = path
        self._arguments = list(arguments)
        # Absolute, as Python itself makes it for the main script.
        absolute = str(Path(path).absolute())
        try:
            with io.open_code(absolute) as file:
                source = file.read()
            code = compile(source, absolute, "exec", dont_inherit=True)
        except OSError as error:
            raise ProgramError(f"{path}: {error.strerror or error}") from error
        except (SyntaxError, ValueError) as error:
            raise ProgramError(f"{path} can't be compiled: {error}") from error
        self.only_defines_tests = _only_defines_tests(self.name, source)
        """Whether it looks like a file for pytest that does nothing by itself."""
        self._module = types.ModuleType("__main__")
        self._fresh = {
            **vars(self._module),
            "__builtins__": builtins,
            "__file__": absolute,
            "__cached__": None,
        }
        # What the script finds, and not what we have copied.
        vars(self._module)["__builtins__"] = builtins
        # A function, and always the same, so that its code can be rewritten.
        self._code = code
        self._body = types.FunctionType(code, vars(self._module))
        self._folder = str(Path(absolute).parent)

    def prepare(self) -> None:
        """Let the interpreter look as if it had been started with the script."""
        sys.argv = [self._path, *self._arguments]
        sys.path.insert(0, self._folder)
        sys.modules["__main__"] = self._module

    def __call__(self) -> None:
        """Execute it once."""
        sys.argv[:] = [self._path, *self._arguments]
        namespace = vars(self._module)
        namespace.clear()
        namespace.update(self._fresh)
        Exiting.may_succeed = True
        try:
            self._body()
        except SystemExit as error:
            if error.code not in (None, 0):
                raise
        finally:
            Exiting.may_succeed = False

    @property
    def codes(self) -> tuple[types.CodeType, ...]:
        """The code that is executed, with that of all functions in it."""
        return (self._code,)

    def target(self) -> dict[str, Any]:
        """How a reproduction file names it."""
        return {"kind": "script", "path": self._path, "arguments": self._arguments}


class Program:
    """A script that may exit as it likes: its exit code is that of the run.

    Parameters:
        script: the script.

    Attributes:
        code: its exit code.
    """

    def __init__(self, script: Script) -> None:
        self._script = script
        self.codes = script.codes
        self.code: Any = 0

    def __call__(self) -> None:
        """Run it."""
        try:
            self._script()
        except SystemExit as error:
            self.code = error.code


def _only_defines_tests(name: str, source: bytes) -> bool:
    stem = Path(name).stem
    is_for_pytest = stem.startswith("test_") or stem.endswith("_test")
    return is_for_pytest and b"__main__" not in source


def function_named(name: str, path: str | None = None) -> Callable[[], object]:
    """The function called ``module:qualified.name``; what runs it, if it is a coroutine function.

    Parameters:
        name: of the function.
        path: file to load the module from where it can't be imported by name.

    Raises:
        ProgramError: there is no such module or function.
    """
    module_name, _, qualified = name.partition(":")
    if not module_name or not qualified:
        wanted = name if path is None else f"{path}:{qualified}"
        form = "module:function" if path is None else "file.py:function"
        raise ProgramError(f"{wanted!r} is not of the form {form}")
    if "<" in qualified:
        raise ProgramError(
            f"{qualified} was made inside another function and can't be found by its name: "
            "make it a function of a module, or replay it from your own program with "
            "bohrbug.exploration.replaying.replay"
        )
    found: Any = _module(module_name, path)
    for part in qualified.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            words = f"module {module_name!r} has no function {qualified!r}"
            known = difflib.get_close_matches(part, [n for n in dir(found) if n[:2] != "__"], 1)
            words += f"; did you mean {known[0]!r}?" if known else ""
            raise ProgramError(words) from None
    if not callable(found):
        raise ProgramError(f"{name} is not a function")
    try:
        check_test(found, "an exploration")
    except TypeError as error:
        raise ProgramError(f"{name}: {error}") from error
    return as_test(found)


def _module(name: str, path: str | None) -> types.ModuleType:
    _search(Path.cwd())
    if name != "__main__":
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            missing = error.name or ""
            if path is None or not (name == missing or name.startswith(f"{missing}.")):
                raise ProgramError(f"can't import {name}: {error}{_raised_at(error)}") from error
        except Exception as error:
            raise ProgramError(_raised_by(name, error)) from error
    if path is None or not Path(path).is_file():
        raise ProgramError(f"can't find the file {path} of module {name}")
    if "." not in name:
        # It imports what lies beside it, as it did when it was explored.
        _search(Path(path).absolute().parent)
    # Under another name than __main__, so that it is not started as a program.
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    if spec is None or spec.loader is None:
        raise ProgramError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ProgramError(_raised_by(path, error)) from error
    return module


def _search(folder: Path) -> None:
    """Search a folder for modules, and before all others."""
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _raised_by(name: str, error: Exception) -> str:
    return f"importing {name} raised {type(error).__name__}: {error}{_raised_at(error)}"


def _raised_at(error: Exception) -> str:
    """Where an import has failed: the last line that is no part of importing itself."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith("<frozen ")
        and frame.filename not in (__file__, importlib.__file__)
    ]
    if not frames:
        return ""
    return f" ({display_path(frames[-1].filename)}:{frames[-1].lineno})"


def _function_in(file: Path, function: str) -> Callable[[], object]:
    """A function of a file, whose folder is searched for modules first, as that of a script is."""
    if not file.is_file():
        raise ProgramError(_no_program(str(file)))
    _search(file.absolute().parent)
    loaded = _module(file.stem, str(file)).__file__
    if loaded is None or not file.samefile(loaded):
        raise ProgramError(f"{file.stem} is another module than {file}: {loaded or 'built in'}")
    return function_named(f"{file.stem}:{function}", str(file))


_OF_OTHER_COMMANDS = {".json": "replay", SUFFIX: "resume"}
"""What files of these kinds are for, which a hurried hand gives to ``run``."""


def program_named(name: str, arguments: Sequence[str]) -> Script | Callable[[], object]:
    """What a command line means by ``script.py``, ``module:function`` or ``file.py:function``.

    Raises:
        ProgramError: it means nothing.
    """
    if Path(name).suffix in _OF_OTHER_COMMANDS and Path(name).is_file():
        other = _OF_OTHER_COMMANDS[Path(name).suffix]
        raise ProgramError(f"{name} is not a script; use: bohrbug {other} {shlex.quote(name)}")
    if Path(name).is_file():
        return Script(name, arguments)
    if ".py::" in name:
        file, _, function = name.partition("::")
        words = f"{name} is a test as pytest names it; use: pytest --bohrbug {shlex.quote(name)}"
        if function.isidentifier():
            words += f", or without fixtures: bohrbug run {shlex.quote(f'{file}:{function}')}"
        raise ProgramError(words)
    if ":" in name and not name.endswith(".py"):
        if arguments:
            raise ProgramError(f"a function takes no arguments: {' '.join(arguments)}")
        file, _, function = name.rpartition(":")
        return _function_in(Path(file), function) if file.endswith(".py") else function_named(name)
    raise ProgramError(_no_program(name))


def _no_program(name: str) -> str:
    """Why a name means no program, and what may have been meant."""
    path = Path(name)
    if path.is_dir():
        return f"{name} is a folder; for the tests in it: pytest --bohrbug {shlex.quote(name)}"
    if path.suffix in {".py", *_OF_OTHER_COMMANDS}:
        return f"there is no file {name}"
    words = f"{name} is neither a script that exists nor of the form module:function"
    if Path(f"{name}.py").is_file():
        words += f"; there is {name}.py"
    module, _, function = name.rpartition(".")
    if Path(f"{module.replace('.', '/')}.py").is_file() and function.isidentifier():
        words += f"; did you mean {module}:{function}?"
    return words


def program_of(target: dict[str, Any]) -> Callable[[], object]:
    """What a file names as its test, ready to be executed.

    Raises:
        ProgramError: there is no such program.
    """
    if target.get("kind") == "script":
        script = Script(target["path"], target["arguments"])
        script.prepare()
        return script
    if target.get("kind") == "function":
        return function_named(target["name"], target.get("path"))
    raise ProgramError(f"can't execute a test of the kind {target.get('kind')!r}")
