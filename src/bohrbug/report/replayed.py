"""What a replay gave, in words."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from bohrbug.exploration.alignment_diff import AlignmentDiff, Line
from bohrbug.exploration.replaying import Replay
from bohrbug.exploration.reproduction import Reproduction
from bohrbug.exploration.result import Failure
from bohrbug.paths import display_path
from bohrbug.report.headline import failure_headline
from bohrbug.report.wording import plural

MOST_LINES = 12
"""Lines of one kind that are told of one by one."""


def failure_replayed(reproduction: Reproduction, replayed: Replay) -> Failure:
    """The failure in the program of today, if it was edited, else that of the file."""
    edit = replayed.edit
    return reproduction.failure if edit is None or edit.failure is None else edit.failure


def replay_words(reproduction: Reproduction, replayed: Replay, updating: bool = False) -> str:
    """What a replay gave, and if the program was edited, what does not fit any more.

    Parameters:
        reproduction: from the file.
        replayed: what the replay gave.
        updating: the file is written anew, so that nobody need be told how to do that.
    """
    edit = replayed.edit
    if edit is None:
        return _tally(reproduction.failure, replayed)
    names = ", ".join(display_path(name) for name in edit.files)
    lines = [f"The program was edited: {names}", *_misfits(edit.misfits), ""]
    if edit.failure is not None:
        how = "after re-aligning" if edit.aligned else "with the schedule of the file"
        lines.append(f"{how}, the same failure: {_tally(edit.failure, replayed)}")
        path = reproduction.failure.reproduction
        if path is not None and not updating and replayed.reproduced == replayed.times:
            command = f"bohrbug replay {shlex.quote(display_path(str(path)))} --update"
            lines.append(f"write the new schedule over the file: {command}")
    elif replayed.passes:
        lines.append("the program was edited, and this schedule passes now")
        lines.append("other schedules may still fail: explore the test again")
    else:
        lines.append(
            f"the program was edited, and another failure happens: {_message(replayed)}; "
            "explore the test again"
        )
    return "\n".join(lines)


def _tally(failure: Failure, replayed: Replay) -> str:
    noun = "replay" if replayed.times == 1 else "replays"
    outcome = failure.outcome if replayed.reproduced else replayed.trace.outcome
    message = outcome.message or outcome.kind.value
    words = f"reproduced in {replayed.reproduced:,} of {replayed.times:,} {noun}: {message}"
    if replayed.left:
        words += f"\ninterrupted: {plural(replayed.left, 'more replay')} had been asked for"
    if replayed.difference is not None:
        words += f"\nthe first replay that differs: {replayed.difference}"
    if failure.happens_afresh is False and replayed.reproduced < replayed.times:
        words += "\nas when it was found: the failure needs what earlier executions leave behind"
    return words


def _message(replayed: Replay) -> str:
    return failure_headline(replayed.trace.outcome)


def _misfits(misfits: AlignmentDiff) -> Iterator[str]:
    yield f"{misfits.followed:,} of {plural(misfits.steps, 'recorded step')} followed"
    for line, now in misfits.changed[:MOST_LINES]:
        yield f"  changed {_place(line)}: {line.text}"
        yield f"       to {_place(now)}: {now.text}"
    yield from _more(len(misfits.changed), "changed")
    yield from _each("gone", misfits.gone)
    yield from _each("new", misfits.new)
    for line in misfits.points[:MOST_LINES]:
        yield f"  no longer a scheduling point, as the access is gone: {_place(line)}: {line.text}"
    yield from _more(len(misfits.points), "gone")
    for info in misfits.tasks_gone[:MOST_LINES]:
        yield f"  task {info.id} ({info.name}) is no longer started"
    for info in misfits.tasks_new[:MOST_LINES]:
        yield f"  task {info.id} ({info.name}) is new"
    late = misfits.late
    if late is not None:
        where = "" if late.line is None else f" at {_place(late.line)}: {late.line.text}"
        yield f"  not possible when it was due: task {late.task} to {late.kind}{where}"


def _each(word: str, lines: tuple[Line, ...]) -> Iterator[str]:
    for line in lines[:MOST_LINES]:
        yield f"  {word} {_place(line)}: {line.text} ({plural(line.steps, 'step')})"
    yield from _more(len(lines), word)


def _more(number: int, word: str) -> Iterator[str]:
    if number > MOST_LINES:
        yield f"  and {plural(number - MOST_LINES, 'more line')} {word}"


def _place(line: Line) -> str:
    return f"{display_path(line.site.filename)}:{line.site.line}"
