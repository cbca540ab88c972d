"""Messages with Bohrbug in site-packages, as users have it, and not found by ``PYTHONPATH``.

In a checkout other modules are loaded at the start of Python, and in another order.
"""

from __future__ import annotations

import compileall
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from .conftest import ASYNC_PLUGINS, SECONDS, Ended, Folder, left_out

SOURCE = Path(__file__).parent.parent.parent / "src" / "bohrbug"
BENCHMARKS = Path(__file__).parent.parent.parent / "benchmarks" / "messages"

SLEEPS = "import asyncio; asyncio.run(asyncio.sleep(0))"


class Installed(Folder):
    """A folder of a user who has installed Bohrbug."""

    python: Path

    def command(self, *arguments: str) -> list[str]:
        return [str(self.python.parent / "bohrbug"), *arguments]

    def pytest_command(self, *arguments: str) -> list[str]:
        return [str(self.python), "-m", "pytest", "-p", "no:cacheprovider", *arguments]


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that Bohrbug is installed in."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=os.name != "nt")
    scripts = Path(sysconfig.get_path("scripts", "venv", {"base": str(folder)}))
    packages = Path(sysconfig.get_path("purelib", "venv", {"base": str(folder)}))
    ours = shutil.ignore_patterns("__pycache__")
    for package in (SOURCE, SOURCE.with_name("bohrbug_entry")):
        shutil.copytree(package, packages / package.name, ignore=ours)
        # As installers do.
        assert compileall.compile_dir(packages / package.name, quiet=1)
    # What Bohrbug itself needs; these are no packages of a checkout.
    needed = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (packages / "needed.pth").write_text("\n".join(sorted(needed)))
    found = next(path for path in scripts.iterdir() if path.stem == "python")
    script = scripts / "bohrbug"
    script.write_text(
        f"#!{found}\nimport sys\nfrom bohrbug_entry.command import run\n"
        "if __name__ == '__main__':\n    sys.exit(run())\n"
    )
    script.chmod(0o755)
    return found


@pytest.fixture
def installed(tmp_path: Path, environment: dict[str, str], python: Path) -> Installed:
    ours = environment | {"PYTEST_ADDOPTS": left_out(*ASYNC_PLUGINS)}
    del ours["PYTHONPATH"]
    folder = Installed(tmp_path, ours)
    folder.python = python
    return folder


def record(folder: Installed, *command: str) -> Ended:
    return folder.bohrbug("record", "-o", "log.bin", "--", str(folder.python), *command)


def replay(folder: Installed, *command: str, options: tuple[str, ...] = ()) -> Ended:
    return folder.bohrbug(
        "replay-messages", *options, "log.bin", "--", str(folder.python), *command
    )


def test_it_is_found_in_site_packages(installed: Installed) -> None:
    done = installed.run([str(installed.python), "-c", "import bohrbug; print(bohrbug.__file__)"])
    assert str(installed.python.parent.parent) in done.out, done.err


def test_asyncio(installed: Installed) -> None:
    recorded = record(installed, "-c", SLEEPS)
    assert (recorded.code, recorded.out) == (0, ""), recorded.err
    replayed = replay(installed, "-c", SLEEPS)
    assert (replayed.code, replayed.out, replayed.err) == (0, "", "")


def test_every_documented_command(installed: Installed) -> None:
    installed.write(
        "test_orders.py",
        """
        import asyncio, queue, random, threading, time

        def test_order():
            inbox = queue.Queue()

            def tell(number):
                time.sleep(random.random() * 0.01)
                inbox.put(number)

            threads = [threading.Thread(target=tell, args=(n,)) for n in range(2)]
            for thread in threads:
                thread.start()
            assert [inbox.get(), inbox.get()] == [0, 1]
            for thread in threads:
                thread.join()

        def test_loop():
            assert asyncio.run(asyncio.sleep(0, 5)) == 5
        """,
    )
    test = [str(installed.python), "-m", "pytest", "-p", "no:cacheprovider", "test_orders.py"]
    for wanted, code in (("pass", 0), ("fail", 1)):
        recorded = installed.bohrbug("record", "--until", wanted, "-o", wanted, "--", *test)
        assert recorded.code == code, recorded.out + recorded.err
        replayed = installed.bohrbug("replay-messages", "--times", "3", wanted, "--", *test)
        assert replayed.code == code, replayed.out + replayed.err
        assert "0 were desynchronised" in replayed.err
    shown = installed.bohrbug("messages", "pass", "--chart")
    assert shown.code == 0, shown.err
    assert "queue.Queue" in shown.out
    assert installed.bohrbug("messages", "diff", "pass", "fail").code == 1
    decided = installed.bohrbug("messages", "diff", "pass", "fail", "--", *test)
    assert decided.code == 1, decided.out + decided.err
    assert "✗ fails" in decided.out
    for _ in range(60):
        done = installed.pytest("--bohrbug-record", "logs", "--bohrbug-record-only", "pass")
        if done.code == 0:
            break
    assert done.code == 0, done.out
    replayed = installed.pytest("--bohrbug-replay-messages", "logs")
    assert replayed.code == 0, replayed.out
    assert "2 tests replayed, 0 desynchronised, 0 without a log" in replayed.out


def test_places_are_of_the_program(installed: Installed) -> None:
    installed.write("script.py", "import queue\nq = queue.Queue()\nq.put(1)\nprint(q.get())\n")
    assert record(installed, "script.py").code == 0
    installed.write("script.py", "import queue\nq = queue.Queue()\nq.put(1)\nprint(q.get(False))\n")
    strict = replay(installed, "script.py")
    assert strict.code == 3
    assert "task 0, event 2 at script.py:4" in strict.err


@pytest.mark.slow
@pytest.mark.parametrize("program", sorted(BENCHMARKS.glob("programs/*.py")), ids=lambda p: p.stem)
def test_the_benchmark_runs_to_its_end(installed: Installed, program: Path) -> None:
    done = subprocess.run(
        [installed.python, BENCHMARKS / "run.py", "--rounds", "1", "--replays", "1", program.stem],
        env=installed.environment,
        cwd=installed.path,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].endswith("| 1 of 1 |"), done.stdout + done.stderr


def test_the_interpreter_is_this_one(installed: Installed) -> None:
    done = installed.run([str(installed.python), "-c", "import sys; print(sys.version)"])
    assert done.out.rstrip("\n") == sys.version
