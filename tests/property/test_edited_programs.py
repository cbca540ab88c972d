"""What has nothing to do with a failure can be put in and taken out: it is still reproduced."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from bohrbug.api import explore
from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.reproduction import read_reproduction, reproduction_of
from bohrbug.platforms.threads.replaying import replay

UNRELATED = (
    "log.append(1)",
    "with own: pass",
    "other = 3 * 4",
    "shared.unused = 5",
    "for _ in range(3): shared.elsewhere",
    "# a comment",
    "time.sleep(0)",
)

PLACES = 8
"""Where something unrelated may stand in :func:`program`."""

FAILING = (
    ("value = shared.value", "shared.value = value + 1", "assert shared.value == 2"),
    ("if shared.free:", "    shared.free = False; shared.taken += 1", "assert shared.taken == 1"),
)


def program(core: tuple[str, str, str], put_in: list[list[str]]) -> str:
    """A test that fails if the second task runs between the two lines of the first one."""
    read, write, check = core
    inside = [f"{'    ' if read.startswith('if') else ''}{line}" for line in put_in[4]]
    body = [*put_in[3], read, *inside, write, *put_in[5]]
    main = [
        *put_in[1],
        "threads = [threading.Thread(target=work) for _ in range(2)]",
        *put_in[2],
        "for each in threads: each.start()",
        *put_in[6],
        "for each in threads: each.join()",
        *put_in[7],
        check,
    ]
    parts = [
        "import threading, time",
        *(line for line in put_in[0] if line.startswith(("#", "other"))),
        "class Shared:",
        "    unused = elsewhere = value = taken = 0",
        "    free = True",
        "def test():",
        "    shared, log, own = Shared(), [], threading.Lock()",
        "    def work():",
        textwrap.indent("\n".join(body), "        "),
        textwrap.indent("\n".join(main), "    "),
    ]
    return "\n".join(parts) + "\n"


def loaded(path: Path, source: str) -> Callable[[], object]:
    path.write_text(source, encoding="utf-8")
    namespace: dict[str, Any] = {"__name__": "edited_program"}
    exec(compile(source, str(path), "exec"), namespace)
    test = namespace["test"]
    assert callable(test)
    return test  # type: ignore[no-any-return]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(16))
def test_unrelated_edits_keep_a_failure(tmp_path: Path, seed: int) -> None:
    # Fixed seeds: each example runs in the state in which the one before left the process.
    random = Random(seed)
    core = random.choice(FAILING)
    before = [random.choices(UNRELATED, k=random.randrange(3)) for _ in range(PLACES)]
    after = list(before)
    after[random.randrange(PLACES)] = random.choices(UNRELATED, k=random.randrange(1, 4))
    folder = tmp_path
    source = folder / "program.py"
    options = {"strategy": "ipb", "scope": ("+edited_program",)}
    result = explore(loaded(source, program(core, before)), **options)  # type: ignore[arg-type]
    assert result.failures
    target = {"kind": "function", "name": "edited_program:test", "path": str(source)}
    options_object = ExploreOptions(**options)  # type: ignore[arg-type]
    path = reproduction_of(result.failures[0], target, "test", options_object).write(folder)
    test = loaded(source, program(core, after))

    replayed = replay(read_reproduction(path), test)

    assert replayed.reproduced == 1, replayed
    if before != after and replayed.edit is not None:
        assert replayed.edit.failure is not None
        reproduction_of(replayed.edit.failure, target, "test", options_object).write_to(path)
        again = replay(read_reproduction(path), test, times=3)
        assert again.reproduced == 3
        assert again.edit is None
