"""Functions of which the C library has several versions: programs get the newest one of each."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bohrbug.model.outcome import OutcomeKind
from bohrbug.model.plan import Plan
from bohrbug.runtime.posix import build
from bohrbug.runtime.posix.build import SOURCES
from tests.native.building import need_native
from tests.native.exploring import runtime_for

Build = Callable[..., Path]

RUNTIMES = (
    ("gcc", "libtsan.so"),
    ("gcc", "libasan.so"),
    ("clang", "libclang_rt.tsan-x86_64.so"),
)
"""A compiler, and a sanitizer's runtime of its own."""

_ONE_MEANING = re.compile(r"(memcpy|(frexp|modf)[fl]?)$")
"""Whatever version of these a program gets."""


@pytest.fixture(autouse=True)
def _native() -> None:
    need_native()


def tool(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"needs {name}")
    return path


def defined(library: Path) -> dict[str, dict[str, str]]:
    """The functions of a library: the addresses by version, with an @ if it is the default."""
    words = [tool("nm"), "-D", "--defined-only", str(library)]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    found: dict[str, dict[str, str]] = {}
    for line in said.splitlines():
        address, *_, name = line.split()
        name, _, version = name.partition("@")
        found.setdefault(name, {})[version] = address
    return found


def several_versions() -> dict[str, str]:
    """The newest version of each function of the C library that has others which differ."""
    maps = Path("/proc/self/maps").read_text("utf-8").split()
    libc = next(Path(word) for word in maps if Path(word).name == "libc.so.6")
    return {
        name: version[1:]
        for library in ("libc.so.6", "libm.so.6")
        for name, versions in defined(libc.with_name(library)).items()
        for version in versions
        if version.startswith("@") and len(set(versions.values())) > 1
    }


@pytest.mark.parametrize(("compiler", "runtime"), RUNTIMES)
def test_what_a_runtime_stands_before_is_found_in_the_newest_version(
    compiler: str, runtime: str
) -> None:
    """A program that was linked with it asks for these without a version."""
    words = [tool(compiler), f"-print-file-name={runtime}"]
    path = Path(subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip())
    if not path.is_file():
        pytest.skip(f"needs {runtime}")
    several = several_versions().keys()
    needed = {name for name in defined(path).keys() & several if not _ONE_MEANING.match(name)}
    assert len(needed) > 10
    assert needed <= defined(build.delays()).keys()
    hooks = build.hooks()
    assert hooks is not None
    # A condition variable is one of the shim's, whatever the program asks for.
    of_shim = {name for name in defined(build.shim()) if name.startswith("pthread_cond_")}
    assert needed <= defined(hooks).keys() | of_shim


def test_the_newest_versions_are_known() -> None:
    text = (SOURCES / "newest.h").read_text("utf-8")
    known = dict(re.findall(r'F\((\w+), "(GLIBC_[\d.]+)"\)', text))
    hooks = build.hooks()
    assert hooks is not None
    libraries = (build.shim(), hooks, build.delays(), build.allocations())
    ours = {name for library in libraries for name in defined(library)}
    assert known == {name: new for name, new in several_versions().items() if name in ours}


@pytest.fixture
def program(native_build: Build) -> Path:
    return native_build("versions.c", "-fsanitize=thread", "-lm")


@pytest.fixture
def printed(program: Path) -> str:
    """What it prints by itself."""
    return subprocess.run([program], capture_output=True, text=True, check=True).stdout


def test_a_program_under_control_gets_them(program: Path, printed: str) -> None:
    with runtime_for(program) as runtime:
        trace = runtime.execute(Plan()).trace
        assert trace.outcome.kind is OutcomeKind.PASSED
        assert runtime.printed.stdout == printed.encode()
        # The programs that could not be started run nowhere.
        assert not trace.uncontrolled.counts


def test_a_program_with_real_threads_gets_them(program: Path, printed: str, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "bohrbug", "live", "--native-threads", "--", str(program)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, printed), done.stderr


@pytest.mark.parametrize("fibers", [True, False])
@pytest.mark.parametrize("flags", [(), ("-DFORKS",)])
def test_threads_run_where_they_say(
    native_build: Build, flags: tuple[str, ...], fibers: bool
) -> None:
    """It asks for processors, and for one of them; control keeps it on one all the same."""
    program = native_build("processors.c", *flags)
    subprocess.run([program], check=True)
    with runtime_for(program, fibers=fibers) as runtime:
        for _ in range(4):
            trace = runtime.execute(Plan()).trace
            assert trace.outcome.kind is OutcomeKind.PASSED, trace.outcome
