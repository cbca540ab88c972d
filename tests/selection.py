"""Which tests a run executes that is not told: a part of each that takes less than ten minutes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

FAST = {
    "unit": (
        *("aftermath", "aligned_policy", "alone", "checking", "decisions", "enabledness"),
        *("estimates", "filtering", "happens_before", "idents", "in_python", "machine"),
        *("minimisation", "mutants", "numbering", "orderings", "policies", "primitives"),
        *("races", "reads_from_draws", "recorded", "repeating", "restarts"),
        *("scheduled_accesses", "scheduling", "search_random", "search_systematic"),
        *("semaphores", "store", "verdicts", "wakeup_tree"),
    ),
    "property": ("deciders_by_definition",),
    "native": ("scheduling",),
}
"""By folder the files whose tests are marked ``fast``, but for those that are marked ``slow``.

They hold the rules of scheduling: nearly all mutants of tests/mutants.toml are killed by them.  All
of them together take less than 50 s of processor time.
"""

LONG = {
    "unit": (
        *("accelerator", "advancing", "api", "architecture", "backups"),
        *("benchmarks_of_kernels", "by_value", "byte_buffers", "cancelling", "children"),
        *("closer_look", "counting_callbacks", "derived_classes", "event_loops"),
        *("executor_steps", "fairness", "identities", "idling", "in_python", "io", "late_code"),
        *("message_resynchronising", "named_pipes", "passing_time", "primitives"),
        *("race_classes", "replaced_by_programs", "rewrite_semantics", "robustness"),
        *("sent_exceptions", "short_timeouts", "spinning", "stand_ins", "stepping", "threads"),
        *("tracers", "trio_reports", "trio_runs", "trusted_state", "trying_mutants", "turns"),
        *("verdicts", "watchdog"),
    ),
    "browser": (*("first_screen", "report_page"),),
    "conformance": (*("cpython",),),
    "end_to_end": (
        *("async_frameworks", "async_tests", "asyncio_errors", "command_line", "debugging"),
        *("documented_commands", "documented_outputs", "edited_programs", "editors", "export"),
        *("for_other_tools", "hangs", "html", "installed_messages", "live", "live_attached"),
        *("live_delayed", "live_native", "live_native_threads", "messages", "other_plugins"),
        *("pytest_fixtures", "pytest_options", "pytest_plugin", "races_over_awaits"),
        *("reports_of_connections", "resuming", "stepping", "unchanged", "unsupported_pythons"),
        *("workers",),
    ),
    "programs": (
        *("afresh", "ends_of_functions", "extension_classes", "given_back", "library_looks"),
        *("looks", "looks_at_errors", "looks_at_loops", "looks_at_memory", "methods_in_c"),
        *("programs", "search_suite", "sharing_code", "sharing_tasks", "unnamed_methods"),
        *("without_accelerator",),
    ),
    "native": (
        *("accesses", "before_main", "circles", "command_line", "descriptor_numbers"),
        *("engines", "faults", "gdb", "handed_over", "heap", "kernel_waits", "litmus", "looks"),
        *("misuse", "outcomes_against_model", "past_stores", "policies", "programs", "proxy"),
        *("sampled", "searches", "shared_state", "shim", "signal_handlers", "snapshots"),
        *("spurious_wakes", "stepping", "store_buffers", "timers", "watchpoints", "workers"),
    ),
    "property": (
        *("accelerator_equivalence", "auto_properties", "dividing", "edited_programs"),
        *("gil_strategies", "late_timeouts", "loops_against_brute_force", "loops_in_c"),
        *("orders_of_trio", "outcomes_against_real_threads", "tasks_apart"),
        *("threads_against_brute_force", "threads_partial_order_reduction"),
        *("workers_find_the_same", "yields"),
    ),
}
"""By folder the files whose tests take long, all of them together."""

EVERY = 8
"""Of the tests of such a file, one out of so many is in the default run."""

_FOLDER = Path(__file__).parent


def files_of(table: dict[str, tuple[str, ...]]) -> frozenset[Path]:
    """The files of :data:`FAST` or :data:`LONG`."""
    return frozenset(_FOLDER / name / f"test_{file}.py" for name in table for file in table[name])


def is_for_all(config: pytest.Config) -> bool:
    """Whether a run is one of all tests, or of folders of them, and nothing else selects some."""
    return not config.getoption("markexpr") and not any(".py" in arg for arg in config.args)


def in_default_run(items: list[pytest.Item]) -> Iterator[bool]:
    """For each test, whether the default run executes it.

    That leaves out what is marked ``slow``, and all but every :data:`EVERY`-th test of a file that
    takes long: each file is tried, and in tables of alike tests what stands apart.
    """
    long = files_of(LONG)
    counts = {path: count() for path in long}
    for item in items:
        if item.get_closest_marker("slow") is not None:
            yield False
        else:
            yield item.path not in long or next(counts[item.path]) % EVERY == 0
