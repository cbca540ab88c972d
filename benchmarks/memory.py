"""Whether memory stays flat: resident size of one long exploration, and its slope.

The resident size is read from outside, so that nothing is added to what is
explored.  Needs Linux's /proc.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import environments
from environments import Environment
from peers import BOHRBUG, TOOLS
from programs import PROGRAMS
from run import prepare_environments

MEBIBYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class Sample:
    """Resident size at a moment.

    Parameters:
        seconds: since the start of the process.
        resident: bytes.
    """

    seconds: float
    resident: int


def resident_bytes(process_id: int) -> int | None:
    """The resident size of a process in bytes; ``None`` once it is gone."""
    try:
        status = Path(f"/proc/{process_id}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    for line in status.splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return None


def slope(samples: Sequence[Sample]) -> float:
    """Bytes per second: least squares through the samples; 0 for fewer than two."""
    if len(samples) < 2:
        return 0.0
    mean_seconds = sum(sample.seconds for sample in samples) / len(samples)
    mean_resident = sum(sample.resident for sample in samples) / len(samples)
    covariance = sum(
        (sample.seconds - mean_seconds) * (sample.resident - mean_resident) for sample in samples
    )
    variance = sum((sample.seconds - mean_seconds) ** 2 for sample in samples)
    return covariance / variance


def watch(
    environment: Environment, program: str, strategy: str, executions: int, interval: float
) -> tuple[list[Sample], dict[str, float]]:
    """Explore in a process and sample its resident size every ``interval`` seconds.

    Returns:
        the samples, and what :mod:`measure` printed.

    Raises:
        subprocess.CalledProcessError: the exploration failed.
    """
    command = environment.command(program, strategy, f"--executions={executions}")
    process = subprocess.Popen(
        command, env=environment.variables(), stdout=subprocess.PIPE, text=True
    )
    samples = []
    started = time.perf_counter()
    while process.poll() is None:
        resident = resident_bytes(process.pid)
        if resident is not None:
            samples.append(Sample(time.perf_counter() - started, resident))
        time.sleep(interval)
    output, _ = process.communicate()
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, command)
    return samples, json.loads(output.strip().splitlines()[-1])


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    # A launcher may start the interpreter as its child, which would not be the one watched.
    watchable = sorted(name for name, tool in TOOLS.items() if tool.launcher is None)
    parser.add_argument("--tool", choices=watchable, default=BOHRBUG.name)
    parser.add_argument("--program", choices=sorted(PROGRAMS), default="producer-consumer")
    parser.add_argument(
        "--strategy", action="append", help="default: random and pct, which are never exhausted"
    )
    parser.add_argument("--executions", type=int, default=100_000)
    parser.add_argument("--interval", type=float, default=0.1, help="seconds between samples")
    parser.add_argument("--base-python", type=Path, default=Path(sys.executable))
    parser.add_argument("--python", action="append", default=[], metavar="TOOL=PATH")
    parser.add_argument("--cache", type=Path, default=environments.default_cache())
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> None:
    """Print size and slope for each strategy asked for."""
    arguments = _arguments(argv)
    [environment] = prepare_environments(
        [arguments.tool], arguments.python, arguments.base_python, arguments.cache
    )
    for strategy in arguments.strategy or ("random", "pct"):
        samples, measured = watch(
            environment, arguments.program, strategy, arguments.executions, arguments.interval
        )
        # Warming up (imports, pools, caches that fill once) is over by the middle.
        second_half = samples[len(samples) // 2 :]
        bytes_per_execution = slope(second_half) / measured["rate"]
        sizes = [sample.resident / MEBIBYTE for sample in samples] or [0.0]
        middle = sizes[len(sizes) // 2]
        print(
            f"{arguments.tool} {strategy} on {arguments.program}: "
            f"{measured['executions']:,.0f} executions in {measured['seconds']:.1f} s; "
            f"resident {middle:.1f} MiB in the middle, {sizes[-1]:.1f} at the end, "
            f"{max(sizes):.1f} at most; "
            f"slope of the second half {bytes_per_execution:+.2f} bytes per execution"
        )


if __name__ == "__main__":
    main()
