"""The tools that are measured: Bohrbug, its peers, and plain threads.

Nothing here imports a tool: each lives in an environment of its own, where
:mod:`measure` loads its adapter.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from programs import Program


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool, where to get it and what it can be asked to do.

    Parameters:
        name: how the command line and the tables call it.
        adapter: the module with its adapter.
        strategies: the names of its strategies, its default first.
        requirement: what pip installs; ``None`` for nothing.
        launcher: the command of its environment that it has to be run by.
    """

    name: str
    adapter: str
    strategies: tuple[str, ...]
    requirement: str | None = None
    launcher: str | None = None


NATIVE = Tool("native", "peers.native", ("threads",))
BOHRBUG = Tool("bohrbug", "peers.bohrbug", ("default", "dfs", "ipb", "random", "pct"))
FRONTRUN = Tool(
    "frontrun",
    "peers.frontrun",
    ("dpor", "dpor-bit-reversal", "dpor-unbounded", "random"),
    "frontrun==0.7.0",
    launcher="frontrun",
)
INTERLEAVE_TEST = Tool(
    "interleave-test",
    "peers.interleave_test",
    ("random", "pct", "dfs"),
    "interleave-test==0.1.0",
)

TOOLS: dict[str, Tool] = {tool.name: tool for tool in (NATIVE, BOHRBUG, FRONTRUN, INTERLEAVE_TEST)}


@dataclass(frozen=True, slots=True)
class Batch:
    """What one call of a tool did.

    Parameters:
        executions: executions made.
        failed: it found a failure.
    """

    executions: int
    failed: bool = False


class Finding(StrEnum):
    """What a tool says of a test."""

    FAILED = "failed"
    HOLDS = "holds"
    NOTHING_FOUND = "nothing found"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a tool, with its own defaults, says of a program.

    Parameters:
        finding: what it says.
        executions: after how many executions.
        detail: the first line of its message.
    """

    finding: Finding
    executions: int
    detail: str = ""


class Adapter(Protocol):
    """How :mod:`measure` talks to a tool; each adapter module defines the same names."""

    def version(self) -> str:
        """The installed version."""
        ...

    def explore(
        self, program: Program, strategy: str, executions: int, seed: int, seconds: float
    ) -> Batch:
        """Explore ``program``, accepting whatever it returns.

        Parameters:
            program: what to explore.
            strategy: one of the tool's.
            executions: at most so many.
            seed: for strategies that have one.
            seconds: a limit on the wall time, for a tool that takes one.
        """
        ...

    def judge(self, program: Program, strategy: str, seconds: float) -> Judgement:
        """Explore ``program`` as a test, with the tool's own budget, to the first failure.

        Parameters:
            program: what to judge.
            strategy: one of the tool's.
            seconds: a limit on the wall time, for a tool that takes one.
        """
        ...
