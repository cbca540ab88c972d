"""Explores broken programs, and replays each failure where nothing was executed before.

Reads the numbers of broken programs from the standard input, and writes a line for each failure:
the program and whether the failure happened again.  A process of its own, as only one with a
single thread can be forked.
"""

from __future__ import annotations

import os
import sys
import tempfile
from functools import partial

import bohrbug
from bohrbug.cli.exploring import is_reproduced
from bohrbug.exploration.clean_process import CleanProcess
from tests.programs.test_programs import BROKEN_BUDGET, broken_here


def main() -> None:
    """Judge the programs that are asked for."""
    programs = broken_here()
    told = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for line in sys.stdin:
            program = programs[int(line)]
            with CleanProcess(partial(is_reproduced, program)) as clean:
                result = bohrbug.explore(program, write=True, **BROKEN_BUDGET)
                for failure in result.reproducible:
                    assert failure.reproduction is not None
                    happens = clean.happens(failure.reproduction, 60)
                    print(program.__name__, happens, file=told, flush=True)
        os.chdir("/")


if __name__ == "__main__":
    main()
