"""The shim by itself: how it is built, and its side of the shared segment."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from bohrbug.runtime.posix import (
    accesses_layout,
    build,
    enumerations,
    layout,
    live_layout,
    standstill,
)
from bohrbug.runtime.posix.build import PACKAGE, SOURCES, UnsupportedError, compile_shim
from tests.native.building import need_native
from tests.native.layouts import layouts_on_both_sides

STRUCTURES = {
    "task": layout.TaskRecord,
    "resource": layout.ResourceRecord,
    "holder": layout.HolderRecord,
    "process": layout.ProcessRecord,
    "module": layout.ModuleRecord,
    "tables": layout.Tables,
    "name_in_plan": layout.NameRecord,
    "policy_state": layout.PolicyState,
    "policy_task": layout.PolicyTask,
    "step": layout.StepRecord,
    "point": layout.PointRecord,
    "event_of_plan": layout.EventRecord,
    "pair_of_plan": layout.PairRecord,
    "segment_of_plan": layout.SegmentRecord,
    "header": layout.Header,
    "access_point": accesses_layout.PointRecord,
    "point_module": accesses_layout.PointModuleRecord,
    "seen_race": accesses_layout.RaceRecord,
    "place_in_process": accesses_layout.PlaceRecord,
    "witness": accesses_layout.WitnessRecord,
    "watchpoint": accesses_layout.WatchpointRecord,
    "sampled_place": accesses_layout.SampledRecord,
    "fragment_report": live_layout.FragmentRecord,
    "live": live_layout.LiveRecord,
    "task_order": accesses_layout.TaskOrderRecord,
    "accesses": accesses_layout.AccessesRecord,
}


@pytest.fixture(autouse=True)
def _native() -> None:
    need_native()


@pytest.mark.slow
def test_the_shim_compiles_without_a_warning(tmp_path: Path) -> None:
    # Optimised, as some warnings need that, but nobody will debug it.
    flags = ("-Werror", "-g0")
    compile_shim(tmp_path / "shim.so", flags)
    build.HOOKS_LIBRARY.compile(tmp_path / "hooks.so", flags)
    build.ALLOCATIONS_LIBRARY.compile(tmp_path / "allocations.so", flags)
    build.DELAYS_LIBRARY.compile(tmp_path / "delays.so", flags)


def test_the_layout_is_the_same_on_both_sides(tmp_path: Path) -> None:
    headers, folders = ["accesses.h", "live.h"], [SOURCES, PACKAGE]
    in_c, in_python = layouts_on_both_sides(tmp_path, STRUCTURES, headers, folders)
    assert in_c == in_python


def enumerators(name: str) -> list[str]:
    text = (SOURCES / "segment.h").read_text()
    match = re.search(rf"enum {name} {{(.*?)}};", text, re.DOTALL)
    assert match is not None
    body = re.sub(r"/\*.*?\*/", "", match[1], flags=re.DOTALL)
    return [word.strip() for word in body.split(",") if word.strip()]


def test_kinds_have_the_same_order_on_both_sides() -> None:
    assert [kind.name.upper() for kind in enumerations.KINDS] == enumerators("kind")


def test_faults_are_the_same_on_both_sides() -> None:
    table = re.findall(r"F\((\w+), \w+, (\w+)\)", (SOURCES / "faults.h").read_text())
    assert table == list(enumerations.FAULTS.items())


def test_types_have_the_same_number_on_both_sides() -> None:
    assert len(enumerations.TYPES) == len(enumerators("type"))


def test_endings_have_the_same_order_on_both_sides() -> None:
    for value, name in enumerate(enumerators("ending")):
        assert getattr(enumerations, name) == value


def test_policies_have_the_same_order_on_both_sides() -> None:
    for value, name in enumerate(enumerators("policy")):
        assert getattr(enumerations, name) == value


def test_flags_are_the_same_bits_on_both_sides() -> None:
    for definition in enumerators("step_flag"):
        name, _, value = definition.partition(" = ")
        assert getattr(enumerations, name) == int(value)


def test_the_nudge_is_the_same_signal_on_both_sides() -> None:
    match = re.search(r"#define NUDGE (\d+)", (SOURCES / "signals.h").read_text())
    assert match is not None
    assert int(match[1]) == standstill.NUDGE


def test_every_function_of_the_table_has_a_wrapper() -> None:
    table = (SOURCES / "functions.h").read_text()
    names = re.findall(r"\bF\((\w+)\)", table)
    assert len(names) == len(set(names))
    library = build.shim()
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", str(library)], capture_output=True, text=True, check=True
    ).stdout
    exported = {line.split()[-1] for line in listed.splitlines()}
    # Places for breakpoints.
    exported -= {"bohrbug_hands_over", "bohrbug_ends"}
    # Called by wrappers of others, or looked up for their sake.
    missing = set(names) - exported - {"pthread_mutex_consistent"}
    # Of newer C libraries.
    newer = set(
        re.findall(r"define OF_2_38\(F\) (.+)", table)[0].replace("F(", "").replace(")", "").split()
    )
    assert missing in (set(), newer)
    of_glib = set(re.findall(r"\bg_\w+", (SOURCES / "glib.c").read_text()))
    assert of_glib < exported
    # Other libraries call them.
    assert exported - set(names) - of_glib == {
        "bohrbug_take_hooks",
        "bohrbug_allocation_fails",
        "bohrbug_frees_kept",
        "bohrbug_keep",
        "bohrbug_reuse",
        # Of the library for C++, which is not in every program.
        *(f"__cxa_guard_{name}" for name in ("acquire", "release", "abort")),
    }


def test_without_a_compiler_the_message_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(build, "compiler", lambda: None)
    with pytest.raises(UnsupportedError, match="install gcc or clang"):
        compile_shim(tmp_path / "shim.so")


def test_elsewhere_than_on_linux_the_message_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build.sys, "platform", "darwin")
    with pytest.raises(UnsupportedError, match="Linux only"):
        build.shim.__wrapped__()
