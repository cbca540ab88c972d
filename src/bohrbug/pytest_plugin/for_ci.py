"""What a session leaves for others to show: a SARIF log, and what GitHub Actions reads.

All is made of reproduction files, which workers of pytest-xdist write, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from bohrbug.exploration.reproduction import ReproductionError, read_reproduction
from bohrbug.exploration.verdicts import VerdictKind
from bohrbug.report.formats.github import annotated_lines, summary
from bohrbug.report.formats.sarif import sarif
from bohrbug.report.formats.told import Told


def told_of(files: Sequence[str], replay: Mapping[str, str]) -> list[Told]:
    """The failures in some reproduction files; those that are gone are left out.

    Parameters:
        files: the paths.
        replay: the command that replays each.
    """
    told = []
    for file in files:
        try:
            found = read_reproduction(Path(file))
        except ReproductionError:
            # Somebody has removed it meanwhile; the report of the failure was printed.
            continue
        told.append(Told(found.failure, found.test, replay.get(file, "")))
    return told


def write_sarif(path: Path, told: Sequence[Told], root: Path) -> None:
    """Write a SARIF log, also of no failures: that is what clears earlier ones.

    Raises:
        OSError: it can't be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(sarif(told, root), encoding="utf-8")


def for_github(
    told: Sequence[Told], verdicts: Mapping[str, int], root: Path, environ: Mapping[str, str]
) -> list[str]:
    """Tell GitHub Actions of a session, if that is where it runs.

    Parameters:
        told: the failures.
        verdicts: how many tests have got each verdict.
        root: of the repository.
        environ: the environment.

    Returns:
        Lines to print, which annotate the places of the failures.

    Raises:
        OSError: the summary of the job can't be written.
    """
    if environ.get("GITHUB_ACTIONS") != "true":
        return []
    target = environ.get("GITHUB_STEP_SUMMARY")
    if target:
        # What matters most comes first.
        in_order = {kind.value: verdicts.get(kind.value, 0) for kind in reversed(VerdictKind)}
        with Path(target).open("a", encoding="utf-8") as file:
            file.write(summary(told, in_order))
    return annotated_lines(told, root)
