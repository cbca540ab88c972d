"""The proxies of examples/native/proxy: five processes, curl and its libraries among them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from bohrbug.exploration.result import Result
from bohrbug.model.outcome import OutcomeKind
from tests.native.building import need_native
from tests.native.exploring import explored

SOURCES = Path(__file__).parents[2] / "examples" / "native" / "proxy"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need_native()
    if not shutil.which("curl") or not shutil.which("make"):
        pytest.skip("needs curl and make")
    folder = tmp_path_factory.mktemp("proxy")
    for source in SOURCES.iterdir():
        shutil.copy(source, folder)
    subprocess.run(["make", "-s"], cwd=folder, check=True)
    return folder


def requested_through(proxy: Path, executions: int, **options: object) -> Result:
    return explored(
        proxy.parent / "requests",
        str(proxy),
        executions=executions,
        seconds=None,
        timeouts="late",
        minimise=False,
        causes=0,
        **options,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("fault", "kind"),
    [("LOCK_ORDER", OutcomeKind.DEADLOCK), ("USE_AFTER_FREE", OutcomeKind.MISUSE)],
)
def test_a_fault_of_a_proxy_is_found(folder: Path, fault: str, kind: OutcomeKind) -> None:
    result = requested_through(folder / f"proxy-{fault}", 500)
    assert [failure.outcome.kind for failure in result.failures] == [kind], result.verdict


def test_a_connection_that_is_refused_is_not_made_good(folder: Path) -> None:
    result = requested_through(folder / "proxy", 20, faults=("connect",))
    (failure,) = result.failures
    assert len(failure.trace.faults()) == 1


def test_a_correct_proxy_is_left_in_peace(folder: Path) -> None:
    result = requested_through(folder / "proxy", 40)
    assert not result.failures, result.failures[0].outcome
    assert not result.diverged, result.verdict
