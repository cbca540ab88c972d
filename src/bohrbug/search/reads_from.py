"""Greybox search by who reads from whom."""

from __future__ import annotations

from random import Random

from bohrbug.model.operation import Point, ResourceId
from bohrbug.model.plan import Constraint, Plan, ReadsFrom
from bohrbug.model.trace import Trace
from bohrbug.search.branching import BRANCHING_LIMIT, Tally, counted
from bohrbug.search.conflicts import Conflicts
from bohrbug.search.divisible import State
from bohrbug.search.drawn import DrawnInGenerations
from bohrbug.search.generations import SMALLEST_PIECE, Generations
from bohrbug.search.plain import EventTable, point_from_json, point_to_json
from bohrbug.search.reads_from_corpus import Corpus, Seen
from bohrbug.search.sampling import UNFILTERED_SHARE
from bohrbug.search.seeds import Seeds

UNCONSTRAINED_SHARE = 0.1
"""The part of the executions without constraints, as POS."""

BATCH = 64
"""The most executions that are planned from the same knowledge, a power of 2."""

PARTS = 8
"""A batch is at most such a part of the executions before it, so that little is learned late."""


class ReadsFromFuzzing(DrawnInGenerations):
    """RFF (Wolff, Shi, Duck, Mathur and Roychoudhury, *Greybox fuzzing for concurrency testing*).

    ASPLOS 2024.  What is mutated is no schedule but a set of constraints, each of
    which says that one event reads from another, or not; the policy
    :class:`~bohrbug.model.plan.ReadsFrom` meets them as far as it can and leaves the rest to
    POS.  An execution with a combination of pairs that no other had is kept to go on from
    (:class:`~bohrbug.search.reads_from_corpus.Corpus`).

    A hand-over of a lock is a pair like that of a write and a read, and so is what
    happens between the operations of queues, events and conditions.  Constraints are on what
    tasks have been in conflict about; in :data:`UNFILTERED_SHARE` of the executions
    every operation is a decision.

    Plans are made in batches, of one in the beginning and at last of :data:`BATCH`, from what was
    known when the batch began; so several processes can make the executions of one in any order.
    What they show is taken in in the order of the plans, whoever was first, and the next batch
    begins when all of the last has come back.

    Guarantee: none; the search goes where it has found something new.

    Parameters:
        seed: determines all plans.
        executions: stop after so many, or never if ``None``.
        smallest_piece: see :class:`~bohrbug.search.generations.Generations`.
    """

    name = "rff"
    learns_slowly = True

    def __init__(
        self,
        seed: int = 0,
        executions: int | None = None,
        smallest_piece: int = SMALLEST_PIECE,
    ) -> None:
        self._seeds = Seeds(seed)
        self._generations = Generations(executions, BATCH, PARTS, smallest_piece)
        self.restart()

    def restart(self) -> None:
        """See :class:`~bohrbug.search.strategy.Strategy`; the budget is not given again."""
        self._plan: Plan | None = None
        self._generations.restart()
        self._tally = Tally()
        self._conflicts = Conflicts()
        self._corpus = Corpus()
        self._since_new = 0
        # What is in effect in this batch: where tasks conflict and about what, and its plans.
        self._points: frozenset[Point] = frozenset()
        self._resources: frozenset[ResourceId] = frozenset()
        self._batch: dict[int, ReadsFrom] = {}
        # What executions of this batch have shown, but for those whose turn to be taken in has
        # come; and the number of that one whose turn is next.
        self._seen: dict[int, Seen] = {}
        self._next_seen = -1
        # In a worker: how much of the conflicts the first process knows, and what was told of
        # executions of the batch with that number.
        self._is_piece = False
        self._mark = 0
        self._told: list[Seen] = []
        self._told_in = -1

    # -- plans -------------------------------------------------------------------------

    def next_plan(self) -> Plan | None:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        if self._has_learned and not self._generations.can_take_piece:
            # A batch is made of what all executions of the last one have shown.
            return self._plan
        return super().next_plan()

    @property
    def _has_learned(self) -> bool:
        """Whether there is anything to go on from."""
        return self._is_piece or bool(self._corpus)

    def _plan_at(self, index: int) -> Plan:
        return Plan((), self._batch[index])

    def _take_effect(self) -> None:
        """Make the plans of the next batch."""
        first = self._generations.begin
        begin, end = self._generations.generation
        self._use_conflicts()
        self._batch = {index: self._policy(index) for index in range(first, first + end - begin)}
        self._next_seen = first

    def _use_conflicts(self) -> None:
        self._points = self._conflicts.points
        self._resources = frozenset(self._conflicts.resources)

    def _policy(self, index: int) -> ReadsFrom:
        random = Random(self._seeds.at(index))
        constraints: tuple[Constraint, ...] = ()
        if random.random() >= UNCONSTRAINED_SHARE:
            constraints = self._corpus.mutant(random)
        everywhere = random.random() < UNFILTERED_SHARE
        return ReadsFrom(random.getrandbits(32), constraints, None if everywhere else self._points)

    # -- what executions show ------------------------------------------------------------

    def observe(self, trace: Trace) -> None:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        self._plan = None
        index = self.position()
        self._generations.count(index is not None)
        self._tally.count(trace, BRANCHING_LIMIT)
        if index is None:
            self.learn(trace)
        else:
            self._conflicts.learn(trace)
            self._seen[index] = self._corpus.knowledge.look_at(trace, self._resources)
            self._take_in_seen()

    def learn(self, trace: Trace) -> None:
        """Take in an execution that another strategy has planned; it may be gone on from."""
        self._conflicts.learn(trace)
        if not self._generations.has_begun:
            self._use_conflicts()
        self._count(self._corpus.knowledge.look_at(trace, self._resources), ())

    def learn_from(self, lessons: State) -> None:
        """See :class:`~bohrbug.search.strategy.Taught`: only where tasks conflict."""
        self._conflicts.merge(lessons["touches"])

    def _take_in_seen(self) -> None:
        """Take in what was seen, in the order of the plans, as far as there is no gap."""
        while not self._is_piece and self._next_seen in self._seen:
            seen = self._seen.pop(self._next_seen)
            self._count(seen, self._batch[self._next_seen].constraints)
            self._next_seen += 1

    def _count(self, seen: Seen, constraints: tuple[Constraint, ...]) -> None:
        is_new = self._corpus.merge(seen, constraints)
        self._since_new = 0 if is_new else self._since_new + 1

    # -- what to say -----------------------------------------------------------------------

    @property
    def _combinations(self) -> str:
        number = len(self._corpus.knowledge.executions)
        return f"{counted(number, 'combination')} of reads-from"

    def covered(self) -> str:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        text = counted(self._tally.executions, "execution") + " guided by reads-from"
        if not self._tally.executions:
            return text
        text += f", with {self._combinations}"
        if self._since_new:
            text += f", none of them new in the last {self._since_new:,}"
        return f"{text}; there is no bound on what they missed"

    def progress(self) -> str:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        return self._combinations

    # -- dividing --------------------------------------------------------------------------

    def _all(self) -> State:
        table = EventTable()
        work = self._piece_of(self._generations.state(), table, self._batch)
        if not self._is_piece:
            work["whole"] = {
                "corpus": self._corpus.to_json(table),
                "next_seen": self._next_seen,
                "since_new": self._since_new,
            }
        return work

    def _piece(self, generations: State) -> State:
        batch = {
            index: self._batch[index]
            for begin, end in generations["left"]
            for index in range(begin, end)
        }
        return self._piece_of(generations, EventTable(), batch)

    def _piece_of(
        self, generations: State, table: EventTable, batch: dict[int, ReadsFrom]
    ) -> State:
        """A piece with these plans; what is in the table may become more."""
        return {
            **generations,
            "points": [point_to_json(point) for point in self._points],
            "resources": list(self._resources),
            "batch": [
                [
                    index,
                    policy.seed,
                    table.constraints_to_json(policy.constraints),
                    policy.points is None,
                ]
                for index, policy in batch.items()
            ],
            "events": table.rows,
        }

    def _become(self, state: State) -> None:
        # A worker keeps what it knows from one piece to the next, and what it has told in an
        # earlier batch it need not tell again.
        if "whole" not in state:
            self._begin_piece(state["first"] + state["learned_at"])
        else:
            self.restart()
        table = EventTable(state["events"])
        self._generations.restore(state)
        self._tally = Tally()
        self._points = frozenset([point_from_json(point) for point in state["points"]])
        self._resources = frozenset(state["resources"])
        self._batch = {
            index: ReadsFrom(
                seed, table.constraints_from_json(rows), None if everywhere else self._points
            )
            for index, seed, rows, everywhere in state["batch"]
        }
        self._seen = {}
        if not self._is_piece:
            whole = state["whole"]
            self._corpus = Corpus.from_json(whole["corpus"], table)
            self._next_seen = whole["next_seen"]
            self._since_new = whole["since_new"]

    def _begin_piece(self, batch: int) -> None:
        """Get ready for a piece of a batch, which begins with that number."""
        if self._is_piece:
            self._told += self._seen.values()
        if batch != self._told_in:
            # All of earlier batches has come to the first process by now.
            for seen in self._told:
                self._corpus.knowledge.merge(seen)
            self._told, self._told_in = [], batch
        self._plan = None
        self._is_piece = True
        self._mark = self._conflicts.known

    def _figures(self) -> State:
        table = EventTable()
        return {
            **super()._figures(),
            "touches": self._conflicts.since(self._mark),
            "seen": [[index, seen.to_json(table)] for index, seen in self._seen.items()],
            "events": table.rows,
        }

    def _add_figures(self, figures: State) -> None:
        super()._add_figures(figures)
        self._conflicts.merge(figures["touches"])
        table = EventTable(figures["events"])
        self._seen |= {index: Seen.from_json(row, table) for index, row in figures["seen"]}
        self._take_in_seen()
