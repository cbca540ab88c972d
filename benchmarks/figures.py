"""From raw measurements to medians, ratios and tables; pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from statistics import median

from peers import BOHRBUG, FRONTRUN, INTERLEAVE_TEST, NATIVE

TIMES_FRONTRUN = 50
TIMES_INTERLEAVE_TEST = 20
SHARE_OF_NATIVE = 0.5
"""What Bohrbug is to reach: so many times a peer's best strategy, and this part of native cost."""


@dataclass(slots=True)
class Series:
    """All measurements of one tool, strategy and program.

    Parameters:
        tool: name of the tool.
        strategy: name of its strategy.
        program: name of the program.
        rates: executions per second, one for each repetition that succeeded.
        problems: what went wrong in the others.
    """

    tool: str
    strategy: str
    program: str
    rates: list[float] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def rate(self) -> float | None:
        """The median of the executions per second; ``None`` when nothing succeeded."""
        return median(self.rates) if self.rates else None

    def as_json(self) -> dict[str, object]:
        """Everything, with the median, for the JSON output."""
        return {**asdict(self), "median": self.rate}


@dataclass(frozen=True, slots=True)
class Ratio:
    """How one of Bohrbug's strategies compares on one program.

    Parameters:
        program: name of the program.
        strategy: Bohrbug's strategy.
        rate: its executions per second.
        to_frontrun: times the rate of frontrun's fastest strategy here.
        to_interleave_test: times the rate of interleave-test's fastest strategy here.
        cost_to_native: seconds for an execution, as a part of those with plain threads.
    """

    program: str
    strategy: str
    rate: float
    to_frontrun: float | None
    to_interleave_test: float | None
    cost_to_native: float | None

    @property
    def reached(self) -> bool | None:
        """Whether all three figures are good enough; ``None`` when one is unknown."""
        if self.to_frontrun is None or self.to_interleave_test is None:
            return None
        if self.cost_to_native is None:
            return None
        return (
            self.to_frontrun >= TIMES_FRONTRUN
            and self.to_interleave_test >= TIMES_INTERLEAVE_TEST
            and self.cost_to_native <= SHARE_OF_NATIVE
        )


def best_rate(series: Iterable[Series], tool: str, program: str) -> float | None:
    """The highest median of a tool's strategies on a program."""
    rates = [
        each.rate
        for each in series
        if each.tool == tool and each.program == program and each.rate is not None
    ]
    return max(rates, default=None)


def ratios(series: Sequence[Series]) -> list[Ratio]:
    """Compare each of Bohrbug's series with the fastest of each peer."""
    compared = []
    for ours in series:
        if ours.tool != BOHRBUG.name or not ours.rate:
            continue
        frontrun = best_rate(series, FRONTRUN.name, ours.program)
        interleave_test = best_rate(series, INTERLEAVE_TEST.name, ours.program)
        native = best_rate(series, NATIVE.name, ours.program)
        compared.append(
            Ratio(
                program=ours.program,
                strategy=ours.strategy,
                rate=ours.rate,
                to_frontrun=ours.rate / frontrun if frontrun else None,
                to_interleave_test=ours.rate / interleave_test if interleave_test else None,
                cost_to_native=native / ours.rate if native else None,
            )
        )
    return compared


def rates_table(series: Sequence[Series]) -> str:
    """Executions per second: a row for each tool and strategy, a column for each program."""
    programs = list(dict.fromkeys(each.program for each in series))
    kinds = list(dict.fromkeys((each.tool, each.strategy) for each in series))
    by_key = {(each.tool, each.strategy, each.program): each for each in series}
    rows = [
        [tool, strategy]
        + [_rate_cell(by_key.get((tool, strategy, program))) for program in programs]
        for tool, strategy in kinds
    ]
    return markdown_table(["tool", "strategy", *programs], rows)


def ratios_table(compared: Sequence[Ratio]) -> str:
    """Bohrbug against the peers: a row for each program and strategy."""
    header = [
        "program",
        "strategy",
        "executions/s",
        f"x best of frontrun (>= {TIMES_FRONTRUN})",
        f"x best of interleave-test (>= {TIMES_INTERLEAVE_TEST})",
        f"cost / native cost (<= {SHARE_OF_NATIVE})",
        "reached",
    ]
    rows = [
        [
            ratio.program,
            ratio.strategy,
            f"{ratio.rate:,.0f}",
            _number(ratio.to_frontrun, 1),
            _number(ratio.to_interleave_test, 1),
            _number(ratio.cost_to_native, 2),
            {True: "yes", False: "no", None: "-"}[ratio.reached],
        ]
        for ratio in compared
    ]
    return markdown_table(header, rows)


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Lay out a Markdown table whose columns line up as plain text, too."""
    cells = [list(header), *(list(row) for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]

    def line(row: Sequence[str]) -> str:
        return (
            "| "
            + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            + " |"
        )

    ruler = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([line(cells[0]), ruler, *(line(row) for row in cells[1:])])


def _rate_cell(series: Series | None) -> str:
    if series is None:
        return "-"
    if series.rate is None:
        return series.problems[-1][:24] if series.problems else "-"
    text = f"{series.rate:,.0f}"
    return text + " (!)" if series.problems else text


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"
