"""The JSON form of plans and traces."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bohrbug.exploration.reproduction import stem_of
from bohrbug.model.operation import (
    ACQUIRE,
    CHOOSE,
    KINDS,
    READ,
    WRITE,
    Operation,
    Resource,
    Site,
)
from bohrbug.model.outcome import (
    Access,
    BlockedTask,
    Divergence,
    Frame,
    Held,
    Outcome,
    OutcomeKind,
    Race,
    TaskInfo,
    Uncontrolled,
)
from bohrbug.model.plan import (
    Aligned,
    Constraint,
    Mark,
    NonPreemptive,
    PartialOrder,
    Plan,
    Priorities,
    ReadsFrom,
    ResourceEvent,
    Segments,
    Sleeper,
    Sleeping,
    Switch,
    Switches,
    UniformRandom,
    WeightedRandom,
)
from bohrbug.model.serialise import (
    FileFormatError,
    UnknownVersionError,
    plan_from_json,
    plan_to_json,
    run_lengths,
    trace_from_json,
    trace_to_json,
)
from bohrbug.model.trace import Trace
from tests.thoroughness import examples

SITE = Site("bank.py", 12, "Account.withdraw", 9)
OTHER = Site("bank.py", 14, "Account.withdraw")
READS = Operation(READ, "0:1.balance", SITE)
WRITES = Operation(WRITE, "0:1.balance", OTHER)
ACCESS = Access("0.1", READS, (Frame(SITE, "if self.balance"),), (Held("0:2", OTHER),), 2)
RACE = Race("0:1.balance", "Account.balance", ACCESS, Access("0.2", WRITES), 3)


def full_trace() -> Trace:
    """A trace in which no part is left at its default."""
    return Trace(
        plan=Plan(("0", "0", 1), Priorities(5, 3, 40)),
        choices=["0", "0", 1, "0.1"],
        tasks=["0", "0", "0", "0.1"],
        operations=[READS, READS, Operation(CHOOSE, "0:3"), WRITES],
        enabled=[("0",), ("0", "0.1"), (), ("0.1",)],
        timed=[(), ("0.2",), (), ()],
        yielded=[False, False, False, True],
        arities={2: 3},
        effects=[(1, "0", "0:2", True)],
        final_pending={"0.2": Operation(ACQUIRE, "0:2", SITE)},
        task_infos={"0.1": TaskInfo("0.1", "worker", "work", True, SITE)},
        resources={"0:2": Resource("0:2", "Lock", "Lock bank.py:12", SITE)},
        races=[RACE],
        outcome=Outcome(
            OutcomeKind.DEADLOCK,
            message="deadlock",
            task="0",
            exception="ValueError",
            stack=(Frame(SITE), Frame(OTHER, "x = 1")),
            traceback="Traceback",
            blocked=(
                BlockedTask("0.2", READS, ("0",), (Held("0:2", None),), (Frame(SITE),), True, 2),
            ),
            cycle=("0", "0.2"),
            repeating=(1, 2),
            race=RACE,
        ),
        divergence=Divergence(3, "0.2", "0.1"),
        uncontrolled=Uncontrolled({"a subprocess": 2}),
        virtual_time=1.5,
        seconds=0.25,
    )


points = st.none() | st.frozensets(st.sampled_from([SITE, OTHER, "0:1", "0:2.balance"]))
weights = st.lists(st.tuples(st.sampled_from(["0", "0.1", "0.2"]), st.integers(0, 9))).map(tuple)
events = st.builds(
    ResourceEvent,
    st.sampled_from(["0", "0.1"]),
    st.sampled_from(["read", "write"]),
    st.sampled_from(["0:1", "0:2.balance"]),
    st.none() | st.sampled_from([SITE, OTHER]),
    st.integers(1, 9),
)
constraints = st.lists(st.builds(Constraint, st.none() | events, events, st.booleans())).map(tuple)
sites = st.none() | st.sampled_from([SITE, OTHER])
marks = st.builds(
    Mark, st.sampled_from(["0", "0.1"]), st.sampled_from(["read", "begin"]), sites, st.booleans()
)
policies = st.one_of(
    st.builds(
        Aligned,
        st.lists(marks).map(tuple),
        st.lists(st.tuples(st.sampled_from(["0.1", "0.2"]), sites)).map(tuple),
        st.lists(
            st.tuples(st.sampled_from(["0", "0.1"]), st.lists(st.integers(0, 9)).map(tuple))
        ).map(tuple),
        st.integers(1, 99),
        st.booleans(),
    ),
    st.builds(PartialOrder, st.integers(), points),
    st.builds(WeightedRandom, st.integers(), weights, points, points),
    st.builds(ReadsFrom, st.integers(), constraints, points),
    st.just(NonPreemptive()),
    st.builds(UniformRandom, st.integers()),
    st.builds(
        Segments,
        st.lists(st.tuples(st.sampled_from(["0", "0.1", "0.2"]), st.integers(1, 9))).map(tuple),
    ),
    st.builds(
        Switches,
        st.lists(
            st.builds(
                Switch,
                st.sampled_from(["0", "0.1"]),
                st.integers(0, 9),
                st.sampled_from(["0.1", "0.2"]),
                st.none() | st.sampled_from(["0", "0.1"]),
            )
        ).map(tuple),
        st.lists(
            st.tuples(st.sampled_from(["0", "0.1"]), st.lists(st.integers(0, 9)).map(tuple))
        ).map(tuple),
    ),
    st.builds(
        Sleeping,
        st.lists(
            st.builds(
                Sleeper,
                st.sampled_from(["0.1", "0.2"]),
                st.just(("0:1",)),
                st.just(("0:2", "0:3")),
                st.booleans(),
            )
        ).map(tuple),
        st.sampled_from([None, "0.1"]),
    ),
    st.builds(Priorities, st.integers(), st.integers(1, 9), st.integers(1, 10**6)),
)
choices = st.one_of(st.integers(0, 3), st.sampled_from(["0", "0.1", "0.2"]))
plans = st.builds(Plan, st.lists(choices).map(tuple), policies)


@given(plans)
def test_a_plan_survives_json(plan: Plan) -> None:
    assert plan_from_json(json.loads(json.dumps(plan_to_json(plan)))) == plan


def test_a_trace_survives_json() -> None:
    trace = full_trace()
    again = trace_from_json(json.loads(json.dumps(trace_to_json(trace))))
    assert again == trace
    assert again.operations[0].kind is READ


def test_an_empty_trace_survives_json() -> None:
    assert trace_from_json(json.loads(json.dumps(trace_to_json(Trace())))) == Trace()


def test_every_kind_of_operation_survives() -> None:
    for kind in KINDS.values():
        trace = Trace(final_pending={"0": Operation(kind, "0:1")})
        assert trace_from_json(trace_to_json(trace)).final_pending["0"].kind is kind


def test_places_in_code_become_sites() -> None:
    code = full_trace.__code__
    trace = Trace(final_pending={"0": Operation(READ, "0:1", (code, 0))})
    place = trace_from_json(trace_to_json(trace)).final_pending["0"].place
    assert isinstance(place, Site)
    assert place.filename == code.co_filename
    assert place.function == "full_trace"


def test_run_lengths_shorten_repetitions() -> None:
    assert run_lengths(["0", "0", "0", "0.1", 1, 1]) == [["0", 3], "0.1", [1, 2]]


def test_long_traces_are_short_on_disk() -> None:
    trace = Trace(
        choices=["0"] * 100_000,
        tasks=["0"] * 100_000,
        operations=[READS] * 100_000,
        enabled=[("0", "0.1")] * 100_000,
        timed=[()] * 100_000,
        yielded=[False] * 100_000,
    )
    text = json.dumps(trace_to_json(trace))
    assert len(text) < 2_000
    assert trace_from_json(json.loads(text)) == trace


def test_a_newer_version_is_named() -> None:
    data = plan_to_json(Plan())
    with pytest.raises(UnknownVersionError, match="upgrade Bohrbug"):
        plan_from_json({**data, "version": 2})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "something"}, "give a file that Bohrbug wrote"),
        ({"version": "1"}, "whole number expected"),
        ({"version": 0}, "no bohrbug-trace version 0"),
        ({"choices": [["0", -1]]}, "0 or more"),
        ({"choices": [["0", 10**18]]}, "more than"),
        ({"choices": [["0", 1, 2]]}, "how often"),
        ({"choices": [True]}, "whole number expected"),
        ({"tasks": ["0"]}, "entries for 1 steps"),
        ({"operations": [99]}, "no entry 99"),
        ({"operation_table": [["frobnicate", "0:1", None]]}, "upgrade"),
        ({"arities": [[77, 2]]}, "step 77"),
        ({"outcome": {"kind": "vanished"}}, "upgrade"),
        ({"outcome": None}, "an object expected"),
        ({"yielded": ["no"]}, "true or false expected"),
        ({"plan": {"format": "bohrbug-plan", "version": 1, "prefix": []}}, "'policy' is missing"),
    ],
)
def test_damage_is_named(change: dict[str, Any], message: str) -> None:
    data = json.loads(json.dumps(trace_to_json(full_trace())))
    with pytest.raises(FileFormatError, match=message):
        trace_from_json({**data, **change})


def test_equal_sets_of_points_make_equal_files() -> None:
    some = [SITE, OTHER, "0:2", "0:1"]
    texts = {
        json.dumps(plan_to_json(Plan((), PartialOrder(0, frozenset(order)))))
        for order in (some, some[::-1])
    }
    assert len(texts) == 1


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ({"name": "partial-order", "seed": 1}, "'points' is missing"),
        ({"name": "partial-order", "seed": 1, "points": [3]}, "a list expected"),
        ({"name": "weighted", "seed": 1, "weights": [["0"]]}, "2 entries expected"),
        ({"name": "reads-from", "seed": 1, "constraints": [[None, [], 1]]}, "5 entries expected"),
    ],
)
def test_a_damaged_policy_is_named(policy: dict[str, Any], message: str) -> None:
    with pytest.raises(FileFormatError, match=message):
        plan_from_json({**plan_to_json(Plan()), "policy": policy})


def test_an_unknown_policy_is_named() -> None:
    data = {**plan_to_json(Plan()), "policy": {"name": "fancy"}}
    with pytest.raises(FileFormatError, match="'fancy'"):
        plan_from_json(data)


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 300), st.floats(), st.text(max_size=3)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(st.data())
@settings(max_examples=examples(150), deadline=None)
def test_damage_anywhere_is_a_clear_error_or_harmless(data: st.DataObject) -> None:
    whole = json.loads(json.dumps(trace_to_json(full_trace())))
    node: Any = whole
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        key = data.draw(st.sampled_from(keys))
        child = node[key]
        if isinstance(child, (dict, list)) and child and data.draw(st.booleans()):
            node = child
            continue
        if data.draw(st.booleans()):
            node[key] = data.draw(json_values)
        else:
            del node[key]
        break
    try:
        trace = trace_from_json(whole)
    except FileFormatError:
        return
    trace_to_json(trace)


@pytest.mark.parametrize(
    ("test", "stem"),
    [
        ("test_x.py::test_a", "test_x.py-test_a"),
        ("module:Class.method", "module-Class.method"),
        ("???", "test"),
        ("a" * 90, "a" * 80),
        ("package/tests/" + "b" * 75 + "::c", "b" * 75 + "-c"),
    ],
)
def test_files_are_called_by_whole_words(test: str, stem: str) -> None:
    assert stem_of(test) == stem
