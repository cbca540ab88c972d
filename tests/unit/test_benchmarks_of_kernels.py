"""The kernels of real bugs in ``benchmarks/kernels``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

KERNELS = Path(__file__).parent.parent.parent / "benchmarks" / "kernels"


def script(text: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", text], cwd=KERNELS, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_some_are_found_and_hold_when_mended() -> None:
    words = [
        "cockroach_584",
        "hugo_3251",
        "etcd_6857",
        "kubernetes_81091",
        "grpc_1460",
        "istio_8967",
    ]
    done = subprocess.run(
        [sys.executable, str(KERNELS / "run.py"), *words, "--runs", "1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "9 of 9 bugs found" in done.stdout
    assert "mended versions: 9 holds" in done.stdout
    assert "`async_tasks.etcd_6857` | async, channel | yes | deadlock" in done.stdout


def test_all_of_them_are_there() -> None:
    counts = script(
        "import run\n"
        "found = list(run.kernels([]))\n"
        "print(len(found), len({kernel.upstream for _, kernel in found}))\n"
        "for family, kernel in found:\n"
        "    assert kernel.upstream.replace('#', '_') == kernel.name, kernel\n"
        "    assert kernel.program.__doc__, kernel\n"
    )
    assert counts.split() == ["125", "101"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="runs with plain threads are forked")
def test_mended_ones_do_not_fail_with_plain_threads() -> None:
    failing = script(
        "import run\n"
        "from plain import runs_until_it_fails\n"
        "for family, kernel in run.kernels([]):\n"
        "    if runs_until_it_fails(kernel.fixed, 1, seconds=10) is not None:\n"
        "        print(family, kernel.name)\n"
    )
    assert failing == ""
