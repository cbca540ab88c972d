"""Children that a module starts while it is loaded, as ``ctypes.util.find_library`` does."""

from __future__ import annotations

import importlib
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import bohrbug

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of children")

FAST = "child processes as faster than all tasks"
WAITS = "import subprocess\nsubprocess.run(['true'], check=True)\n"
GOES_ON = f"""
import subprocess, {__name__} as test
test.children.append(subprocess.Popen(['sleep', '0.3']))
"""

children: list[subprocess.Popen[bytes]] = []


@pytest.mark.parametrize(
    ("name", "text", "taking"),
    [
        ("child_that_has_ended", WAITS, ()),
        ("child_that_goes_on", GOES_ON, (FAST,)),
        ("child_of_what_fails", GOES_ON + "raise ImportError\n", (FAST,)),
    ],
)
def test_only_what_outlives_the_import_needs_an_assumption(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, taking: tuple[str, ...]
) -> None:
    (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))

    def test() -> None:
        lock = threading.Lock()

        def work() -> None:
            with lock:
                pass

        thread = threading.Thread(target=work)
        thread.start()
        try:
            # Of the first execution only, as nearly all imports are.
            importlib.import_module(name)
        except ImportError:
            sys.modules[name] = sys.modules[__name__]
        work()
        thread.join()

    verdict = bohrbug.explore(test, executions=50).verdict
    sys.modules.pop(name, None)
    while children:
        children.pop().wait()
    assert verdict.conditions is not None
    assert verdict.conditions.taking == taking
