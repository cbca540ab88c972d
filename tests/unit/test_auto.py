"""``auto``: shares of the members, reach, proof, and what it says."""

from __future__ import annotations

import itertools
import re
from collections import Counter

import pytest

from bohrbug.model.plan import Plan, UniformRandom
from bohrbug.model.trace import Trace
from bohrbug.report.verdict import size_in_words
from bohrbug.search.auto import Auto
from bohrbug.search.dfs import DepthFirst
from bohrbug.search.estimates import Estimate
from bohrbug.search.novelty import Novelty
from bohrbug.search.pct import PCT
from bohrbug.search.portfolio import Member, Rotation
from bohrbug.search.preemption_bounding import PreemptionBounding
from bohrbug.search.random_walk import RandomWalk
from bohrbug.search.registry import Options, strategy_named
from tests.simulated import Instruction, Program, count_schedules, execute

LARGE = Program(
    tuple((task, (Instruction("write", "x", 1),) * 8) for task in ("0", "0.1", "0.2", "0.3", "0.4"))
)
MIDDLE = Program(tuple((task, (Instruction("write", "x", 1),) * 2) for task in ("0", "0.1", "0.2")))
SMALL = Program((("0", (Instruction("write", "x"),)), ("0.1", (Instruction("write", "x"),))))


def auto(executions: int | None = 1_000, bound: int | None = 2) -> Auto:
    return Auto(
        [DepthFirst(), PreemptionBounding(bound)],
        [(PCT((1, 2), 0), 1.0), (RandomWalk(0), 1.0)],
        executions,
    )


def explore(strategy: Auto, limit: int, program: Program) -> list[tuple[str, Plan]]:
    """The names of the members and their plans."""
    made = []
    for plan in itertools.islice(iter(strategy.next_plan, None), limit):
        assert plan is not None
        assert strategy.next_plan() == plan
        made.append((strategy.current.name, plan))
        strategy.observe(execute(program, plan)[0])
    return made


# -- the rotation ------------------------------------------------------------------------


def test_shares_are_kept_exactly() -> None:
    members = [Member(RandomWalk(), 3.0), Member(RandomWalk(), 1.0)]
    rotation = Rotation(members)
    turns = [rotation.next() for _ in range(40)]
    assert sum(turn is members[0] for turn in turns) == 30
    for window in range(0, 40, 4):
        assert sum(turn is members[0] for turn in turns[window : window + 4]) == 3


def test_shares_are_others_in_a_large_space() -> None:
    members = [Member(RandomWalk(), 3.0, 1.0), Member(RandomWalk(), 1.0)]
    rotation = Rotation(members, is_large=True)
    turns = [rotation.next() for _ in range(40)]
    assert sum(turn is members[0] for turn in turns) == 20
    rotation.is_large = False
    turns = [rotation.next() for _ in range(40)]
    assert sum(turn is members[0] for turn in turns) == 30


def test_who_finds_nothing_new_keeps_half_of_its_weight() -> None:
    finder, idler = Member(RandomWalk()), Member(RandomWalk())
    rotation = Rotation([finder, idler])
    counts: Counter[int] = Counter()
    for _ in range(3_000):
        member = rotation.next()
        assert member is not None
        counts[id(member)] += 1
        rotation.reward(member, 1.0 if member is finder else 0.0)
    assert counts[id(finder)] == pytest.approx(2_000, abs=60)
    assert counts[id(idler)] == pytest.approx(1_000, abs=60)


def test_the_rotation_ends_with_its_members() -> None:
    member = Member(RandomWalk())
    rotation = Rotation([member])
    assert rotation.next() is member
    member.is_over = True
    assert rotation.next() is None


# -- auto --------------------------------------------------------------------------------


def test_it_begins_without_preemptions() -> None:
    strategy = auto()
    assert strategy.next_plan() == Plan()
    strategy.observe(execute(LARGE, Plan())[0])
    made = explore(strategy, 100, LARGE)
    # What the members would begin with is known already.
    assert Plan() not in [plan for _, plan in made]


def test_it_depends_on_nothing_but_its_seed() -> None:
    assert explore(auto(), 300, LARGE) == explore(auto(), 300, LARGE)


def test_every_member_has_its_turn() -> None:
    names = Counter(name for name, _ in explore(auto(), 1_000, LARGE))
    assert set(names) == {"dfs", "ipb", "pct", "random"}
    assert names["pct"] > 200
    assert names["random"] > 200
    assert names["ipb"] + names["dfs"] > 100


def test_no_plan_with_a_prefix_is_executed_twice() -> None:
    made = [plan for name, plan in explore(auto(), 500, LARGE) if name == "dfs"]
    assert len(set(made)) == len(made)


def test_what_can_be_exhausted_is() -> None:
    strategy = auto()
    made = explore(strategy, 1_000, MIDDLE)
    assert strategy.complete
    assert strategy.exhausted
    assert strategy.next_plan() is None
    total = count_schedules(MIDDLE)
    # The first execution belongs to nobody, and dfs counts it as its own.
    assert sum(name == "dfs" for name, _ in made[1:]) == total - 1
    # The others had their shares, and not more.
    assert len(made) <= total / 0.4 + 2
    assert strategy.covered_by_member()[0].startswith(f"all schedules ({total} executions)")


def test_what_can_not_be_exhausted_has_a_small_share() -> None:
    names = Counter(name for name, _ in explore(auto(400), 400, LARGE))
    assert names["dfs"] < 60


def test_a_bound_can_be_completed_where_the_whole_can_not() -> None:
    strategy = auto(400, bound=0)
    explore(strategy, 400, LARGE)
    assert not strategy.complete
    assert strategy.completed == "no preemptions"


def test_it_begins_again_when_the_points_change() -> None:
    strategy = auto()
    first = explore(strategy, 50, LARGE)
    strategy.restart()
    assert strategy.next_plan() == Plan()
    again = explore(strategy, 50, LARGE)
    # Seeds go on, everything else begins again.
    assert [name for name, _ in again][:20] == [name for name, _ in first][:20]
    assert strategy._novelty.classes.distinct < 50


def test_it_says_what_each_member_did_and_what_is_left() -> None:
    strategy = auto()
    explore(strategy, 400, LARGE)
    *members, outlook = strategy.covered_by_member()
    assert len(members) == 4
    assert re.fullmatch(
        r"[\d,]+ different behaviours in 4?[\d,]+ randomised executions(, far from all)?:"
        r" about [\d.]+% of further ones would show another",
        outlook,
    )
    estimate = strategy.estimate
    assert estimate is not None
    assert estimate.log_schedules > estimate.log_size
    assert "schedules, of which many behave alike" in size_in_words(estimate)
    assert strategy._novelty.classes.distinct > 100
    assert "; " in strategy.covered()
    assert strategy.progress().startswith(f"{strategy.current.name}: ")


def test_it_needs_members() -> None:
    with pytest.raises(ValueError, match="at least one systematic"):
        Auto([], [(RandomWalk(), 1.0)])
    with pytest.raises(ValueError, match="randomised"):
        Auto([DepthFirst()], [])


class Sized(DepthFirst):
    """Says how large it is."""

    size = 10.0

    @property
    def estimate(self) -> Estimate:
        from math import log

        return Estimate("schedules", log(self.size), 0.0, 0.0, 1, "told")


@pytest.mark.parametrize(
    ("size", "least", "most"), [(50.0, 48, 52), (5_000.0, 38, 42), (5e9, 9, 12)]
)
def test_the_share_follows_the_estimate(size: float, least: int, most: int) -> None:
    member = Sized()
    member.size = size
    strategy = Auto([member], [(RandomWalk(1), 1.0)], 1_000_000)
    names = Counter(name for name, _ in explore(strategy, 101, LARGE))
    assert least <= names["dfs"] <= most


@pytest.mark.parametrize("size", [2.0, 5e9])
def test_there_are_at_least_as_many_executions_as_classes(size: float) -> None:
    member = Sized()
    member.size = size
    strategy = Auto([member], [(RandomWalk(1), 1.0)], 1_000_000)
    explore(strategy, 101, LARGE)
    classes = strategy._novelty.classes.estimate()
    assert classes is not None
    assert 10 < classes.size < 5e9
    assert strategy.estimate is not None
    assert strategy.estimate.size == pytest.approx(max(size, classes.size))


@pytest.mark.parametrize(("size", "share"), [(50.0, 0.5), (5e9, 0.9)])
def test_the_shares_of_samplers_depend_on_whether_the_space_is_large(
    size: float, share: float
) -> None:
    member = Sized()
    member.size = size
    samplers = [(RandomWalk(1), 1.0), (PCT((1, 2), 0), 1.0)]
    strategy = Auto([member], samplers, 1_000_000, in_large=(9.0, 1.0))
    names = Counter(name for name, _ in explore(strategy, 60, LARGE))
    ratio = names["random"] / (names["random"] + names["pct"])
    assert ratio == pytest.approx(share, abs=0.06)
    again = Auto([Sized()], samplers, 1_000_000, in_large=(9.0, 1.0))
    again.restore(strategy.state())
    assert again._rotation.is_large is strategy._rotation.is_large is (size > 1e9)


# -- novelty -----------------------------------------------------------------------------


def how_new(novelty: Novelty, trace: Trace) -> float:
    return novelty.of(trace, novelty.has_new_pair(trace))


def test_novelty_tells_new_pairs_from_new_classes_from_nothing_new() -> None:
    novelty = Novelty()
    plans = [Plan(), Plan(), Plan(("0.1", "0"))]
    # All writes are at the same place here, so that there is one conflict pair.
    assert [how_new(novelty, execute(SMALL, plan)[0]) for plan in plans] == [1.0, 0.0, 0.5]
    assert novelty.classes.distinct == 2


def test_an_empty_trace_is_a_behaviour() -> None:
    novelty = Novelty()
    assert how_new(novelty, Trace()) == 0.5
    assert how_new(novelty, Trace()) == 0.0


def test_random_walks_are_probes() -> None:
    strategy = auto()
    made = explore(strategy, 100, LARGE)
    walks = sum(isinstance(plan.policy, UniformRandom) for _, plan in made)
    assert walks == len(strategy._probes) > 10


@pytest.mark.parametrize(
    ("program", "classes"),
    [
        ([["acquire l", "release l", "read x", "write x"]] * 3, 216),
        ([["read x"] * 5] * 3 + [["write x"]], 216),
        ([["acquire l", "release l"] * 3] * 2 + [["acquire m", "release m"] * 3] * 2, 400),
    ],
)
def test_a_small_space_is_executed_whole_though_one_corner_looks_large(
    program: list[list[str]], classes: int
) -> None:
    # What dpor says itself of the first two is 1,100 and 1,600 in between.
    instructions = Program(
        tuple(
            (f"0.{number}" if number else "0", tuple(Instruction(*each.split()) for each in task))
            for number, task in enumerate(program)
        )
    )
    strategy = strategy_named("auto", Options(executions=1_000))
    executed = 0
    while executed < 1_000 and (plan := strategy.next_plan()) is not None:
        strategy.observe(execute(instructions, plan)[0])
        executed += 1
    assert strategy.complete
    assert classes < executed < 1_000
