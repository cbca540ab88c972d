"""Figures of the POSIX runtime: ``python benchmarks/native/run.py``.

Everything is measured in one run and as the median of several; compare the figures with each
other, not with those of another machine.
"""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bohrbug.exploration.native_outcomes import Expectation, NativeExplainer
from bohrbug.model.plan import Plan, UniformRandom
from bohrbug.runtime.posix.build import compiler
from bohrbug.runtime.posix.engines import Engine
from bohrbug.runtime.posix.runtime import NativeRuntime, NativeSettings

HERE = Path(__file__).parent
PROGRAMS = HERE.parent.parent / "tests" / "native" / "programs"


def built(folder: Path, source: Path, *flags: str) -> Path:
    target = folder / source.stem
    cc = compiler()
    assert cc is not None
    words = [cc, "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-g", "-pthread", *flags]
    subprocess.run([*words, "-o", str(target), str(source)], check=True)
    return target


def runtime(words: list[str], **settings: object) -> NativeRuntime:
    return NativeRuntime(words, NativeSettings(**settings), NativeExplainer(Expectation()))  # type: ignore[arg-type]


def printed(words: list[str], steps: int) -> list[str]:
    """What the first execution prints, whose trace takes new memory, and what a later one does."""
    with runtime(words, max_steps=steps, after_release=False, engine="anew") as program:
        lines = []
        for _ in range(5):
            program.execute(Plan())
            lines.append(program.printed.stdout.decode().strip())
        return [lines[0], sorted(lines[1:], key=lambda line: float(line.split()[0]))[1]]


def executions_per_second(words: list[str], engine: str, times: int = 200) -> float:
    with runtime(words, engine=engine) as program:
        for _ in range(3):
            program.execute(Plan())
        assert program.engine.value == engine, program.engine_note
        rates = []
        for part in range(5):
            began = time.perf_counter()
            for seed in range(times // 5):
                program.execute(Plan((), UniformRandom(part * times + seed)))
            rates.append(times / 5 / (time.perf_counter() - began))
        return statistics.median(rates)


def explored_per_second(program: str, strategy: str, engine: str, executions: int = 2000) -> float:
    """Of a whole ``bohrbug run``, by what it says itself."""
    words = ["--strategy", strategy, "--executions", str(executions), "--engine", engine]
    rates = []
    for _ in range(5):
        done = subprocess.run(
            [sys.executable, "-m", "bohrbug", "run", *words, "--", program],
            capture_output=True,
            text=True,
            check=True,
            cwd=Path(program).parent,
        )
        found = re.search(r"\(([\d,]+) per\s+second\)", done.stdout)
        assert found is not None, done.stdout
        rates.append(float(found[1].replace(",", "")))
    return statistics.median(rates)


def natively_per_second(words: list[str], times: int = 100) -> float:
    rates = []
    for _ in range(5):
        began = time.perf_counter()
        for _ in range(times // 5):
            subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        rates.append(times / 5 / (time.perf_counter() - began))
    return statistics.median(rates)


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        points = built(folder, HERE / "points.c")
        for mode, rounds, words in (
            ("same", 400_000, "same thread goes on"),
            ("among", 400_000, "one of three goes on"),
            ("hand", 20_000, "other thread goes on"),
        ):
            command = [str(points), mode, str(rounds)]
            native = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            first, later = printed(command, 1_000_000)
            print(f"{words}, natively:        {native.strip()}")
            print(f"{words}, first execution: {first}")
            print(f"{words}, later execution: {later}")
        program = [str(built(folder, PROGRAMS / "lock_order.c", "-DFIXED"))]
        print(f"executions per second, natively:      {natively_per_second(program):,.0f}")
        for engine in Engine:
            rate = executions_per_second(program, engine.value)
            print(f"executions per second, {engine.value}: {rate:,.0f}")
        for strategy in ("random", "dfs"):
            for engine in (Engine.FORK_SERVER, Engine.SNAPSHOT):
                rate = explored_per_second(program[0], strategy, engine.value)
                words = f"bohrbug run --strategy {strategy} --engine {engine.value}"
                print(f"executions per second of {words}: {rate:,.0f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
