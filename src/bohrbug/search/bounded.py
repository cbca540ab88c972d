"""Iterative bounding: all schedules that cost nothing, then all that cost one, then two, ..."""

from __future__ import annotations

import sys
from array import array
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any

from bohrbug.model.happens_before import choice_digest, options_digest, state_hashes
from bohrbug.model.plan import Choice, Plan
from bohrbug.model.trace import Trace
from bohrbug.search.branching import (
    BRANCHING_LIMIT,
    counted,
    last_branching_step,
)
from bohrbug.search.divisible import State
from bohrbug.search.estimates import (
    REDUCED_POWER,
    Estimate,
    share_of_tree,
    size_of_bounded_tree,
)
from bohrbug.search.keys import KeySet, new_keys
from bohrbug.search.order_of_trace import fairness_memory
from bohrbug.search.shared_keys import SharedKeys
from bohrbug.search.systematic import PrefixSearch
from bohrbug.search.tree import Subtrees
from bohrbug.search.waiting import Branch, Waiting

CACHE_LIMIT = 1_000_000
"""Visited states that are remembered, at 11 to 21 bytes each."""

WAITING_LIMIT = 5_000_000
"""Branches that wait for a later bound, at some 12 bytes each."""


class BoundedSearch(PrefixSearch):
    """All schedules in the order of their cost, with happens-before caching.

    What costs how much is said by a subclass: the preemptions of a schedule
    (:class:`~bohrbug.search.preemption_bounding.PreemptionBounding`) or its delays
    (:class:`~bohrbug.search.delay_bounding.DelayBounding`).  All schedules that cost
    ``c`` are executed before any that costs ``c + 1``.  Within a bound the
    search is depth first.  The branches that cost something wait, in compact
    form, for their bound.

    *Happens-before caching* (CHESS, OSDI 2008, section 4.4.2).  The unit is the edge: task (or
    value) ``o`` taken in the state ``s``, the happens-before graph so far.  An edge that was
    taken before is not taken again, and an execution that continues along such an
    edge is not branched behind it.  It is sound for the bounded search because:

    1. The pair ``(s, o)`` determines all that a bounded search may depend on:
       the state after the step, and the task that ran last, from which the costs
       of the next options follow.  (The state alone would not do: Coons, Musuvathi and
       McKinley, OOPSLA 2013, on why naive pruning of a bounded search loses schedules.)
    2. Edges are first taken in the order of their cost: an edge is
       recorded when it is executed, or scheduled for execution within the
       current bound, never when it is put off to a later one.  So whatever was
       recorded had at least as much of the bound left as whoever meets it now.
    3. Every recorded edge is executed before its bound is completed, and the
       execution that takes it first branches at the node behind it over *all*
       options, for each of which an edge is recorded, found recorded, or put
       off.  The graphs grow with each step, so the argument is by induction on
       the steps that are left: whatever can be reached behind a recorded edge
       with the rest of the bound is reached.

    Fairness makes options depend on who yielded, which the graph does not
    tell, and on who has run since; from the first yield of an execution on, the options and what
    fairness remembers are therefore part of the state.  The premise is CHESS's: racing
    accesses that are no scheduling points, and reading the clock, are not in the graph.

    Memory: :data:`CACHE_LIMIT` and :data:`WAITING_LIMIT`.  A full cache makes the
    search repeat itself, never miss anything; branches beyond the other limit are
    dropped, and then no bound after that is called covered.

    *Several processes* share the cache of edges (:class:`SharedKeys`).  What it may lose
    makes the search repeat itself, so that the number of executions can differ a little
    from one exploration to the next; the argument above holds, as all of them work on
    the same bound, which is completed when every piece has come back.

    Parameters:
        bound: the largest cost, or ``None`` for no bound.
        caching: whether to use happens-before caching.
        steps: branch at the first ``steps`` steps of an execution only.
        cache_limit: states to remember.
        waiting_limit: branches to keep for later bounds.
    """

    name: str
    unit: str
    """What is counted, such as ``preemption``."""

    def options(
        self, trace: Trace, step: int, most: int
    ) -> tuple[list[Choice], list[tuple[Choice, int]]]:
        """The choices not made at a step that the plan left to the policy.

        Parameters:
            trace: the execution.
            step: the step.
            most: choices that cost more may be left out.

        Returns:
            those that cost nothing, and pairs of a choice that costs something and its cost.
        """
        raise NotImplementedError

    def __init__(
        self,
        bound: int | None = 2,
        *,
        caching: bool = True,
        steps: int = BRANCHING_LIMIT,
        cache_limit: int = CACHE_LIMIT,
        waiting_limit: int = WAITING_LIMIT,
    ) -> None:
        if bound is not None and bound < 0:
            raise ValueError(f"the {self.unit} bound can't be {bound}; give 0 or more, or None")
        self._bound = bound
        self._caching = caching
        self._cache_limit = cache_limit
        self._waiting_limit = waiting_limit
        super().__init__(steps)

    def restart(self) -> None:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        super().restart()
        self._cost = 0
        self._waiting = Waiting(self._waiting_limit, self._caching)
        self._beyond_bound = False
        self._visited: KeySet | SharedKeys = new_keys()
        self._covered_bound: int | None = None
        self._bound_is_whole = True
        # For the estimate: executions within this bound, and how many it takes without
        # preemptions or delays, estimated when its tree was divided.
        self._within_bound = 0
        self._undivided = 0.0
        # A part of one bound, with a worker process; the next bound is begun elsewhere.
        self._is_piece = False

    def _next_prefix(self) -> tuple[Choice, ...] | None:
        while True:
            prefix = self._subtrees.take()
            if prefix is not None:
                return prefix
            if self._takes_deferred():
                return self._subtrees.take()
            if self._is_piece:
                return None
            self._covered_bound = self.completed_bound
            cost = self._waiting.next_bound
            if cost is None:
                return None
            self._cost = cost
            self._within_bound = 0
            self._bound_is_whole = not self._waiting.dropped
            self._waiting.begin(cost)

    def _takes_deferred(self) -> bool:
        """Go on with the next branch that waits for the current bound and is not known by now."""
        while taken := self._waiting.take():
            record, index = taken
            if self._caching:
                key = record.keys[index]
                if key in self._visited:
                    continue
                if len(self._visited) < self._cache_limit:
                    self._visited.add(key)
            self._subtrees.add(self._waiting.prefix(record, index))
            return True
        return False

    def lookahead_plans(self, most: int) -> Sequence[Plan]:
        """See :class:`~bohrbug.search.strategy.Foresighted`; only those of the current bound.

        One of those that were put off may be known by the time when its turn comes.
        """
        prefixes = chain(self._subtrees.next_ones(), self._unknown_deferred())
        return [Plan(prefix) for prefix in islice(prefixes, most)]

    def _unknown_deferred(self) -> Iterator[tuple[Choice, ...]]:
        """The branches that wait for the current bound and lead along edges not taken so far."""
        given: set[int] = set()
        for record, index in self._waiting.next_ones():
            if self._caching:
                key = record.keys[index]
                if key in self._visited or key in given:
                    continue
                given.add(key)
            yield self._waiting.prefix(record, index)

    def observe(self, trace: Trace) -> None:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        start = len(self._prefix or ())
        self._prefix = None
        self._tally.count(trace, self._limit)
        self._within_bound += 1
        end = last_branching_step(trace, self._limit)
        if start >= end:
            return
        # Looked at once per execution: the limit may be passed by the steps of one.
        recording = len(self._visited) < self._cache_limit
        branches, later = self._branches(trace, start, end, recording)
        if branches:
            self._subtrees.extend(trace.choices, branches)
        for more in sorted(later):
            cost = self._cost + more
            if self._bound is not None and cost > self._bound:
                self._beyond_bound = True
            else:
                self._waiting.put_off(trace.choices, later[more], cost)

    def _branches(
        self, trace: Trace, start: int, end: int, recording: bool
    ) -> tuple[list[tuple[int, list[Choice]]], dict[int, list[Branch]]]:
        """What can be taken now, and what has to wait, by what it costs.

        Parameters:
            trace: an execution.
            start: the first step that was not in the prefix.
            end: the step before which branches are looked for.
            recording: whether edges are put into the cache.
        """
        choices = trace.choices
        all_enabled = trace.enabled
        all_timed = trace.timed
        arities = trace.arities
        caching = self._caching
        visited = self._visited
        states = self._states(trace, end) if caching else []
        branches: list[tuple[int, list[Choice]]] = []
        later: dict[int, list[Branch]] = {}
        # Of those that cost more than this bound or a later one, only one is of interest.
        within = sys.maxsize if self._bound is None else self._bound - self._cost
        most = within if self._beyond_bound else sys.maxsize
        for step in range(start, end):
            state = 0
            known = False
            if caching:
                state = states[step]
                key = state ^ choice_digest(choices[step])
                known = key in visited
                if recording:
                    visited.add(key)
            if len(all_enabled[step]) + len(all_timed[step]) != 1 or step in arities:
                free, costly = self.options(trace, step, most)
                if caching and free:
                    free = [each for each in free if state ^ choice_digest(each) not in visited]
                    if recording:
                        visited.update([state ^ choice_digest(each) for each in free])
                key = 0
                for choice, cost in costly:
                    if cost > most:
                        continue
                    if caching:
                        key = state ^ choice_digest(choice)
                        if key in visited:
                            continue
                    later.setdefault(cost, []).append((step, choice, key))
                    if cost > within:
                        most = within
                if free:
                    free.reverse()
                    branches.append((step, free))
            if known:
                # All behind this edge was or will be executed, with as much of the bound
                # left.  Not so the other options here: they may have cost more where the
                # edge was taken before, after another task; so the test comes last.
                break
        return branches, later

    def _states(self, trace: Trace, end: int) -> list[int]:
        """What the state before each step is known by in the cache."""
        states = state_hashes(trace, end)
        if True in trace.yielded:
            # What fairness allows is no part of the graph.
            first = trace.yielded.index(True)
            for step in range(first, end):
                states[step] ^= options_digest(trace.enabled[step], trace.timed[step])
            memory = fairness_memory(trace, end)
            for step, remembered in enumerate(memory, end - len(memory)):
                states[step] ^= options_digest(remembered, ("fairness",))
        return states

    @property
    def completed_bound(self) -> int | None:
        """The largest cost up to which all schedules were executed."""
        if self._bound_is_whole and self._is_bound_done():
            if self._waiting.dropped:
                return self._cost
            next_bound = self._waiting.next_bound
            if next_bound is not None:
                return next_bound - 1
            return self._bound if self._beyond_bound else self._cost
        return self._covered_bound

    def _is_bound_done(self) -> bool:
        return self._prefix is None and not self._subtrees and not self._waiting.now

    @property
    def exhausted(self) -> bool:
        """Whether all schedules within the bound were executed."""
        waiting = self._waiting
        return self._is_bound_done() and waiting.next_bound is None and not waiting.dropped

    @property
    def complete(self) -> bool:
        """Whether all schedules were executed, whatever they cost."""
        return self.exhausted and not self._beyond_bound and self._tally.is_whole

    @property
    def estimate(self) -> Estimate | None:
        """How many executions it takes, from how many branches they put off.

        See :func:`~bohrbug.search.estimates.size_of_bounded_tree`.
        """
        executed = self._tally.executions
        if not executed:
            return None
        open_here = self._subtrees.waiting + self._waiting.now
        level = 0.0
        if not self._cost and open_here:
            level = self._undivided or self._size_of_first_level()
        return size_of_bounded_tree(
            executed,
            self._within_bound,
            open_here,
            level,
            self._waiting.at,
            self._cost,
            self._bound,
            reduced=self._caching,
        )

    def _size_of_first_level(self) -> float:
        """How many executions cost nothing, estimated."""
        share = share_of_tree(self._subtrees.levels())
        if not share:
            return 0.0
        return self._within_bound * share ** (-REDUCED_POWER if self._caching else -1)

    @property
    def completed(self) -> str | None:
        """See :class:`~bohrbug.search.strategy.Bounding`."""
        bound = self.completed_bound
        if bound is None or not self.exhausted or not self._tally.is_whole:
            return None
        return f"at most {counted(bound, self.unit)}" if bound else f"no {self.unit}s"

    def covered(self) -> str:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        executions = counted(self._tally.executions, "execution")
        if self.exhausted and not self._beyond_bound:
            return self._tally.sentence(f"all schedules ({executions})", self._limit)
        bound = self.completed_bound
        if bound is None:
            what = f"some schedules without {self.unit}s ({executions})"
        else:
            what = (
                f"all schedules with at most {counted(bound, self.unit)}"
                if bound
                else f"all schedules without {self.unit}s"
            )
            if self._cost > bound:
                what += f" and some with {self._cost}"
            what += f" ({executions})"
        text = self._tally.sentence(what, self._limit)
        if self._waiting.dropped:
            text += f"; {self._waiting.dropped:,} branches were dropped to save memory"
        return text

    def progress(self) -> str:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        waiting = self._subtrees.waiting + self._waiting.now
        return f"bound {self._cost}, {waiting:,} waiting"

    # -- dividing ----------------------------------------------------------------------

    def can_be_cut(self) -> bool:
        """See :class:`~bohrbug.search.divisible.Divisible`."""
        return self._subtrees.waiting + self._waiting.now > 1

    def _all(self) -> State:
        work = self._piece(self._subtrees.to_json(), self._waiting.current_to_json())
        work["later"] = self._waiting.later_to_json()
        if not self._is_piece:
            visited = self._visited
            keys = visited.to_array() if isinstance(visited, SharedKeys) else array("q", visited)
            work["whole"] = {
                "covered_bound": self._covered_bound,
                "bound_is_whole": self._bound_is_whole,
                "undivided": self._undivided,
                "visited": b64encode(keys.tobytes()).decode("ascii"),
            }
        return work

    def _piece(self, subtrees: dict[str, Any], current: list[list[Any]]) -> State:
        return {
            "cost": self._cost,
            "alphabet": self._waiting.alphabet_to_json(),
            "subtrees": subtrees,
            "current": current,
            "later": [],
        }

    def _become(self, state: State) -> None:
        visited = self._visited
        self.restart()
        self._subtrees = Subtrees()
        self._cost = state["cost"]
        self._is_piece = "whole" not in state
        if not self._is_piece:
            whole = state["whole"]
            self._covered_bound = whole["covered_bound"]
            self._bound_is_whole = whole["bound_is_whole"]
            self._undivided = whole["undivided"]
            keys = array("q")
            keys.frombytes(b64decode(whole["visited"]))
            self._visited = new_keys(keys)
        elif isinstance(visited, SharedKeys):
            # What is shared with other processes stays so.
            self._visited = visited
        self._add(state)

    def _cut(self, most: int, wanted: int) -> State | None:
        # A piece is of the current bound.
        if not self._cost and not self._undivided:
            self._undivided = self._size_of_first_level()
        part = self._subtrees.part(wanted)
        if part is not None:
            return self._piece(part, [])
        most = max(min(most, self._waiting.now // 8, 256), 1)
        taken = self._waiting.part_with(most)
        return self._piece(Subtrees().to_json(), taken) if taken else None

    def _add(self, state: State) -> None:
        self._subtrees.merge(state["subtrees"])
        self._waiting.merge(state["alphabet"], state["current"], state["later"])

    def _figures(self) -> State:
        return {
            **super()._figures(),
            "dropped": self._waiting.dropped,
            "within_bound": self._within_bound,
            "beyond_bound": self._beyond_bound,
        }

    def _add_figures(self, figures: State) -> None:
        super()._add_figures(figures)
        self._waiting.dropped += figures["dropped"]
        self._within_bound += figures["within_bound"]
        self._beyond_bound |= figures["beyond_bound"]

    def begin_sharing(self) -> None:
        """See :class:`~bohrbug.search.divisible.Divisible`."""
        if self._caching and not isinstance(self._visited, SharedKeys):
            self._visited = SharedKeys(self._visited, self._cache_limit)

    def lost_a_worker(self) -> None:
        """See :class:`~bohrbug.search.divisible.Divisible`: what it has seen may not be done."""
        if isinstance(self._visited, SharedKeys):
            self._visited.clear()
