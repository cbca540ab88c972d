"""Measure Bohrbug, its peers and plain threads side by side on one machine.

Prints Markdown: executions per second of every tool, strategy and program,
the ratios, and what each tool says of the programs.  See README.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import environments
from environments import Environment, MeasurementFailedError
from figures import Series, markdown_table, rates_table, ratios, ratios_table
from peers import BOHRBUG, NATIVE, TOOLS, Finding
from programs import PROGRAMS, Program

JUDGING_SECONDS = 20.0
GRACE_SECONDS = 40.0
"""Time that a process gets on top of what it measures, before it is stopped."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What a tool said of a program, and whether that is right."""

    tool: str
    strategy: str
    program: str
    says: str
    right: str
    executions: int | None = None
    seconds: float | None = None
    detail: str = ""


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tool", action="append", choices=sorted(TOOLS), help="default: all")
    parser.add_argument("--program", action="append", choices=sorted(PROGRAMS), help="default: all")
    parser.add_argument("--strategy", action="append", help="default: all of each tool")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0, help="of each measurement")
    parser.add_argument("--quick", action="store_true", help="one repetition of 0.25 seconds")
    parser.add_argument("--no-verdicts", action="store_true", help="measure executions/s only")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all measurements")
    parser.add_argument(
        "--base-python",
        type=Path,
        default=Path(sys.executable),
        help="interpreter to make the environments from (the peers need 3.12 or newer)",
    )
    parser.add_argument(
        "--python",
        action="append",
        default=[],
        metavar="TOOL=PATH",
        help="an interpreter that has the tool, instead of an environment made here",
    )
    parser.add_argument("--cache", type=Path, default=environments.default_cache())
    arguments = parser.parse_args(argv)
    for given in arguments.python:
        if given.partition("=")[0] not in TOOLS:
            parser.error(f"--python {given}: not TOOL=PATH with one of {', '.join(TOOLS)}")
    if arguments.quick:
        arguments.repetitions, arguments.seconds = 1, 0.25
    return arguments


def prepare_environments(
    names: Sequence[str], given: Sequence[str], base_python: Path, cache: Path
) -> list[Environment]:
    """Return an environment for each tool: the given interpreter, or one made in ``cache``."""
    pythons = dict(each.split("=", 1) for each in given)
    return [
        Environment(TOOLS[name], Path(pythons[name]))
        if name in pythons
        else environments.prepare(TOOLS[name], base_python, cache)
        for name in names
    ]


def measure_rates(
    prepared: Sequence[Environment],
    programs: Sequence[Program],
    strategies: Sequence[str] | None,
    repetitions: int,
    seconds: float,
) -> tuple[list[Series], dict[str, str]]:
    """Measure executions per second, going round all tools in each repetition.

    So noise that lasts a while falls on all of them, and not on one.

    Returns:
        the series, and the version of each tool.
    """
    series = {
        (environment.tool.name, strategy, program.name): Series(
            environment.tool.name, strategy, program.name
        )
        for environment in prepared
        for strategy in environment.tool.strategies
        for program in programs
        if strategies is None or strategy in strategies or environment.tool is NATIVE
    }
    by_name = {environment.tool.name: environment for environment in prepared}
    versions: dict[str, str] = {}
    for repetition in range(repetitions):
        for program in programs:
            for (tool, strategy, program_name), measured in series.items():
                if program_name != program.name:
                    continue
                _progress(f"{repetition + 1}/{repetitions} {program.name} {tool} {strategy}")
                arguments = [program.name, strategy, f"--seconds={seconds}"]
                arguments.append(f"--seed={1000 * (repetition + 1)}")
                try:
                    result = environments.run(by_name[tool], arguments, seconds + GRACE_SECONDS)
                except MeasurementFailedError as problem:
                    measured.problems.append(str(problem))
                else:
                    measured.rates.append(result["rate"])
                    versions[tool] = result["version"]
    return list(series.values()), versions


def collect_verdicts(
    prepared: Sequence[Environment],
    programs: Sequence[Program],
    strategies: Sequence[str] | None,
) -> list[Judged]:
    """Ask each tool, with its own defaults, what it thinks of each program."""
    verdicts = []
    for environment in prepared:
        for strategy in environment.tool.strategies:
            if environment.tool is not NATIVE and strategies and strategy not in strategies:
                continue
            for program in programs:
                _progress(f"verdict: {program.name} {environment.tool.name} {strategy}")
                verdicts.append(_verdict(environment, strategy, program))
    return verdicts


def _verdict(environment: Environment, strategy: str, program: Program) -> Judged:
    key = (environment.tool.name, strategy, program.name)
    try:
        result = environments.run(
            environment,
            [program.name, strategy, "--judge", f"--seconds={JUDGING_SECONDS}"],
            JUDGING_SECONDS + GRACE_SECONDS,
        )
    except MeasurementFailedError as problem:
        return Judged(*key, says="error", right="-", detail=str(problem))
    finding = Finding(result["finding"])
    return Judged(
        *key,
        says=finding.value,
        right=rightness(finding, program),
        executions=result["executions"],
        seconds=result["seconds"],
        detail=result["detail"],
    )


def rightness(finding: Finding, program: Program) -> str:
    """Whether what a tool says of a program is true: ``yes``, ``no`` or ``missed``."""
    match finding:
        case Finding.FAILED:
            return "yes" if program.broken else "no"
        case Finding.HOLDS:
            return "no" if program.broken else "yes"
        case Finding.NOTHING_FOUND:
            return "missed" if program.broken else "yes"
        case Finding.INCONCLUSIVE:
            return "missed"


def verdicts_table(verdicts: Sequence[Judged]) -> str:
    """A row for each tool, strategy and program."""
    rows = [
        [
            verdict.program,
            verdict.tool,
            verdict.strategy,
            verdict.says,
            "-" if verdict.executions is None else str(verdict.executions),
            "-" if verdict.seconds is None else f"{verdict.seconds:.2f}",
            verdict.right,
            verdict.detail.replace("|", "/")[:60],
        ]
        for verdict in sorted(verdicts, key=lambda each: list(PROGRAMS).index(each.program))
    ]
    header = ["program", "tool", "strategy", "says", "executions", "seconds", "right", "detail"]
    return markdown_table(header, rows)


def conditions(arguments: argparse.Namespace, versions: dict[str, str]) -> dict[str, Any]:
    """What the figures depend on."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "system": platform.system(),
        "machine": platform.machine(),
        "processors": os.cpu_count(),
        "load": os.getloadavg() if hasattr(os, "getloadavg") else None,
        "repetitions": arguments.repetitions,
        "seconds": arguments.seconds,
        "versions": versions,
    }


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
    else:
        print(text, file=sys.stderr, flush=True)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the benchmark that the command line asks for."""
    arguments = _arguments(argv)
    names = arguments.tool or list(TOOLS)
    programs = [PROGRAMS[name] for name in arguments.program or PROGRAMS]
    prepared = prepare_environments(names, arguments.python, arguments.base_python, arguments.cache)
    series, versions = measure_rates(
        prepared, programs, arguments.strategy, arguments.repetitions, arguments.seconds
    )
    judged = (
        [] if arguments.no_verdicts else collect_verdicts(prepared, programs, arguments.strategy)
    )
    compared = ratios(series)
    where = conditions(arguments, versions)
    if arguments.json is not None:
        document = {
            "conditions": where,
            "series": [each.as_json() for each in series],
            "ratios": [
                {**{name: getattr(each, name) for name in each.__slots__}, "reached": each.reached}
                for each in compared
            ],
            "verdicts": [{name: getattr(each, name) for name in each.__slots__} for each in judged],
        }
        arguments.json.write_text(json.dumps(document, indent=2) + "\n")

    print(f"\n{json.dumps(where)}\n\n## Executions per second (medians)\n\n{rates_table(series)}")
    if BOHRBUG.name in names:
        print(f"\n## Ratios\n\n{ratios_table(compared)}")
    if judged:
        print(f"\n## Verdicts\n\n{verdicts_table(judged)}")
    problems = [each for each in series if each.problems]
    for each in problems:
        print(f"\n(!) {each.tool} {each.strategy} on {each.program}: {'; '.join(each.problems)}")


if __name__ == "__main__":
    main()
