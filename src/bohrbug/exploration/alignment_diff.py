"""What of a recorded execution does not fit the program of today."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bohrbug.exploration.program_text import FileText, PointText
from bohrbug.exploration.realignment import Alignment, Marks
from bohrbug.model.conditions import PlaceKey
from bohrbug.model.following import followed, tasks_followed
from bohrbug.model.operation import Site, TaskId
from bohrbug.model.outcome import TaskInfo
from bohrbug.model.plan import Aligned
from bohrbug.model.site import site_of
from bohrbug.model.trace import Trace


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the program.

    Parameters:
        site: where it stands, in the recorded program or in that of today.
        text: the line, without indentation.
        steps: how many steps there were at it.
    """

    site: Site
    text: str
    steps: int = 0


@dataclass(frozen=True, slots=True)
class Late:
    """A step that could not be done when it was due, so that another one came before it.

    Parameters:
        task: who should have done it, by its recorded id.
        kind: the kind of operation.
        line: where, in the program of today; ``None`` if that is not known.
    """

    task: TaskId
    kind: str
    line: Line | None


@dataclass(frozen=True, slots=True)
class AlignmentDiff:
    """What of a recorded execution does not fit an execution of the program of today.

    Parameters:
        steps: how many steps were recorded, data choices left out.
        followed: how many of them the execution did as well.
        late: the first step that could not be done in the recorded order, or ``None``.
        gone: recorded lines that are gone, with their steps.
        changed: pairs of a recorded line and what it is now, where there were steps.
        new: lines that were put in and at which the execution did something.
        points: data accesses that were scheduling points and are gone.
        tasks_gone: recorded tasks that do not exist any more.
        tasks_new: tasks that did not exist.
    """

    steps: int
    followed: int
    late: Late | None = None
    gone: tuple[Line, ...] = ()
    changed: tuple[tuple[Line, Line], ...] = ()
    new: tuple[Line, ...] = ()
    points: tuple[Line, ...] = ()
    tasks_gone: tuple[TaskInfo, ...] = ()
    tasks_new: tuple[TaskInfo, ...] = ()


def alignment_diff_of(
    recorded: Trace,
    marks: Marks,
    policy: Aligned,
    trace: Trace,
    alignment: Alignment,
    texts: Mapping[str, FileText],
    points: Sequence[tuple[PlaceKey, PointText]],
) -> AlignmentDiff:
    """Compare a recorded execution with one that was to follow it.

    Parameters:
        recorded: the execution in the file.
        marks: its steps in the program of today.
        policy: the form of ``marks`` that was followed.
        trace: the execution that followed it.
        alignment: where the recorded lines are now.
        texts: the recorded text of the program.
        points: the data accesses that are gone.
    """
    order = list(followed(policy, trace))
    done = {index for index in order if index is not None}
    tasks = tasks_followed(policy, trace)
    stood_for = set(tasks.values())
    return AlignmentDiff(
        len(recorded) - len(recorded.arities),
        len(done),
        _late(policy, order, alignment),
        _gone(recorded, marks, texts),
        _changed(recorded, alignment, texts),
        _new(trace, order, alignment),
        tuple(
            {
                (site.filename, site.line): Line(site, _text(texts, site))
                for (filename, function, *_), text in points
                for site in [Site(filename, text.line, function, text.column)]
            }.values()
        ),
        tuple(
            info
            for info in recorded.task_infos.values()
            if info.id not in stood_for and "." in info.id
        ),
        tuple(info for info in trace.task_infos.values() if info.id not in tasks),
    )


def _text(texts: Mapping[str, FileText], site: Site) -> str:
    file = texts.get(site.filename)
    return "" if file is None else file.lines.get(site.line, "").strip()


def _text_now(alignment: Alignment, site: Site) -> str:
    file = alignment.files.get(site.filename)
    return "" if file is None else file.new.get(site.line, "").strip()


def _late(policy: Aligned, order: list[int | None], alignment: Alignment) -> Late | None:
    done = [index for index in order if index is not None]
    for due, index in zip(sorted(done), done, strict=True):
        if due != index:
            mark = policy.marks[due]
            line = None
            if mark.site is not None:
                line = Line(mark.site, _text_now(alignment, mark.site))
            return Late(mark.task, mark.kind, line)
    return None


def _gone(recorded: Trace, marks: Marks, texts: Mapping[str, FileText]) -> tuple[Line, ...]:
    steps: Counter[Site] = Counter()
    for step in marks.lost:
        site = site_of(recorded.operations[step].place)
        if site is not None:
            steps[site._replace(column=0)] += 1
    return tuple(Line(site, _text(texts, site), count) for site, count in steps.items())


def _changed(
    recorded: Trace, alignment: Alignment, texts: Mapping[str, FileText]
) -> tuple[tuple[Line, Line], ...]:
    steps: Counter[Site] = Counter()
    for operation in recorded.operations:
        site = site_of(operation.place)
        if site is not None:
            steps[site._replace(column=0)] += 1
    found = []
    for site, count in steps.items():
        now = alignment.site(site)
        if now is None or site.filename not in alignment.files:
            continue
        before, after = _text(texts, site), _text_now(alignment, now)
        if before != after:
            found.append((Line(site, before, count), Line(now, after)))
    return tuple(found)


def _new(trace: Trace, order: list[int | None], alignment: Alignment) -> tuple[Line, ...]:
    steps: Counter[Site] = Counter()
    for index, operation in zip(order, trace.operations, strict=True):
        if index is not None:
            continue
        site = site_of(operation.place)
        if site is not None and alignment.recorded_line(site) is None:
            steps[site._replace(column=0)] += 1
    return tuple(Line(site, _text_now(alignment, site), count) for site, count in steps.items())
