"""Work that is divided, saved, moved about and taken back is neither lost nor done twice."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bohrbug.model.happens_before import canonical_hash
from bohrbug.model.plan import Plan
from bohrbug.search.bounded_dpor import BoundedReduction
from bohrbug.search.delay_bounding import DelayBounding
from bohrbug.search.dfs import DepthFirst
from bohrbug.search.divisible import Divisible, State, StateError, is_divisible
from bohrbug.search.dpor import OptimalReduction
from bohrbug.search.pct import PCT
from bohrbug.search.preemption_bounding import PreemptionBounding
from bohrbug.search.random_walk import RandomWalk
from bohrbug.search.registry import STRATEGIES, Options, strategy_named
from bohrbug.search.uniform import UniformSampling
from tests.property.test_partial_order_reduction import ALL, program, randoms
from tests.property.test_search_properties import programs
from tests.simulated import Instruction, Program, execute, is_small
from tests.thoroughness import examples

Make = Callable[[], Divisible]

several = settings(
    max_examples=examples(25),
    deadline=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)


class Log:
    """What was executed: choice sequences, happens-before classes and policies, with counts."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.schedules: Counter[tuple[object, ...]] = Counter()
        self.classes: set[int] = set()
        self.finals: set[object] = set()
        self.policies: Counter[object] = Counter()
        self.by_position: dict[int, object] = {}

    def step(self, strategy: Divisible) -> bool:
        """One execution; False if nothing is left."""
        plan = strategy.next_plan()
        if plan is None:
            return False
        position = strategy.position()
        trace, final = execute(self.program, plan)
        strategy.observe(trace)
        self.schedules[tuple(trace.choices)] += 1
        self.classes.add(canonical_hash(trace))
        self.finals.add(final)
        if position is not None:
            self.policies[plan.policy] += 1
            self.by_position[position] = plan.policy
        return True


def alone(make: Make, program: Program, most: int = 3_000) -> tuple[Divisible, Log]:
    """One strategy goes through everything."""
    strategy, log = make(), Log(program)
    for _ in range(most):
        if not log.step(strategy):
            break
    return strategy, log


def through_json(state: State) -> State:
    return json.loads(json.dumps(state))


def divided(make: Make, program: Program, seed: int, most: int = 3_000) -> tuple[Divisible, Log]:
    """Pieces go to workers that do a little, stop and come back, in any order."""
    random = Random(seed)
    chief, log = make(), Log(program)
    pieces: list[State] = []
    for _ in range(random.randrange(5)):
        log.step(chief)
    while sum(log.schedules.values()) < most:
        move = random.randrange(4)
        if move == 0:
            piece = chief.take_piece(random.randrange(1, 9), random.randrange(1, 4))
            if piece is not None:
                pieces.append(piece)
        elif move == 1:
            saved = through_json(chief.state())
            chief = make()
            chief.restore(saved)
        elif pieces:
            worker = make()
            worker.restore(through_json(pieces.pop(random.randrange(len(pieces)))))
            for _ in range(random.randrange(12)):
                if not log.step(worker):
                    break
            state = through_json(worker.state())
            if random.random() < 0.5:
                chief.merge(state)
            else:
                pieces.append(state)
        elif chief.next_plan() is None:
            break
        elif random.random() < 0.3:
            log.step(chief)
        if len(pieces) > 6:
            chief.merge(pieces.pop())
    for piece in pieces:
        chief.merge(piece)
    return chief, log


@several
@given(programs, st.integers(0, 2**32))
def test_depth_first_search_divided_is_the_same_search(program: Program, seed: int) -> None:
    if not is_small(program, 400):
        return
    whole, expected = alone(DepthFirst, program)
    parts, found = divided(DepthFirst, program, seed)
    assert found.schedules == expected.schedules
    assert parts.complete == whole.complete
    assert parts.covered() == whole.covered()


@several
@given(programs, st.integers(0, 2**32), st.sampled_from([0, 1, 2, None]))
def test_bounding_without_a_cache_divided_is_the_same_search(
    program: Program, seed: int, bound: int | None
) -> None:
    if not is_small(program, 400):
        return

    def make() -> PreemptionBounding:
        return PreemptionBounding(bound, caching=False)

    whole, expected = alone(make, program)
    parts, found = divided(make, program, seed)
    assert found.schedules == expected.schedules
    assert parts.exhausted
    assert parts.complete == whole.complete
    assert parts.covered() == whole.covered()


@several
@given(programs, st.integers(0, 2**32), st.sampled_from([0, 1, 2, None]))
def test_bounding_with_a_cache_divided_finds_the_same(
    program: Program, seed: int, bound: int | None
) -> None:
    if not is_small(program, 400):
        return

    def make() -> PreemptionBounding:
        return PreemptionBounding(bound)

    whole, expected = alone(make, program)
    parts, found = divided(make, program, seed)
    assert found.classes == expected.classes
    assert found.finals == expected.finals
    assert set(found.schedules.values()) <= {1}
    # Without the cache of the others a part may not know that what is beyond its bound is known.
    assert whole.complete or not parts.complete


@several
@given(programs, st.integers(0, 2**32), st.sampled_from([0, 1, 2, None]))
def test_a_shared_cache_loses_nothing(program: Program, seed: int, bound: int | None) -> None:
    if not is_small(program, 400):
        return
    shared = PreemptionBounding(bound)
    shared.begin_sharing()

    def make() -> PreemptionBounding:
        strategy = PreemptionBounding(bound)
        strategy._visited = shared._visited
        return strategy

    _, expected = alone(lambda: PreemptionBounding(bound), program)
    _, found = divided(make, program, seed)
    assert found.classes == expected.classes
    assert found.finals == expected.finals
    assert set(found.schedules.values()) <= {1}


@several
@given(randoms, st.sets(st.sampled_from(["timeouts", "choices"])), st.integers(0, 2**32))
def test_a_reduction_divided_executes_each_graph_once(
    random: Random, features: set[str], seed: int
) -> None:
    made = program(random, frozenset(features))
    if not is_small(made, 400):
        return
    _, expected = alone(OptimalReduction, made)
    parts, found = divided(OptimalReduction, made, seed)
    assert found.classes == expected.classes
    assert found.finals == expected.finals
    assert sum(found.schedules.values()) == len(found.classes)
    assert isinstance(parts, OptimalReduction)
    assert parts.redundant == 0


@several
@given(randoms, st.sets(st.sampled_from(sorted(ALL))), st.integers(0, 2**32), st.data())
def test_a_bounded_reduction_divided_is_the_same_search(
    random: Random, features: set[str], seed: int, data: st.DataObject
) -> None:
    made = program(random, frozenset(features))
    if not is_small(made, 400):
        return
    bound = data.draw(st.sampled_from([0, 1, 2, None]))
    whole, expected = alone(lambda: BoundedReduction(bound), made)
    parts, found = divided(lambda: BoundedReduction(bound), made, seed)
    assert found.schedules == expected.schedules
    assert set(found.schedules.values()) == {1}
    assert parts.exhausted
    assert parts.complete == whole.complete
    assert parts.covered() == whole.covered()


@pytest.mark.parametrize("name", ["random", "pct", "pos", "surw", "rff"])
@given(program=programs, seed=st.integers(0, 2**32))
@settings(several, max_examples=examples(10))
def test_randomised_strategies_divided_execute_the_same_plans(
    name: str, program: Program, seed: int
) -> None:
    def make() -> Divisible:
        return named(name, 60)

    whole, expected = alone(make, program)
    parts, found = divided(make, program, seed)
    assert found.policies == expected.policies
    assert found.by_position == expected.by_position
    assert parts.covered() == whole.covered()


@several
@given(programs, st.integers(0, 2**32), st.sampled_from([0, 1, 2, None]))
def test_bounding_of_delays_divided_is_the_same_search(
    program: Program, seed: int, bound: int | None
) -> None:
    if not is_small(program, 400):
        return

    def make() -> DelayBounding:
        return DelayBounding(bound, caching=False)

    whole, expected = alone(make, program)
    parts, found = divided(make, program, seed)
    assert found.schedules == expected.schedules
    assert parts.complete == whole.complete


LOST_UPDATE = {
    number: Program(
        tuple(
            (
                "0" if task == 0 else f"0.{task}",
                (Instruction("read", "x"), Instruction("write", "x", 1)),
            )
            for task in range(number)
        )
    )
    for number in (2, 3)
}


@pytest.mark.parametrize(("tasks", "classes"), [(2, 4), (3, 36)])
# In the last three something is found for a node while nobody knows how its branch began.
@pytest.mark.parametrize("seed", [*range(6), 46, 71, 112])
def test_a_lost_update_has_as_many_classes_however_it_is_divided(
    tasks: int, classes: int, seed: int
) -> None:
    if tasks == 2:
        # Two reads commute, two writes do not.
        classes = len(alone(DepthFirst, LOST_UPDATE[2])[1].classes)
    parts, found = divided(OptimalReduction, LOST_UPDATE[tasks], seed)
    assert len(found.classes) == sum(found.schedules.values()) == classes
    assert parts.complete


def named(name: str, executions: int) -> Divisible:
    strategy = strategy_named(name, Options(executions=executions, seed=3))
    assert is_divisible(strategy)
    return strategy


@pytest.mark.parametrize("name", sorted(STRATEGIES))
def test_every_strategy_goes_on_from_its_state_as_if_nothing_had_been(name: str) -> None:
    program, random = LOST_UPDATE[3], Random(3)
    whole, expected = alone(lambda: named(name, 70), program, 70)
    strategy, log = named(name, 70), Log(program)
    while sum(log.schedules.values()) < 70 and log.step(strategy):
        if random.random() < 0.3:
            if random.random() < 0.5:
                strategy.next_plan()
            state = through_json(strategy.state())
            strategy = named(name, 70)
            strategy.restore(state)
    assert list(log.schedules.items()) == list(expected.schedules.items())
    assert strategy.covered() == whole.covered()


@several
@given(randoms, st.integers(0, 2**32))
def test_a_reduction_divided_loses_no_graph_when_executions_fail(random: Random, seed: int) -> None:
    made = program(random, ALL - {"yields"})
    if not is_small(made, 400):
        return
    _, expected = alone(DepthFirst, made)
    parts, found = divided(OptimalReduction, made, seed)
    assert found.classes == expected.classes
    assert found.finals == expected.finals
    assert parts.complete


def test_what_was_handed_out_can_come_back_untouched() -> None:
    for seed in range(8):
        whole = UniformSampling(seed)
        log = Log(LOST_UPDATE[3])
        for _ in range(30):
            log.step(whole)
        before = whole.progress()
        pieces = [whole.take_piece(100) for _ in range(4)]
        for piece in pieces:
            if piece is not None:
                whole.merge(through_json(piece))
        assert pieces[0] is not None
        assert whole.progress() == before
        while log.step(whole):
            pass
        assert set(log.schedules.values()) == {1}
        assert whole.complete


@several
@given(programs, st.integers(0, 2**32))
def test_auto_divided_comes_to_the_same_end(program: Program, seed: int) -> None:
    if not is_small(program, 100):
        return
    _, expected = alone(OptimalReduction, program)
    parts, found = divided(lambda: named("auto", 3_000), program, seed)
    assert parts.complete
    assert found.finals >= expected.finals
    assert found.classes >= expected.classes


@pytest.mark.parametrize("strategy", [DepthFirst(), PreemptionBounding(), RandomWalk(), PCT()])
def test_a_state_of_another_strategy_is_refused(strategy: Divisible) -> None:
    state = strategy.state()
    with pytest.raises(StateError, match="not of"):
        strategy.restore({**state, "strategy": "another"})
    with pytest.raises(StateError, match="version 99"):
        strategy.restore({**state, "version": 99})


def test_a_saved_search_goes_on_where_it_was() -> None:
    random = Random(3)
    program = Program(
        tuple(
            (task, (Instruction("read", "x"), Instruction("write", "x", 1)))
            for task in ("0", "0.1", "0.2")
        )
    )
    for make in (
        DepthFirst,
        PreemptionBounding,
        lambda: RandomWalk(1, 50),
        lambda: PCT((1, 2), 1, 50),
    ):
        strategy, log = make(), Log(program)
        expected = alone(make, program)[1]
        while log.step(strategy):
            if random.random() < 0.3:
                state = through_json(strategy.state())
                strategy = make()
                strategy.restore(state)
        assert log.schedules == expected.schedules
        assert list(log.policies) == list(expected.policies)


def test_nothing_is_handed_out_twice() -> None:
    strategy = DepthFirst()
    assert strategy.take_piece(10) is not None
    assert strategy.take_piece(10) is None
    assert strategy.next_plan() is None


@pytest.mark.parametrize(
    "make", [DepthFirst, PreemptionBounding, OptimalReduction, BoundedReduction]
)
def test_one_path_is_cut_into_as_many_pieces_as_are_wanted(make: Make) -> None:
    def pieces(*wanted: int) -> list[State]:
        strategy, log = make(), Log(LOST_UPDATE[3])
        for _ in range(3):
            log.step(strategy)
        taken = [strategy.take_piece(100, each) for each in wanted]
        return [piece for piece in taken if piece is not None]

    assert len(pieces(1)) == 1
    assert len(pieces(2, 1)) == 2
    whole, cut = pieces(1)[0], pieces(2)[0]
    worker = make()
    worker.restore(whole)
    assert worker.can_be_cut()
    assert whole != cut


def test_what_is_left_of_a_piece_is_only_worth_cutting_if_there_are_two_of_it() -> None:
    for make in (DepthFirst, PreemptionBounding, OptimalReduction, BoundedReduction):
        strategy, log = make(), Log(LOST_UPDATE[2])
        while log.step(strategy):
            pass
        assert not strategy.can_be_cut()
    assert not RandomWalk().can_be_cut()


def test_the_empty_plan_is_what_pct_learns_from_first() -> None:
    strategy = PCT()
    assert strategy.take_piece(10) is None
    assert strategy.next_plan() == Plan()


@several
@given(programs, st.integers(0, 2**32))
def test_uniform_sampling_divided_executes_each_schedule_once(program: Program, seed: int) -> None:
    if not is_small(program, 400):
        return

    def make() -> UniformSampling:
        return UniformSampling(seed)

    whole, expected = alone(make, program)
    parts, found = divided(make, program, seed)
    assert set(found.schedules.values()) == {1}
    if parts.exhausted:
        assert found.schedules == expected.schedules
        assert parts.covered() == whole.covered()
    assert parts.complete == (parts.exhausted and whole.complete)
