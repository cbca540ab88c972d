"""Partial-order reduction within a bound of preemptions."""

from __future__ import annotations

from typing import Any

from bohrbug.model.plan import Choice, Plan
from bohrbug.model.trace import Trace
from bohrbug.search.bounded_dpor_trunk import (
    BoundedNode,
    BoundedSegment,
    BoundedTrunk,
    nodes_from_json,
    nodes_to_json,
    segment_from_json,
    segment_to_json,
)
from bohrbug.search.branching import BRANCHING_LIMIT, Tally, counted, last_branching_step
from bohrbug.search.divisible import VERSION, State, checked_state
from bohrbug.search.path import Path
from bohrbug.search.races_of_trace import RaceFinder
from bohrbug.search.trunk import AttachPoint, Place, hanging_from_json, hanging_to_json

TOLD_TOGETHER = 32
"""Branches for nodes of another process that wait until it is told of them."""


class BoundedReduction(Path[BoundedNode]):
    """Bounded partial-order reduction: all that a number of preemptions can do.

    Coons, Musuvathi and McKinley, *Bounded partial-order reduction*, OOPSLA 2013, section 5.
    As in the original dynamic partial-order reduction (Flanagan and Godefroid, POPL 2005),
    each race adds a branch just before its first step, for the task of the second, or for
    all tasks if that one can't run there.  Leaving out what is beyond the bound would lose
    more than that: the same result may be had with fewer preemptions by switching earlier.
    So each race adds a *conservative* branch too, where the task of the first step began
    to run.  And so does a pair that can't be reversed, such as a release and the acquisition
    that waits for it: switching to a task that then blocks costs nothing on the way back.
    There are no sleep sets and no wakeup trees, which are not sound within a bound; so one
    happens-before graph may be executed several times.

    What is a preemption is defined by :meth:`bohrbug.model.trace.Trace.is_preemption`.

    *Several processes.*  A branch of a node is a piece of work: the prefix and one more choice.
    Whoever has it explores all that is behind, and tells the owner of a node above it which
    choices its races add there; the owner knows which of them were made.  So nothing is executed
    twice, in whatever order pieces come back.

    Parameters:
        bound: the largest number of preemptions, or ``None`` for no bound.
        steps: branch at the first ``steps`` steps of an execution only.
    """

    name = "bpor"

    def __init__(self, bound: int | None = 2, steps: int = BRANCHING_LIMIT) -> None:
        if bound is not None and bound < 0:
            raise ValueError(f"the preemption bound can't be {bound}; give 0 or more, or None")
        if steps < 0:
            raise ValueError(f"the number of steps to branch at can't be {steps}; give 0 or more")
        self._bound = bound
        self._limit = steps
        self.restart()

    def restart(self) -> None:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        self._tally = Tally()
        self._races = RaceFinder(self._limit, irreversible=True)
        self._beyond_bound = False
        self._plan: Plan | None
        self._clear_path()
        self._plan = Plan()
        self._is_fresh = True
        # The nodes above all that is with other processes; only the first process has it.
        self._trunk: BoundedTrunk | None = BoundedTrunk()
        self._piece = self._trunk.new_name()
        self._trunk.attach(self._piece, None)

    def _clear_path(self) -> None:
        self._plan = None
        self._nodes: list[BoundedNode | None] = []
        self._choices: list[Choice] = []
        # The number of preemptions before each step.
        self._preemptions = [0]
        self._start = 0
        self._taken: Choice | None = None
        # The races of what was executed by another process are known to it.
        self._is_cold = False
        # Where the path hangs, and what the owners of the nodes above have to know.
        self._hanging: AttachPoint | None = None
        self._splits = 0
        self._told: set[tuple[int, Choice]] = set()
        self._news: list[tuple[int, Choice]] = []

    def _plan_at(self, depth: int, node: BoundedNode) -> Plan | None:
        if not node.branches:
            return None
        self._start = depth
        self._taken = node.branches.pop(0)
        return Plan((*self._choices[:depth], self._taken), foreseen=depth)

    def observe(self, trace: Trace) -> None:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        plan, self._plan = self._plan, None
        self._taken = None
        self._is_fresh = False
        prefix = len(plan.prefix) if plan is not None else 0
        start = self._start
        self._tally.count(trace, self._limit)
        end = len(trace)
        if trace.divergence is not None:
            end = min(end, trace.divergence.step)
            if end < prefix:
                return
        preemptions = self._preemptions
        counted_from = 0 if self._is_cold else start
        del preemptions[counted_from + 1 :]
        for step in range(counted_from, end):
            cost = trace.is_preemption(step, trace.tasks[step])
            preemptions.append(preemptions[step] + cost)
        self._choices = trace.choices
        self._nodes += [None] * (end - len(self._nodes))
        limit = last_branching_step(trace, self._limit)
        if self._is_cold:
            self._races.take(trace, 0, end)
            self._is_cold = False
        for reversal in self._races.take(trace, start, end):
            step = reversal.step
            if step >= limit:
                continue
            choice = reversal.event.choice
            if isinstance(choice, int):
                self._add(trace, step, (choice,))
                continue
            self._add_task(trace, step, choice)
            began = step
            while began and trace.tasks[began - 1] == trace.tasks[step]:
                began -= 1
            if began != step:
                self._add_task(trace, began, choice)

    def _add_task(self, trace: Trace, step: int, task: str) -> None:
        if task in trace.enabled[step]:
            self._add(trace, step, (task,))
        else:
            self._add(trace, step, trace.options(step))

    def _add(self, trace: Trace, step: int, choices: tuple[Choice, ...]) -> None:
        """Let choices be explored at a step, as far as the bound allows it."""
        for choice in choices:
            if choice == trace.choices[step]:
                continue
            costs = isinstance(choice, str) and trace.is_preemption(step, choice)
            if self._bound is not None and self._preemptions[step] + costs > self._bound:
                self._beyond_bound = True
            elif step < self._base:
                self._tell(step, choice)
            else:
                here = self._nodes[step]
                if here is None:
                    here = self._nodes[step] = BoundedNode((trace.choices[step],))
                here.add(choice)

    @property
    def exhausted(self) -> bool:
        """Whether nothing within the bound is left to explore."""
        if self.next_plan() is not None:
            return False
        return self._trunk is None or not self._trunk.pieces

    @property
    def given_up(self) -> int:
        """See :class:`~bohrbug.search.strategy.GivingUp`."""
        return self._tally.diverged

    @property
    def complete(self) -> bool:
        """Whether a schedule for every happens-before graph was executed, without a bound."""
        return self.exhausted and not self._beyond_bound and self._tally.is_whole

    @property
    def completed(self) -> str | None:
        """See :class:`~bohrbug.search.strategy.Bounding`."""
        if self._bound is None or not (self.exhausted and self._tally.is_whole):
            return None
        return f"at most {counted(self._bound, 'preemption')}" if self._bound else "no preemptions"

    def covered(self) -> str:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        executions = counted(self._tally.executions, "execution")
        if not self.exhausted:
            what = f"{executions} of a bounded partial-order reduction"
        elif not self._beyond_bound or self._bound is None:
            what = f"all schedules up to the order of independent operations ({executions})"
        else:
            with_bound = (
                f"with at most {counted(self._bound, 'preemption')}"
                if self._bound
                else "without preemptions"
            )
            what = (
                f"all schedules {with_bound}, up to the order of independent operations"
                f" ({executions})"
            )
        return self._tally.sentence(what, self._limit)

    def progress(self) -> str:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        waiting = sum(len(here.branches) for here in self._nodes if here is not None)
        if self._trunk is not None:
            for segment in self._trunk.segments.values():
                waiting += sum(node.waiting for node in segment.nodes.values())
        return f"bounded partial-order reduction, {waiting:,} waiting"

    # -- dividing: paths ---------------------------------------------------------------

    @property
    def _base(self) -> int:
        """The depth of the first node of the path that is its own."""
        return 0 if self._hanging is None else self._hanging.place.depth + 1

    def _tell(self, step: int, choice: Choice) -> None:
        """A choice is to be explored at a node above the path."""
        if (step, choice) in self._told:
            return
        self._told.add((step, choice))
        if self._trunk is not None:
            assert self._hanging is not None
            self._trunk.insert(self._hanging, step, choice)
        else:
            self._news.append((step, choice))

    def _put_back(self) -> None:
        """Take back a plan that was proposed and not executed."""
        if self._plan is not None and self._taken is not None:
            here = self._nodes[self._start]
            assert here is not None
            here.branches.insert(0, self._taken)
            self._plan = self._taken = None

    def _opened(self) -> list[int]:
        """The depths at which something is left to explore."""
        self._put_back()
        return [depth for depth, node in enumerate(self._nodes) if node and node.branches]

    def _segment(self, last: int) -> BoundedSegment:
        """The path down to a node, but for those nodes that others own."""
        base, hanging = self._base, self._hanging
        nodes = {depth: node for depth in range(base, last + 1) if (node := self._nodes[depth])}
        if hanging is None:
            return BoundedSegment(None, list(self._choices[:last]), nodes, None)
        own = [hanging.choice, *self._choices[base:last]]
        return BoundedSegment(hanging.place, own, nodes, None)

    def _go_on_elsewhere(self) -> bool:
        trunk = self._trunk
        if trunk is None:
            return False
        trunk.detach(self._piece)
        part = trunk.next_part()
        self._clear_path()
        if part is None:
            return False
        self._load(part)
        return True

    def _load(self, part: State) -> None:
        self._clear_path()
        self._piece, self._hanging = part["piece"], hanging_from_json(part["hanging"])
        self._splits = part["splits"]
        self._choices = list(part["choices"])
        nodes = nodes_from_json(part["nodes"])
        self._nodes = [nodes.get(depth) for depth in range(max(nodes, default=-1) + 1)]
        self._is_cold = True

    def _part(self) -> State:
        """The path as far as something is left to explore."""
        opened = self._opened()
        last = opened[-1] if opened else -1
        # Of a node that others own, only the branch that the piece is for.
        first = min(self._base, opened[0]) if opened else 0
        nodes = {depth: node for depth in range(first, last + 1) if (node := self._nodes[depth])}
        return {
            "piece": self._piece,
            "hanging": hanging_to_json(self._hanging),
            "splits": self._splits,
            "choices": list(self._choices[: max(last, 0)]),
            "nodes": nodes_to_json(nodes),
        }

    # -- dividing: between processes -----------------------------------------------------

    def _head(self) -> State:
        return {"strategy": self.name, "version": VERSION}

    def _state(self, part: State) -> State:
        return {
            **self._head(),
            "fresh": False,
            "tally": Tally().to_json(),
            "beyond_bound": False,
            "part": part,
            "news": [],
            "trunk": None,
        }

    def state(self) -> State:
        """See :class:`~bohrbug.search.divisible.Divisible`."""
        trunk = self._trunk
        return {
            **self._state(self._part()),
            "fresh": self._is_fresh,
            "tally": self._tally.to_json(),
            "beyond_bound": self._beyond_bound,
            "news": [list(each) for each in self._news],
            "trunk": None
            if trunk is None
            else {
                **trunk.to_json(self._piece),
                "has_piece": self._piece in trunk.pieces,
            },
        }

    def restore(self, state: State) -> None:
        """See :class:`~bohrbug.search.divisible.Divisible`."""
        state = checked_state(state, self.name)
        self.restart()
        self._tally = Tally.from_json(state["tally"])
        if state["fresh"]:
            return
        self._is_fresh = False
        self._beyond_bound = state["beyond_bound"]
        self._load(state["part"])
        self._news = [(step, choice) for step, choice in state["news"]]
        self._told.update(self._news)
        self._trunk = None
        if state["trunk"] is not None:
            self._trunk = BoundedTrunk.from_json(state["trunk"])
            if state["trunk"]["has_piece"]:
                self._trunk.attach(self._piece, self._hanging)

    def take_piece(self, most: int) -> State | None:  # noqa: ARG002
        """See :class:`~bohrbug.search.divisible.Divisible`."""
        trunk = self._trunk
        if trunk is None or self._is_fresh:
            return None
        if self._piece in trunk.pieces:
            trunk.give_back(self._part())
            self._clear_path()
        part = trunk.next_part()
        return None if part is None else self._state(part)

    def split(self) -> State | None:
        """See :class:`~bohrbug.search.divisible.Divisible`: see :meth:`report` instead."""
        return None

    def report(self, wanted: bool) -> State | None:
        """See :class:`~bohrbug.search.divisible.Reporting`."""
        if self._trunk is not None:
            return None
        segment = self._give_up() if wanted else None
        is_urgent = wanted or len(self._news) >= TOLD_TOGETHER
        if segment is None and not (is_urgent and self._news):
            return None
        news, self._news = self._news, []
        return {
            **self._head(),
            "piece": self._piece,
            "news": [list(each) for each in news],
            "segment": segment,
        }

    def _give_up(self) -> list[Any] | None:
        """Part with the upper nodes of the path, down to the first with something to explore."""
        opened = self._opened()
        if self._is_cold or len(opened) < 2 or opened[0] < self._base:
            return None
        last = opened[0]
        segment = self._segment(last)
        name = f"{self._piece}.{self._splits}"
        self._splits += 1
        for depth in range(self._base, last + 1):
            self._nodes[depth] = None
        self._hanging = AttachPoint(Place(name, last), self._choices[last])
        return [name, self._choices[last], segment_to_json(segment)]

    def merge(self, state: State) -> None:
        """See :class:`~bohrbug.search.divisible.Divisible`."""
        state = checked_state(state, self.name)
        trunk = self._trunk
        assert trunk is not None, "only who knows the whole takes something in"
        is_back = "part" in state
        piece = state["part"]["piece"] if is_back else state["piece"]
        if piece not in trunk.pieces:
            # It was given up.
            return
        hanging = trunk.pieces[piece]
        for step, choice in state["news"]:
            assert hanging is not None
            trunk.insert(hanging, step, choice)
        if not is_back:
            if state["segment"] is not None:
                name, choice, row = state["segment"]
                segment = segment_from_json(row)
                trunk.add(name, segment)
                trunk.detach(piece)
                trunk.attach(piece, AttachPoint(Place(name, segment.last), choice))
            return
        self._tally.add(Tally.from_json(state["tally"]))
        self._beyond_bound = self._beyond_bound or state["beyond_bound"]
        trunk.give_back(state["part"])

    def position(self) -> None:
        """A tree has no such sequence: see :class:`~bohrbug.search.divisible.Divisible`."""
        return
