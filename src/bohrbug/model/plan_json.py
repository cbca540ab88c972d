"""The JSON form of plans; ``docs/reference/file-format.md`` describes it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from bohrbug.model.cause_json import orderings_from_json, orderings_to_json
from bohrbug.model.conditions import Conditions
from bohrbug.model.json_checks import (
    VERSION,
    FileFormatError,
    Json,
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
from bohrbug.model.operation import Point, Site
from bohrbug.model.plan import (
    Aligned,
    Ask,
    Constraint,
    Mark,
    NonPreemptive,
    Ordered,
    PartialOrder,
    Plan,
    Policy,
    Priorities,
    ReadsFrom,
    ResourceEvent,
    Segments,
    Sleeper,
    Sleeping,
    Switch,
    Switches,
    TaskValues,
    UniformRandom,
    WeightedRandom,
)

PLAN_FORMAT = "bohrbug-plan"


def _values_to_json(values: TaskValues) -> list[Json]:
    return [[task, list(made)] for task, made in values]


def _policy_to_json(policy: Policy) -> Json:
    match policy:
        case NonPreemptive():
            return {"name": "non-preemptive"}
        case Ask(passed):
            return {"name": "ask", "passed": passed}
        case UniformRandom(seed):
            return {"name": "random", "seed": seed}
        case Priorities(seed, depth, length):
            return {"name": "priorities", "seed": seed, "depth": depth, "length": length}
        case Segments(segments, values):
            return {
                "name": "segments",
                "segments": [list(segment) for segment in segments],
                "values": _values_to_json(values),
            }
        case Switches(switches, values):
            return {
                "name": "switches",
                "switches": [[each.task, each.steps, each.target, each.held] for each in switches],
                "values": _values_to_json(values),
            }
        case Ordered(orderings, seed, values):
            return {
                "name": "ordered",
                "orderings": orderings_to_json(orderings),
                "seed": seed,
                "values": _values_to_json(values),
            }
        case Sleeping(asleep, first):
            return {
                "name": "sleeping",
                "asleep": [_sleeper_to_json(sleeper) for sleeper in asleep],
                "first": first,
            }
        case PartialOrder(seed, points):
            return {"name": "partial-order", "seed": seed, "points": _points_to_json(points)}
        case WeightedRandom(seed, weights, selected, points):
            return {
                "name": "weighted",
                "seed": seed,
                "weights": [list(weight) for weight in weights],
                "selected": _points_to_json(selected),
                "points": _points_to_json(points),
            }
        case ReadsFrom(seed, constraints, points):
            return {
                "name": "reads-from",
                "seed": seed,
                "constraints": [_constraint_to_json(each) for each in constraints],
                "points": _points_to_json(points),
            }
        case Aligned(marks, tasks, values, window, eager):
            return {
                "name": "aligned",
                "marks": [_mark_to_json(mark) for mark in marks],
                "tasks": [[task, _site_to_json(site)] for task, site in tasks],
                "values": _values_to_json(values),
                "window": window,
                "eager": eager,
            }


def _site_to_json(site: Site | None) -> Json:
    return None if site is None else list(site)


def _points_to_json(points: frozenset[Point] | None) -> Json:
    """Sites first, then resources, each in order: equal sets must make equal files."""
    if points is None:
        return None
    sites = sorted([point for point in points if isinstance(point, Site)])
    resources = sorted([point for point in points if not isinstance(point, Site)])
    return [*map(list, sites), *resources]


def _event_to_json(event: ResourceEvent) -> Json:
    return [
        event.task,
        event.kind,
        event.resource,
        _site_to_json(event.site),
        event.occurrence,
    ]


def _sleeper_to_json(sleeper: Sleeper) -> Json:
    return [sleeper.task, list(sleeper.reads), list(sleeper.writes), sleeper.wakes_at_once]


def _constraint_to_json(constraint: Constraint) -> Json:
    source = None if constraint.source is None else _event_to_json(constraint.source)
    return [source, _event_to_json(constraint.reader), constraint.holds]


def _mark_to_json(mark: Mark) -> Json:
    return [mark.task, mark.kind, _site_to_json(mark.site), mark.fired]


def _site(data: Json, where: str) -> Site:
    return Site(*a_row(data, where, a_string, an_int, a_string, an_int))


def _point(data: Json, where: str) -> Point:
    return data if isinstance(data, str) else _site(data, where)


def _points(data: Json, where: str) -> frozenset[Point]:
    return frozenset([_point(point, where) for point in a_list(data, where)])


def _event(data: Json, where: str) -> ResourceEvent:
    return ResourceEvent(*a_row(data, where, a_string, a_string, a_string, _site_if_known, an_int))


def _site_if_known(data: Json, where: str) -> Site | None:
    return optional(data, where, _site)


def _values(data: Json, where: str) -> tuple[int, ...]:
    return tuple(a_count(value, where) for value in a_list(data, where))


def _aligned(policy: dict[str, Json], where: str) -> Aligned:
    def rows(name: str, *checks: Callable[[Json, str], Any]) -> list[list[Any]]:
        within = f"{where} {name}"
        return [
            a_row(row, within, *checks) for row in a_list(field_of(policy, name, where), within)
        ]

    window = an_int(field_of(policy, "window", where), f"{where} window")
    if window < 1:
        raise FileFormatError(f"{where} window: {window} is less than 1")
    return Aligned(
        tuple(Mark(*row) for row in rows("marks", a_string, a_string, _site_if_known, a_bool)),
        tuple((task, site) for task, site in rows("tasks", a_string, _site_if_known)),
        tuple((task, made) for task, made in rows("values", a_string, _values)),
        window,
        a_bool(field_of(policy, "eager", where), f"{where} eager"),
    )


def _constraint(data: Json, where: str) -> Constraint:
    def source(value: Json, where: str) -> ResourceEvent | None:
        return optional(value, where, _event)

    return Constraint(*a_row(data, where, source, _event, a_bool))


def _segment(data: Json) -> tuple[str, int]:
    task, steps = a_row(data, "segment of a policy", a_string, an_int)
    return task, steps


def _switch(data: Json) -> Switch:
    where = "switch of a policy"
    task, steps, target, held = a_row(data, where, a_string, a_count, a_string, _held)
    return Switch(task, steps, target, held)


def _held(data: Json, where: str) -> str | None:
    return optional(data, where, a_string)


def _values_of_task(data: Json) -> tuple[str, tuple[int, ...]]:
    task, values = a_row(data, "values of a policy", a_string, a_list)
    return task, tuple(a_count(value, "values of a policy") for value in values)


def _sleeper(data: Json) -> Sleeper:
    task, reads, writes, at_once = a_row(
        data, "sleeper of a policy", a_string, strings, strings, a_bool
    )
    return Sleeper(task, reads, writes, at_once)


def _policy_from_json(data: Json) -> Policy:
    where = "policy"
    policy = an_object(data, where)
    name = a_string(field_of(policy, "name", where), where)

    def number(key: str) -> int:
        return an_int(field_of(policy, key, where), f"{where} {key}")

    def points(key: str) -> frozenset[Point] | None:
        return optional(field_of(policy, key, where), f"{where} {key}", _points)

    def rows(key: str) -> list[Json]:
        return a_list(field_of(policy, key, where), f"{where} {key}")

    match name:
        case "non-preemptive":
            return NonPreemptive()
        case "ask":
            return Ask(a_count(field_of(policy, "passed", where), f"{where} passed"))
        case "random":
            return UniformRandom(number("seed"))
        case "priorities":
            return Priorities(number("seed"), number("depth"), number("length"))
        case "segments":
            # Older files have none.
            values = rows("values") if "values" in policy else []
            return Segments(
                tuple(map(_segment, rows("segments"))), tuple(map(_values_of_task, values))
            )
        case "switches":
            return Switches(
                tuple(map(_switch, rows("switches"))), tuple(map(_values_of_task, rows("values")))
            )
        case "ordered":
            return Ordered(
                orderings_from_json(field_of(policy, "orderings", where)),
                number("seed"),
                tuple(map(_values_of_task, rows("values"))),
            )
        case "sleeping":
            first = optional(field_of(policy, "first", where), f"{where} first", a_string)
            return Sleeping(tuple(map(_sleeper, rows("asleep"))), first)
        case "partial-order":
            return PartialOrder(number("seed"), points("points"))
        case "weighted":
            return WeightedRandom(
                number("seed"),
                tuple(map(_segment, rows("weights"))),
                points("selected"),
                points("points"),
            )
        case "reads-from":
            constraints = [_constraint(row, f"{where} constraints") for row in rows("constraints")]
            return ReadsFrom(number("seed"), tuple(constraints), points("points"))
        case "aligned":
            return _aligned(policy, where)
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
        **_timeouts_to_json(plan.conditions),
    }


def _timeouts_to_json(conditions: Conditions) -> dict[str, Json]:
    """When timeouts fired, where that is not as in an exploration that has just begun.

    Explorations let them be late from some execution on, which the options do not tell.
    """
    found: dict[str, Json] = {}
    if conditions.late_timeouts:
        found["late_timeouts"] = True
    if not math.isinf(conditions.most_stall):
        found["most_stall"] = conditions.most_stall
    return found


def plan_from_json(data: Json) -> Plan:
    """The plan that :func:`plan_to_json` wrote.

    Raises:
        UnknownVersionError: a newer Bohrbug wrote it.
        FileFormatError: it is no plan, or damaged.
    """
    with reading(PLAN_FORMAT):
        header = header_of(data, PLAN_FORMAT)
        prefix = from_run_lengths(field_of(header, "prefix", PLAN_FORMAT), a_choice, "prefix")
        policy = _policy_from_json(field_of(header, "policy", PLAN_FORMAT))
        conditions = Conditions(
            late_timeouts=a_bool(header.get("late_timeouts", False), "late_timeouts"),
            most_stall=a_number(header.get("most_stall", math.inf), "most_stall"),
        )
        return Plan(tuple(prefix), policy, conditions=conditions)
