"""Programs under ``--memory relaxed``: loads of atomics see what C11 allows, and nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from bohrbug.exploration.result import Result
from bohrbug.exploration.verdicts import VerdictKind
from bohrbug.model.operation import OLDER_VALUE
from bohrbug.runtime.posix.build import UnsupportedError
from tests.native import c11_machine
from tests.native.exploring import explored
from tests.native.test_command_line import bohrbug
from tests.native.test_litmus import matching, reached
from tests.thoroughness import examples

Build = Callable[..., Path]

HOOKED = ("-fsanitize=thread", "-O1", "-Wno-tsan")

LITMUS = {
    "SB": (("x=1.rlx y.rlx", "y=1.rlx x.rlx"), "0 0 ...", True),
    "SB+acq-rel": (("x=1.rel y.acq", "y=1.rel x.acq"), "0 0 ...", True),
    "SB+sc": (("x=1.sc y.sc", "y=1.sc x.sc"), "0 0 ...", False),
    "SB+fences": (("x=1.rlx fence.sc y.rlx", "y=1.rlx fence.sc x.rlx"), "0 0 ...", False),
    "SB+fence": (("x=1.rlx fence.sc y.rlx", "y=1.rlx x.rlx"), "0 0 ...", True),
    "SB+updates": (("x+1.rlx y+0.rlx", "y+1.rlx x+0.rlx"), "00 00 ...", False),
    "MP": (("x=1.rlx y=1.rlx", "y.rlx x.rlx"), " 10 ...", True),
    "MP+rel": (("x=1.rlx y=1.rel", "y.rlx x.rlx"), " 10 ...", True),
    "MP+acq": (("x=1.rlx y=1.rlx", "y.acq x.rlx"), " 10 ...", True),
    "MP+rel-acq": (("x=1.rlx y=1.rel", "y.acq x.rlx"), " 10 ...", False),
    "MP+fences": (("x=1.rlx fence.rel y=1.rlx", "y.rlx fence.acq x.rlx"), " 10 ...", False),
    "MP+update": (("x=1.rlx y=1.rel", "y+1.rlx", "y.acq x.rlx"), " 0|1 20 ...", False),
    "IRIW": (("x=1.rel", "y=1.rel", "x.acq y.acq", "y.acq x.acq"), "  10 10 ...", True),
    "IRIW+sc": (("x=1.sc", "y=1.sc", "x.sc y.sc", "y.sc x.sc"), "  10 10 ...", False),
    "WRC": (("x=1.rlx", "x.rlx y=1.rlx", "y.acq x.rlx"), " 1 10 ...", True),
    "WRC+rel-acq": (("x=1.rlx", "x.rlx y=1.rel", "y.acq x.rlx"), " 1 10 ...", False),
    "CoRR": (("x=1.rlx", "x.rlx x.rlx"), " 10 ...", False),
    "CoRW": (("x.rlx x=1.rlx", "x=2.rlx"), "2  2..", False),
    "R": (("x=1.rlx y=1.rlx", "y=2.rlx x.rlx"), " 0 .2.", True),
}
"""By herd's names: the threads, an outcome in the words of ``programs/memory_orders.c``, and
whether C11 allows it."""

NOT_SHOWN = {
    "LB": (("x.rlx y=1.rlx", "y.rlx x=1.rlx"), "1 1 ..."),
    "2+2W": (("x=1.rlx y=2.rlx", "y=1.rlx x=2.rlx"), "  11."),
    "S": (("x=2.rlx y=1.rlx", "y.rlx x=1.rlx"), " 1 2.."),
}
"""Those that C11 allows, but no execution one step after the other has."""


@pytest.mark.parametrize("name", LITMUS)
def test_the_machine_allows_what_the_literature_says(name: str) -> None:
    threads, outcome, allowed = LITMUS[name]
    assert bool(matching(outcome, set(c11_machine.outcomes(threads)))) is allowed


@pytest.mark.parametrize("name", [*LITMUS, *NOT_SHOWN])
def test_exactly_what_the_machine_allows_is_reached(native_build: Build, name: str) -> None:
    threads = {**LITMUS, **NOT_SHOWN}[name][0]
    program = native_build("memory_orders.c", *HOOKED)
    found, result = reached(program, threads, strategy="dpor", memory="relaxed")
    assert found == c11_machine.outcomes(threads)
    assert not result.diverged


@pytest.mark.parametrize("name", NOT_SHOWN)
def test_what_is_not_shown_is_what_the_documentation_says(name: str) -> None:
    threads, outcome = NOT_SHOWN[name]
    assert not matching(outcome, set(c11_machine.outcomes(threads)))


_ORDERS = {"=": ("rlx", "rel", "sc"), "": ("rlx", "acq", "sc"), "+": ("rlx", "acq", "rel", "sc")}
_WORDS = st.sampled_from(
    [
        *(f"{place}={value}.{order}" for place in "xy" for value in "12" for order in _ORDERS["="]),
        *(f"{place}.{order}" for place in "xy" for order in _ORDERS[""]),
        *(f"{place}+1.{order}" for place in "xy" for order in _ORDERS["+"]),
        *(f"fence.{order}" for order in ("acq", "rel", "sc", "sc")),
    ]
)


def _is_small(threads: list[list[str]]) -> bool:
    stores = [word for thread in threads for word in thread if word[1] in "=+"]
    on_each = max(sum(word[0] == place for word in stores) for place in "xy")
    return sum(map(len, threads)) <= 7 and on_each <= 4


@settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much],
)
@given(
    threads=st.lists(st.lists(_WORDS, min_size=1, max_size=4), min_size=2, max_size=3).filter(
        _is_small
    )
)
# A fence knows of a store through what another thread has seen.
@example(threads=[["x=1.rlx", "fence.sc", "y.rlx"], ["y=1.rlx", "fence.sc", "x.rlx"]])
@example(threads=[["fence.sc", "y=1.rel"], ["x=1.sc"], ["y.acq", "x.rlx"]])
@example(threads=[["x=1.rlx", "fence.sc"], ["fence.sc", "y=1.rel"], ["y.acq", "x.rlx"]])
@example(threads=[["x+1.rel", "x=2.rlx"], ["x.acq", "x.rlx", "x.rlx"]])
def test_exactly_what_the_machine_allows_of_random_programs(
    native_build: Build, threads: list[list[str]]
) -> None:
    texts = tuple(map(" ".join, threads))
    program = native_build("memory_orders.c", *HOOKED)
    found, result = reached(program, texts, strategy="dpor", memory="relaxed")
    assert found == c11_machine.outcomes(texts)
    assert not result.diverged


ALGORITHMS = [
    *("MESSAGE", "FENCED_MESSAGE", "DEKKER", "FENCED_DEKKER", "SEQLOCK", "DOUBLE_CHECKED"),
    *("SPIN_LOCK", "REFERENCES"),
]


def within(program: Path, memory: str = "relaxed", **options: object) -> Result:
    """What the default strategy gives in few executions."""
    return explored(program, memory=memory, **{"executions": 1_000, "causes": 0, **options})


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_orders_that_are_too_weak_are_found(native_build: Build, algorithm: str) -> None:
    program = native_build("weak_orders.c", *HOOKED, f"-D{algorithm}")
    assert not within(program, "sc").failures
    (failure,) = within(program).failures
    assert failure.trace.plan.conditions.memory == "relaxed"
    assert failure.confirmed == 3
    steps = failure.trace.faults()
    assert {failure.trace.operations[step].resource for step in steps} == {OLDER_VALUE}


@pytest.mark.parametrize("algorithm", [*ALGORITHMS, "SHARED_BY_MUTEX"])
def test_orders_that_are_strong_enough_hold(native_build: Build, algorithm: str) -> None:
    program = native_build("weak_orders.c", *HOOKED, f"-D{algorithm}", "-DFIXED")
    result = within(program, strategy="ipb", bound=1, executions=10_000)
    assert result.verdict.kind is VerdictKind.HOLDS_WITHIN_BOUND
    assert not result.verdict.caveats
    assert "memory as C11 has it" in str(result.verdict.conditions)


def test_older_values_that_a_failure_does_not_need_are_taken_away(native_build: Build) -> None:
    program = native_build("weak_orders.c", *HOOKED, "-DMESSAGE")
    for seed in range(8):
        (failure,) = within(program, strategy="random", seed=seed).failures
        assert len(failure.trace.faults()) == 1


def test_a_failure_reads_like_a_sentence_and_is_replayed_with_its_memory(
    native_build: Build, tmp_path: Path
) -> None:
    program = str(native_build("weak_orders.c", *HOOKED, "-DMESSAGE"))
    result = bohrbug(tmp_path, "run", "-q", "--memory=relaxed", "--", program)
    assert result.returncode == 1, result.stdout + result.stderr
    text = " ".join(result.stdout.split())
    assert re.search(
        r"It needs a load in task 0\.2 \(weak_orders\.c:\d+\) that does not see task 0\.1's "
        r"store to atomic x yet, as C11 allows with these memory orders\.",
        text,
    )
    (file,) = (tmp_path / ".bohrbug").glob("*.json")
    replayed = bohrbug(tmp_path, "replay", "--times", "5", str(file))
    assert "reproduced in 5 of 5 replays" in replayed.stdout
    saved = json.loads(file.read_text())
    saved["options"]["memory"] = "sc"
    file.write_text(json.dumps(saved))
    assert "reproduced in 0 of 5" in bohrbug(tmp_path, "replay", "--times", "5", str(file)).stdout


def test_programs_that_do_not_tell_of_their_atomics_are_refused(native_build: Build) -> None:
    with pytest.raises(UnsupportedError, match="compile it with -fsanitize=thread"):
        within(native_build("weak_orders.c", "-DMESSAGE"))
    program = native_build("weak_orders.c", *HOOKED, "-DMESSAGE")
    with pytest.raises(UnsupportedError, match="needs to see all accesses"):
        within(program, level="sync")


def test_with_several_processes_memory_is_sequentially_consistent(native_build: Build) -> None:
    result = within(native_build("weak_orders.c", *HOOKED, "-DMESSAGE", "-DPROCESSES"))
    assert not result.failures
    assert any("weak memory, which processes" in str(each) for each in result.verdict.caveats)
