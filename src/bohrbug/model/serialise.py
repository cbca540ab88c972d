"""The JSON form of plans and traces; ``docs/reference/file-format.md`` describes it.

Functions to and from plain dicts, lists, strings and numbers; writing files is
left to the caller.  What repeats in a trace (operations, sites, option sets)
is written once, in a table, and referred to by its index; columns with one
entry per step are run-length encoded.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Generic, TypeVar

from bohrbug.model.json_checks import (
    VERSION,
    FileFormatError,
    Json,
    UnknownVersionError,
    a_bool,
    a_choice,
    a_count,
    a_list,
    a_number,
    a_row,
    a_string,
    an_int,
    an_object,
    field_of,
    from_run_lengths,
    header_of,
    optional,
    reading,
    run_lengths,
    strings,
)
from bohrbug.model.operation import KINDS, Operation, Resource, Site
from bohrbug.model.outcome import (
    Abandoned,
    Access,
    BlockedTask,
    Divergence,
    Frame,
    Grouped,
    Held,
    Outcome,
    OutcomeKind,
    Race,
    RacePattern,
    StaleRead,
    TaskInfo,
    Uncontrolled,
)
from bohrbug.model.plan_json import plan_from_json, plan_to_json
from bohrbug.model.site import site_of
from bohrbug.model.trace import Trace

__all__ = [
    "FileFormatError",
    "UnknownVersionError",
    "plan_from_json",
    "plan_to_json",
    "run_lengths",
    "trace_from_json",
    "trace_to_json",
]

TRACE_FORMAT = "bohrbug-trace"

T = TypeVar("T")
H = TypeVar("H", bound=Hashable)


# --------------------------------------------------------------------- tables


class _Table(Generic[H]):
    """Rows that are written once and referred to by index."""

    def __init__(self, write: Callable[[H], Json]) -> None:
        self.rows: list[Json] = []
        self._indices: dict[H, int] = {}
        self._write = write

    def index(self, value: H) -> int:
        index = self._indices.get(value)
        if index is None:
            row = self._write(value)
            index = self._indices[value] = len(self.rows)
            self.rows.append(row)
        return index


class _Writer:
    """Turns the parts of a trace into JSON, filling the tables on the way."""

    def __init__(self) -> None:
        self.sites: _Table[Site] = _Table(list)
        self.operations: _Table[Operation] = _Table(
            lambda op: [op.kind.name, op.resource, self.site(site_of(op.place))]
        )
        self.options: _Table[tuple[str, ...]] = _Table(list)

    def site(self, site: Site | None) -> int | None:
        return None if site is None else self.sites.index(site)

    def operation(self, operation: Operation) -> int:
        return self.operations.index(operation)

    def frames(self, frames: tuple[Frame, ...]) -> Json:
        return [[self.site(frame.site), frame.text] for frame in frames]

    def holding(self, holding: tuple[Held, ...]) -> Json:
        return [[held.resource, self.site(held.acquired)] for held in holding]

    def access(self, access: Access) -> Json:
        return {
            "task": access.task,
            "operation": self.operation(access.operation),
            "stack": self.frames(access.stack),
            "holding": self.holding(access.holding),
            "step": access.step,
        }

    def race(self, race: Race) -> Json:
        return {
            "resource": race.resource,
            "label": race.label,
            "first": self.access(race.first),
            "second": self.access(race.second),
            "count": race.count,
            "pattern": race.pattern.value,
            "triangular": race.is_triangular,
            "allocated": self.site(race.allocated),
            "may_be_atomic": race.may_be_atomic,
            "stale": None if race.stale is None else self.stale(race.stale),
        }

    def stale(self, stale: StaleRead) -> Json:
        return {
            "access": self.access(stale.access),
            "awaited": self.site(stale.awaited),
            "reader": stale.reader,
            "other": stale.other,
        }

    def blocked(self, blocked: BlockedTask) -> Json:
        return {
            "task": blocked.task,
            "operation": self.operation(blocked.operation),
            "holders": list(blocked.holders),
            "holding": self.holding(blocked.holding),
            "stack": self.frames(blocked.stack),
            "daemon": blocked.daemon,
            "since": blocked.since,
            "abandoned": None
            if blocked.abandoned is None
            else [blocked.abandoned.task, self.site(blocked.abandoned.acquired)],
        }

    def outcome(self, outcome: Outcome) -> Json:
        return {
            "kind": outcome.kind.value,
            "message": outcome.message,
            "task": outcome.task,
            "exception": outcome.exception,
            "stack": self.frames(outcome.stack),
            "traceback": outcome.traceback,
            "blocked": [self.blocked(blocked) for blocked in outcome.blocked],
            "cycle": list(outcome.cycle),
            "repeating": list(outcome.repeating),
            "race": None if outcome.race is None else self.race(outcome.race),
            "grouped": [[each.exception, self.frames(each.stack)] for each in outcome.grouped],
        }

    def task_info(self, info: TaskInfo) -> Json:
        return [info.id, info.name, info.target, info.daemon, self.site(info.spawned)]

    def resource(self, resource: Resource) -> Json:
        return [resource.id, resource.type, resource.label, self.site(resource.created)]


def _pattern(value: Json) -> RacePattern:
    """What a race looks like; a newer Bohrbug may know more patterns than this one."""
    try:
        return RacePattern(value)
    except ValueError:
        return RacePattern.UNCLASSIFIED


class _Reader:
    """Turns JSON into the parts of a trace, looking up what it refers to."""

    def __init__(self, data: dict[str, Json]) -> None:
        self.sites = [
            Site(*a_row(row, "sites", a_string, an_int, a_string, an_int))
            for row in a_list(field_of(data, "sites", TRACE_FORMAT), "sites")
        ]
        self.operations = [
            self._operation(row)
            for row in a_list(field_of(data, "operation_table", TRACE_FORMAT), "operation_table")
        ]
        self.options = [
            strings(row, "option_table")
            for row in a_list(field_of(data, "option_table", TRACE_FORMAT), "option_table")
        ]

    def _operation(self, row: Json) -> Operation:
        name, resource, site = a_row(row, "operation_table", a_string, a_string, self.site)
        if name not in KINDS:
            raise FileFormatError(
                f"operation_table: the kind of operation {name!r} is not known to this"
                " Bohrbug; it may be of a newer one: upgrade"
            )
        return Operation(KINDS[name], resource, site)

    def _looked_up(self, table: Sequence[T], value: Json, where: str) -> T:
        index = a_count(value, where)
        if index >= len(table):
            raise FileFormatError(f"{where}: there is no entry {index} in a table of {len(table)}")
        return table[index]

    def site(self, value: Json, where: str) -> Site | None:
        return None if value is None else self._looked_up(self.sites, value, where)

    def operation(self, value: Json, where: str) -> Operation:
        return self._looked_up(self.operations, value, where)

    def option_set(self, value: Json, where: str) -> tuple[str, ...]:
        return self._looked_up(self.options, value, where)

    def frames(self, value: Json, where: str) -> tuple[Frame, ...]:
        frames = []
        for row in a_list(value, where):
            site, text = a_row(row, where, self.site, a_string)
            if site is None:
                raise FileFormatError(f"{where}: a frame needs a site")
            frames.append(Frame(site, text))
        return tuple(frames)

    def holding(self, value: Json, where: str) -> tuple[Held, ...]:
        return tuple(Held(*a_row(row, where, a_string, self.site)) for row in a_list(value, where))

    def abandoned(self, value: Json, where: str) -> Abandoned:
        return Abandoned(*a_row(value, where, a_string, self.site))

    def access(self, value: Json, where: str) -> Access:
        data = an_object(value, where)
        return Access(
            task=a_string(field_of(data, "task", where), where),
            operation=self.operation(field_of(data, "operation", where), where),
            stack=self.frames(field_of(data, "stack", where), where),
            holding=self.holding(field_of(data, "holding", where), where),
            step=optional(data.get("step"), f"{where} step", a_count),
        )

    def race(self, value: Json, where: str) -> Race:
        data = an_object(value, where)
        return Race(
            resource=a_string(field_of(data, "resource", where), where),
            label=a_string(field_of(data, "label", where), where),
            first=self.access(field_of(data, "first", where), f"{where} first"),
            second=self.access(field_of(data, "second", where), f"{where} second"),
            count=a_count(field_of(data, "count", where), where),
            pattern=_pattern(data.get("pattern", RacePattern.UNCLASSIFIED.value)),
            is_triangular=optional(data.get("triangular"), f"{where} triangular", a_bool),
            allocated=self.site(data.get("allocated"), f"{where} allocated"),
            may_be_atomic=a_bool(data.get("may_be_atomic", False), f"{where} may_be_atomic"),
            stale=optional(data.get("stale"), f"{where} stale", self.stale),
        )

    def stale(self, value: Json, where: str) -> StaleRead:
        data = an_object(value, where)
        return StaleRead(
            access=self.access(field_of(data, "access", where), f"{where} access"),
            awaited=self.site(data.get("awaited"), f"{where} awaited"),
            reader=a_string(data.get("reader", ""), f"{where} reader"),
            other=a_string(data.get("other", ""), f"{where} other"),
        )

    def blocked(self, value: Json, where: str) -> BlockedTask:
        data = an_object(value, where)
        return BlockedTask(
            task=a_string(field_of(data, "task", where), where),
            operation=self.operation(field_of(data, "operation", where), where),
            holders=strings(field_of(data, "holders", where), where),
            holding=self.holding(field_of(data, "holding", where), where),
            stack=self.frames(field_of(data, "stack", where), where),
            daemon=a_bool(field_of(data, "daemon", where), where),
            since=an_int(field_of(data, "since", where), where),
            abandoned=optional(data.get("abandoned"), where, self.abandoned),
        )

    def outcome(self, value: Json) -> Outcome:
        where = "outcome"
        data = an_object(value, where)
        name = a_string(field_of(data, "kind", where), where)
        try:
            kind = OutcomeKind(name)
        except ValueError:
            raise FileFormatError(
                f"the outcome {name!r} is not known to this Bohrbug; it may be of a newer"
                " one: upgrade"
            ) from None
        return Outcome(
            kind=kind,
            message=a_string(field_of(data, "message", where), where),
            task=optional(field_of(data, "task", where), where, a_string),
            exception=optional(field_of(data, "exception", where), where, a_string),
            stack=self.frames(field_of(data, "stack", where), where),
            traceback=a_string(field_of(data, "traceback", where), where),
            blocked=tuple(
                self.blocked(entry, f"{where} blocked")
                for entry in a_list(field_of(data, "blocked", where), where)
            ),
            cycle=strings(field_of(data, "cycle", where), where),
            repeating=tuple(
                a_count(entry, where) for entry in a_list(field_of(data, "repeating", where), where)
            ),
            race=optional(field_of(data, "race", where), f"{where} race", self.race),
            grouped=tuple(
                Grouped(*a_row(row, f"{where} grouped", a_string, self.frames))
                for row in a_list(data.get("grouped", []), where)
            ),
        )


# --------------------------------------------------------------------- traces


def trace_to_json(trace: Trace) -> dict[str, Json]:
    """A trace as what ``json.dump`` takes.

    Places in code objects are resolved to source lines; the trace that
    :func:`trace_from_json` gives back has them as :class:`Site`.
    """
    writer = _Writer()
    divergence = trace.divergence
    columns = {
        "plan": plan_to_json(trace.plan),
        "choices": run_lengths(trace.choices),
        "tasks": run_lengths(trace.tasks),
        "operations": run_lengths(map(writer.operation, trace.operations)),
        "enabled": run_lengths(map(writer.options.index, trace.enabled)),
        "timed": run_lengths(map(writer.options.index, trace.timed)),
        "yielded": run_lengths(trace.yielded),
        "arities": [[step, arity] for step, arity in sorted(trace.arities.items())],
        "defaults": [[step, task] for step, task in sorted(trace.defaults.items())],
        "effects": [list(effect) for effect in trace.effects],
        "final_pending": {
            task: writer.operation(operation) for task, operation in trace.final_pending.items()
        },
        "task_infos": [writer.task_info(info) for info in trace.task_infos.values()],
        "resources": [writer.resource(resource) for resource in trace.resources.values()],
        "races": [writer.race(race) for race in trace.races],
        "outcome": writer.outcome(trace.outcome),
        "divergence": None
        if divergence is None
        else [divergence.step, divergence.expected, divergence.found],
        "uncontrolled": dict(trace.uncontrolled.counts),
        "virtual_time": trace.virtual_time,
        "seconds": trace.seconds,
    }
    return {
        "format": TRACE_FORMAT,
        "version": VERSION,
        "sites": writer.sites.rows,
        "operation_table": writer.operations.rows,
        "option_table": writer.options.rows,
        **columns,
    }


def trace_from_json(data: Json) -> Trace:
    """The trace that :func:`trace_to_json` wrote.

    Raises:
        UnknownVersionError: a newer Bohrbug wrote it.
        FileFormatError: it is no trace, or damaged.
    """
    with reading(TRACE_FORMAT):
        header = header_of(data, TRACE_FORMAT)
        trace = _trace(header, _Reader(header))
        _check_lengths(trace)
        return trace


def _trace(header: dict[str, Json], reader: _Reader) -> Trace:
    def part(name: str) -> Json:
        return field_of(header, name, TRACE_FORMAT)

    def column(name: str, check: Callable[[Json, str], T]) -> list[T]:
        return from_run_lengths(part(name), check, name)

    def rows(name: str, *checks: Callable[[Json, str], Any]) -> list[list[Any]]:
        return [a_row(row, name, *checks) for row in a_list(part(name), name)]

    infos = [
        TaskInfo(*row)
        for row in rows("task_infos", a_string, a_string, a_string, a_bool, reader.site)
    ]
    resources = [
        Resource(*row) for row in rows("resources", a_string, a_string, a_string, reader.site)
    ]
    divergence = part("divergence")
    return Trace(
        plan=plan_from_json(part("plan")),
        choices=column("choices", a_choice),
        tasks=column("tasks", a_string),
        operations=column("operations", reader.operation),
        enabled=column("enabled", reader.option_set),
        timed=column("timed", reader.option_set),
        yielded=column("yielded", a_bool),
        arities=dict(rows("arities", a_count, a_count)),
        # Files had none before there were tasks of event loops.
        defaults=dict(rows("defaults", a_count, a_string)) if "defaults" in header else {},
        effects=[
            (step, task, resource, is_write)
            for step, task, resource, is_write in rows(
                "effects", a_count, a_string, a_string, a_bool
            )
        ],
        final_pending={
            task: reader.operation(index, "final_pending")
            for task, index in an_object(part("final_pending"), "final_pending").items()
        },
        task_infos={info.id: info for info in infos},
        resources={resource.id: resource for resource in resources},
        races=[reader.race(race, "races") for race in a_list(part("races"), "races")],
        outcome=reader.outcome(part("outcome")),
        divergence=None
        if divergence is None
        else Divergence(*a_row(divergence, "divergence", a_count, a_string, a_string)),
        uncontrolled=Uncontrolled(
            {
                what: a_count(count, "uncontrolled")
                for what, count in an_object(part("uncontrolled"), "uncontrolled").items()
            }
        ),
        virtual_time=a_number(part("virtual_time"), "virtual_time"),
        seconds=a_number(part("seconds"), "seconds"),
    )


def _check_lengths(trace: Trace) -> None:
    """Every column has one entry per step, and what names a step names one there is."""
    steps = len(trace.tasks)
    for name in ("choices", "operations", "enabled", "timed", "yielded"):
        found = len(getattr(trace, name))
        if found != steps:
            raise FileFormatError(f"{name}: {found} entries for {steps} steps")
    named = [*trace.arities, *trace.defaults, *(effect[0] for effect in trace.effects)]
    if any(step >= steps for step in named):
        raise FileFormatError(f"step {max(named)} is named, of {steps} steps")
