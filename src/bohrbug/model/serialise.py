"""The JSON form of plans and traces; ``docs/reference/file-format.md`` describes it.

Functions to and from plain dicts, lists, strings and numbers; writing files is
left to the caller.  What repeats in a trace (operations, sites, option sets)
is written once, in a table, and referred to by its index; columns with one
entry per step are run-length encoded.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from bohrbug.model.cause_json import orderings_from_json, orderings_to_json
from bohrbug.model.operation import KINDS, Operation, Resource, Site
from bohrbug.model.outcome import (
    Abandoned,
    Access,
    BlockedTask,
    Divergence,
    Frame,
    Held,
    Outcome,
    OutcomeKind,
    Race,
    RacePattern,
    TaskInfo,
    Uncontrolled,
)
from bohrbug.model.plan import (
    Choice,
    NonPreemptive,
    Ordered,
    Plan,
    Policy,
    Priorities,
    Segments,
    UniformRandom,
)
from bohrbug.model.site import site_of
from bohrbug.model.trace import Trace

Json = Any
"""What ``json`` reads and writes."""

PLAN_FORMAT = "bohrbug-plan"
TRACE_FORMAT = "bohrbug-trace"
VERSION = 1
"""Goes up when an older Bohrbug could not read what this one writes."""

LONGEST = 50_000_000
"""No column may be longer when run lengths are multiplied out: a typo must not fill memory."""

T = TypeVar("T")
H = TypeVar("H", bound=Hashable)


class FileFormatError(ValueError):
    """A plan or trace can't be read: it was damaged, or isn't one."""


class UnknownVersionError(FileFormatError):
    """A plan or trace was written by a newer Bohrbug."""


# ---------------------------------------------------------------- run lengths


def run_lengths(values: Iterable[Any]) -> list[Json]:
    """A column with repetitions as ``[value, how often]`` and the rest as ``value``.

    Runs of one are written without a count; values must not be lists.
    """
    runs: list[list[Any]] = []
    for value in values:
        if runs and runs[-1][0] == value:
            runs[-1][1] += 1
        else:
            runs.append([value, 1])
    return [run[0] if run[1] == 1 else run for run in runs]


def from_run_lengths(runs: Json, check: Callable[[Json, str], T], where: str) -> list[T]:
    """Undo :func:`run_lengths`.

    Parameters:
        runs: what was read.
        check: gives back its first argument if it is what the column holds.
        where: what is being read, for messages.

    Raises:
        FileFormatError: it is no such column.
    """
    column: list[T] = []
    for run in _list(runs, where):
        entry, count = run, 1
        if isinstance(run, list):
            if len(run) != 2:
                raise FileFormatError(f"{where}: a run must be [value, how often], not {run!r:.80}")
            entry, count = run[0], _count(run[1], where)
        value = check(entry, where)
        if len(column) + count > LONGEST:
            raise FileFormatError(f"{where}: more than {LONGEST:,} entries")
        column += [value] * count
    return column


# --------------------------------------------------------------- small checks


def _is(kind: type[T], name: str) -> Callable[[Json, str], T]:
    def check(value: Json, where: str) -> T:
        # ``True`` is an int to Python and none to us.
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise FileFormatError(f"{where}: {name} expected, found {value!r:.80}")
        return value

    return check


_str = _is(str, "a string")
_int = _is(int, "a whole number")
_bool = _is(bool, "true or false")
_list: Callable[[Json, str], list[Json]] = _is(list, "a list")
_dict: Callable[[Json, str], dict[str, Json]] = _is(dict, "an object")


def _number(value: Json, where: str) -> float:
    return (
        float(_int(value, where))
        if isinstance(value, int)
        else _is(float, "a number")(value, where)
    )


def _count(value: Json, where: str) -> int:
    if _int(value, where) < 0:
        raise FileFormatError(f"{where}: 0 or more expected, found {value}")
    return int(value)


def _choice(value: Json, where: str) -> Choice:
    if isinstance(value, str):
        return value
    return _count(value, where)


def _field(data: dict[str, Json], name: str, where: str) -> Json:
    if name not in data:
        raise FileFormatError(f"{where}: {name!r} is missing")
    return data[name]


def _optional(value: Json, where: str, check: Callable[[Json, str], T]) -> T | None:
    return None if value is None else check(value, where)


def _row(value: Json, where: str, *checks: Callable[[Json, str], Any]) -> list[Any]:
    row = _list(value, where)
    if len(row) != len(checks):
        raise FileFormatError(f"{where}: {len(checks)} entries expected, found {row!r:.80}")
    return [check(entry, where) for check, entry in zip(checks, row, strict=True)]


def _strings(value: Json, where: str) -> tuple[str, ...]:
    return tuple(_str(entry, where) for entry in _list(value, where))


def _header(data: Json, expected: str) -> dict[str, Json]:
    """Check format and version."""
    header = _dict(data, expected)
    if header.get("format") != expected:
        raise FileFormatError(
            f"this is no {expected}: 'format' is {header.get('format')!r:.80};"
            " give a file that Bohrbug wrote"
        )
    version = _int(_field(header, "version", expected), f"{expected} version")
    if version > VERSION:
        raise UnknownVersionError(
            f"{expected} version {version} is newer than this Bohrbug, which reads up to"
            f" {VERSION}; upgrade Bohrbug"
        )
    if version < 1:
        raise UnknownVersionError(f"there is no {expected} version {version}")
    return header


@contextmanager
def _reading(what: str) -> Iterator[None]:
    """Numbers too big to convert and the like are damage too."""
    try:
        yield
    except FileFormatError:
        raise
    except (ValueError, OverflowError) as error:
        raise FileFormatError(f"{what}: {error}") from error


# ---------------------------------------------------------------------- plans


def _policy_to_json(policy: Policy) -> Json:
    match policy:
        case NonPreemptive():
            return {"name": "non-preemptive"}
        case UniformRandom(seed):
            return {"name": "random", "seed": seed}
        case Priorities(seed, depth, length):
            return {"name": "priorities", "seed": seed, "depth": depth, "length": length}
        case Segments(segments):
            return {"name": "segments", "segments": [list(segment) for segment in segments]}
        case Ordered(orderings, seed, values):
            return {
                "name": "ordered",
                "orderings": orderings_to_json(orderings),
                "seed": seed,
                "values": [[task, list(made)] for task, made in values],
            }


def _segment(data: Json) -> tuple[str, int]:
    task, steps = _row(data, "segment of a policy", _str, _int)
    return task, steps


def _values(data: Json) -> tuple[str, tuple[int, ...]]:
    task, values = _row(data, "values of a policy", _str, _list)
    return task, tuple(_count(value, "values of a policy") for value in values)


def _policy_from_json(data: Json) -> Policy:
    where = "policy"
    policy = _dict(data, where)
    name = _str(_field(policy, "name", where), where)

    def number(key: str) -> int:
        return _int(_field(policy, key, where), f"{where} {key}")

    match name:
        case "non-preemptive":
            return NonPreemptive()
        case "random":
            return UniformRandom(number("seed"))
        case "priorities":
            return Priorities(number("seed"), number("depth"), number("length"))
        case "segments":
            segments = _list(_field(policy, "segments", where), f"{where} segments")
            return Segments(tuple(_segment(segment) for segment in segments))
        case "ordered":
            values = _list(_field(policy, "values", where), f"{where} values")
            return Ordered(
                orderings_from_json(_field(policy, "orderings", where)),
                number("seed"),
                tuple(_values(row) for row in values),
            )
    raise FileFormatError(
        f"the policy {name!r} is not known to this Bohrbug; it may be of a newer one: upgrade"
    )


def plan_to_json(plan: Plan) -> dict[str, Json]:
    """A plan as what ``json.dump`` takes."""
    return {
        "format": PLAN_FORMAT,
        "version": VERSION,
        "prefix": run_lengths(plan.prefix),
        "policy": _policy_to_json(plan.policy),
    }


def plan_from_json(data: Json) -> Plan:
    """The plan that :func:`plan_to_json` wrote.

    Raises:
        UnknownVersionError: a newer Bohrbug wrote it.
        FileFormatError: it is no plan, or damaged.
    """
    with _reading(PLAN_FORMAT):
        header = _header(data, PLAN_FORMAT)
        prefix = from_run_lengths(_field(header, "prefix", PLAN_FORMAT), _choice, "prefix")
        return Plan(tuple(prefix), _policy_from_json(_field(header, "policy", PLAN_FORMAT)))


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
        }

    def race(self, race: Race) -> Json:
        return {
            "resource": race.resource,
            "label": race.label,
            "first": self.access(race.first),
            "second": self.access(race.second),
            "count": race.count,
            "pattern": race.pattern.value,
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
            Site(*_row(row, "sites", _str, _int, _str, _int))
            for row in _list(_field(data, "sites", TRACE_FORMAT), "sites")
        ]
        self.operations = [
            self._operation(row)
            for row in _list(_field(data, "operation_table", TRACE_FORMAT), "operation_table")
        ]
        self.options = [
            _strings(row, "option_table")
            for row in _list(_field(data, "option_table", TRACE_FORMAT), "option_table")
        ]

    def _operation(self, row: Json) -> Operation:
        name, resource, site = _row(row, "operation_table", _str, _str, self.site)
        if name not in KINDS:
            raise FileFormatError(
                f"operation_table: the kind of operation {name!r} is not known to this"
                " Bohrbug; it may be of a newer one: upgrade"
            )
        return Operation(KINDS[name], resource, site)

    def _looked_up(self, table: Sequence[T], value: Json, where: str) -> T:
        index = _count(value, where)
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
        for row in _list(value, where):
            site, text = _row(row, where, self.site, _str)
            if site is None:
                raise FileFormatError(f"{where}: a frame needs a site")
            frames.append(Frame(site, text))
        return tuple(frames)

    def holding(self, value: Json, where: str) -> tuple[Held, ...]:
        return tuple(Held(*_row(row, where, _str, self.site)) for row in _list(value, where))

    def abandoned(self, value: Json, where: str) -> Abandoned:
        return Abandoned(*_row(value, where, _str, self.site))

    def access(self, value: Json, where: str) -> Access:
        data = _dict(value, where)
        return Access(
            task=_str(_field(data, "task", where), where),
            operation=self.operation(_field(data, "operation", where), where),
            stack=self.frames(_field(data, "stack", where), where),
            holding=self.holding(_field(data, "holding", where), where),
        )

    def race(self, value: Json, where: str) -> Race:
        data = _dict(value, where)
        return Race(
            resource=_str(_field(data, "resource", where), where),
            label=_str(_field(data, "label", where), where),
            first=self.access(_field(data, "first", where), f"{where} first"),
            second=self.access(_field(data, "second", where), f"{where} second"),
            count=_count(_field(data, "count", where), where),
            pattern=_pattern(data.get("pattern", RacePattern.UNCLASSIFIED.value)),
        )

    def blocked(self, value: Json, where: str) -> BlockedTask:
        data = _dict(value, where)
        return BlockedTask(
            task=_str(_field(data, "task", where), where),
            operation=self.operation(_field(data, "operation", where), where),
            holders=_strings(_field(data, "holders", where), where),
            holding=self.holding(_field(data, "holding", where), where),
            stack=self.frames(_field(data, "stack", where), where),
            daemon=_bool(_field(data, "daemon", where), where),
            since=_int(_field(data, "since", where), where),
            abandoned=_optional(data.get("abandoned"), where, self.abandoned),
        )

    def outcome(self, value: Json) -> Outcome:
        where = "outcome"
        data = _dict(value, where)
        name = _str(_field(data, "kind", where), where)
        try:
            kind = OutcomeKind(name)
        except ValueError:
            raise FileFormatError(
                f"the outcome {name!r} is not known to this Bohrbug; it may be of a newer"
                " one: upgrade"
            ) from None
        return Outcome(
            kind=kind,
            message=_str(_field(data, "message", where), where),
            task=_optional(_field(data, "task", where), where, _str),
            exception=_optional(_field(data, "exception", where), where, _str),
            stack=self.frames(_field(data, "stack", where), where),
            traceback=_str(_field(data, "traceback", where), where),
            blocked=tuple(
                self.blocked(entry, f"{where} blocked")
                for entry in _list(_field(data, "blocked", where), where)
            ),
            cycle=_strings(_field(data, "cycle", where), where),
            repeating=tuple(
                _count(entry, where) for entry in _list(_field(data, "repeating", where), where)
            ),
            race=_optional(_field(data, "race", where), f"{where} race", self.race),
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
    with _reading(TRACE_FORMAT):
        header = _header(data, TRACE_FORMAT)
        trace = _trace(header, _Reader(header))
        _check_lengths(trace)
        return trace


def _trace(header: dict[str, Json], reader: _Reader) -> Trace:
    def part(name: str) -> Json:
        return _field(header, name, TRACE_FORMAT)

    def column(name: str, check: Callable[[Json, str], T]) -> list[T]:
        return from_run_lengths(part(name), check, name)

    def rows(name: str, *checks: Callable[[Json, str], Any]) -> list[list[Any]]:
        return [_row(row, name, *checks) for row in _list(part(name), name)]

    infos = [TaskInfo(*row) for row in rows("task_infos", _str, _str, _str, _bool, reader.site)]
    resources = [Resource(*row) for row in rows("resources", _str, _str, _str, reader.site)]
    divergence = part("divergence")
    return Trace(
        plan=plan_from_json(part("plan")),
        choices=column("choices", _choice),
        tasks=column("tasks", _str),
        operations=column("operations", reader.operation),
        enabled=column("enabled", reader.option_set),
        timed=column("timed", reader.option_set),
        yielded=column("yielded", _bool),
        arities=dict(rows("arities", _count, _count)),
        effects=[
            (step, task, resource, is_write)
            for step, task, resource, is_write in rows("effects", _count, _str, _str, _bool)
        ],
        final_pending={
            task: reader.operation(index, "final_pending")
            for task, index in _dict(part("final_pending"), "final_pending").items()
        },
        task_infos={info.id: info for info in infos},
        resources={resource.id: resource for resource in resources},
        races=[reader.race(race, "races") for race in _list(part("races"), "races")],
        outcome=reader.outcome(part("outcome")),
        divergence=None
        if divergence is None
        else Divergence(*_row(divergence, "divergence", _count, _str, _str)),
        uncontrolled=Uncontrolled(
            {
                what: _count(count, "uncontrolled")
                for what, count in _dict(part("uncontrolled"), "uncontrolled").items()
            }
        ),
        virtual_time=_number(part("virtual_time"), "virtual_time"),
        seconds=_number(part("seconds"), "seconds"),
    )


def _check_lengths(trace: Trace) -> None:
    """Every column has one entry per step, and what names a step names one there is."""
    steps = len(trace.tasks)
    for name in ("choices", "operations", "enabled", "timed", "yielded"):
        found = len(getattr(trace, name))
        if found != steps:
            raise FileFormatError(f"{name}: {found} entries for {steps} steps")
    named = [*trace.arities, *(effect[0] for effect in trace.effects)]
    if any(step >= steps for step in named):
        raise FileFormatError(f"step {max(named)} is named, of {steps} steps")
