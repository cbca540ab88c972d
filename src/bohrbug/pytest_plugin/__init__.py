"""Options and marker of the pytest plugin; the rest is loaded only with ``--bohrbug``."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bohrbug.pytest_plugin.live_options import add_live_options
from bohrbug.pytest_plugin.message_options import add_message_options
from bohrbug.settings import OF_PYTEST

if TYPE_CHECKING:
    import pytest

MARKER = (
    "bohrbug(strategy=..., executions=..., ...): options for exploring this test with --bohrbug; "
    "their names are those of bohrbug.explore"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of the command line and of the ini file."""
    group = parser.getgroup("bohrbug", "exploring interleavings (Bohrbug)")
    group.addoption(
        "--bohrbug",
        action="store_true",
        help="explore each test: execute it under one interleaving after another",
    )
    group.addoption(
        "--bohrbug-replay",
        metavar="FILE",
        help="replay the failure in a reproduction file, and run no other test",
    )
    group.addoption(
        "--bohrbug-times",
        metavar="N",
        type=int,
        default=1,
        help="with --bohrbug-replay: replay so many times",
    )
    group.addoption(
        "--bohrbug-debugpy",
        metavar="[HOST:]PORT",
        help="with --bohrbug-replay: wait there for an editor to attach, and stop where it matters",
    )
    group.addoption(
        "--bohrbug-html",
        metavar="DIR",
        help="write an HTML report to DIR: an index of all tests, and a page for each that failed",
    )
    add_message_options(group)
    add_live_options(group)
    group.addoption(
        "--bohrbug-forget",
        action="store_true",
        help="forget the failing schedules that are remembered of the tests of this run",
    )
    group.addoption(
        "--bohrbug-sarif",
        metavar="FILE",
        help="write the failures as a SARIF log, for code scanning and editors",
    )
    group.addoption(
        "--bohrbug-no-memory",
        action="store_true",
        help="neither use what earlier runs remembered (failing schedules, tests that held) nor"
        " remember anything of this one",
    )
    group.addoption(
        "--bohrbug-again",
        action="store_true",
        help="explore tests again that held in an earlier run and have not changed since",
    )
    group.addoption(
        "--bohrbug-budget",
        metavar="TIME",
        help="the time that the whole session may take, such as 90s, 10m or 1h30m: it is shared out"
        " among the tests, and those after its end run once, as always",
    )
    parser.addini(
        "bohrbug_memory", "Remember failing schedules and what held.", type="bool", default=True
    )
    parser.addini("bohrbug_budget", "The time that the whole session may take, such as 10m.")
    for option in OF_PYTEST:
        name = f"bohrbug_{option.name}"
        if option.type is bool:
            group.addoption(
                f"--bohrbug-{option.flag}",
                dest=name,
                action="store_const",
                const="true",
                help=option.help,
            )
            group.addoption(
                f"--bohrbug-no-{option.flag}",
                dest=name,
                action="store_const",
                const="false",
                help=f"The opposite of --bohrbug-{option.flag}.",
            )
        else:
            group.addoption(
                f"--bohrbug-{option.flag}",
                dest=name,
                metavar=option.metavar,
                action="append" if option.type is tuple else "store",
                help=option.help,
            )
        parser.addini(name, option.help)


def pytest_configure(config: pytest.Config) -> None:
    """Take control early, before test modules are imported; or do nothing."""
    config.addinivalue_line("markers", MARKER)
    if any(config.getoption(name) for name in ("bohrbug", "bohrbug_replay", "bohrbug_live")):
        _leave_our_asserts_alone(config)
        with _without_collections():
            from bohrbug.pytest_plugin.plugin import register

            register(config)
    if config.getoption("bohrbug_record") or config.getoption("bohrbug_replay_messages"):
        _leave_our_asserts_alone(config)
        from bohrbug.pytest_plugin.messages import register as register_messages

        register_messages(config)


@contextmanager
def _without_collections() -> Generator[None]:
    """What explores is loaded without garbage collections: all that it makes stays."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _leave_our_asserts_alone(config: pytest.Config) -> None:
    """Take back that pytest rewrites the assertions of plugins: there are a hundred modules."""
    hook = config.pluginmanager.rewrite_hook
    for names in (
        getattr(hook, "_must_rewrite", None),
        getattr(hook, "_marked_for_rewrite_cache", None),
    ):
        if isinstance(names, set):
            names.discard("bohrbug")
        elif isinstance(names, dict):
            names.clear()
