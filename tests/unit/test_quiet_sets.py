"""The weak sets in which libraries keep all threads and tasks: no data of tests."""

from __future__ import annotations

import importlib
import threading
import weakref
from pathlib import Path

import pytest

import bohrbug
from bohrbug.runtime.threads import quiet_sets


class Member:
    """Something that a library keeps."""


def test_those_of_libraries_that_a_test_imports_are_quiet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As asyncio is where the test imports a web framework: nobody has imported it before."""
    (tmp_path / "imported_late.py").write_text("import weakref\nmembers = weakref.WeakSet()\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(quiet_sets, "_NAMES", (("imported_late", "members"),))

    def test() -> None:
        members = importlib.import_module("imported_late").members
        kept = [Member(), Member()]

        def look(member: Member) -> None:
            members.add(member)
            members.discard(member)

        threads = [threading.Thread(target=look, args=(each,)) for each in kept]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    late, early = bohrbug.explore(test), bohrbug.explore(test)
    assert late.verdict.kind is early.verdict.kind is bohrbug.VerdictKind.HOLDS
    # The second time the module was there from the beginning.
    assert late.executions == early.executions
    assert type(importlib.import_module("imported_late").members) is weakref.WeakSet
