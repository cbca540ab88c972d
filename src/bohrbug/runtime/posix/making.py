"""Making executions, by whichever engine is best."""

from __future__ import annotations

from collections.abc import Sequence

from bohrbug.model.plan import Plan
from bohrbug.runtime.posix.accesses import SeenAccess
from bohrbug.runtime.posix.completed import CompletedExecution, Prepared, made_of
from bohrbug.runtime.posix.ended import Ended, Printed
from bohrbug.runtime.posix.engines import Choice, Done, Engine
from bohrbug.runtime.posix.fibers import Fibers
from bohrbug.runtime.posix.launching import Launcher
from bohrbug.runtime.posix.preparing import Preparation
from bohrbug.runtime.posix.segment import Segment, SegmentFile
from bohrbug.runtime.posix.speculation import SpeculativeRunner
from bohrbug.runtime.protocol import Foresight


class Making:
    """Makes executions of one program, by whichever engine is best.

    Parameters:
        launcher: starts the program.
        choice: of the engine.
        fibers: whether there are any.
        preparation: of segments.
        segments: one that has room for everything, and small ones.
    """

    def __init__(
        self,
        launcher: Launcher,
        choice: Choice,
        fibers: Fibers,
        preparation: Preparation,
        segments: SegmentFile,
    ) -> None:
        self._launcher = launcher
        self._choice = choice
        self._fibers = fibers
        self._preparation = preparation
        self._segment = segments.first
        self._ahead = SpeculativeRunner(
            launcher.orders, choice, fibers, preparation, segments.small
        )
        # What the first execution did, which a process that is restored has to repeat; and on what
        # that depended beside its plan.
        self._reference: Done | None = None
        self._reference_rules: tuple[object, ...] = ()

    def foresee(self, plans: Foresight | None) -> None:
        """Know from now on what will be asked for.

        Parameters:
            plans: tells it; ``None`` if nobody knows any more.
        """
        self._ahead.foresight = plans

    def make(self, plan: Plan) -> CompletedExecution:
        """An execution of a plan; its segment may be used again by the next call."""
        made = self._ahead.take(plan, self._choice.current)
        while made is None:
            engine = self._choice.current
            first = self._prepare(plan, self._fibers.in_use)
            made = self._first_of(engine, [first, *self._ahead.prepare_behind(plan, engine)])
        if self._reference is None:
            self._refer_to(made)
        return made

    def make_with_stacks(
        self,
        plan: Plan,
        wanted: Sequence[SeenAccess] = (),
        engine: Engine = Engine.ANEW,
        on_fibers: bool = False,
    ) -> CompletedExecution:
        """An execution of a plan that is looked at closely.

        Parameters:
            plan: the plan.
            wanted: accesses to memory to be looked at as closely.
            engine: that makes it, if it can.
            on_fibers: whether one kernel thread wears all tasks, if it can.
        """
        made = None
        while made is None:
            fibers = on_fibers and self._fibers.in_use
            made = self._first_of(engine, [self._prepare(plan, fibers, True, wanted)])
            engine = self._choice.current
        return made

    def _prepare(
        self,
        plan: Plan,
        fibers: bool,
        with_stacks: bool = False,
        wanted: Sequence[SeenAccess] = (),
    ) -> Prepared:
        """Put what is asked for now where there is room for everything."""
        self._ahead.stop()
        prepared = self._preparation.prepare(
            self._segment, plan, fibers=fibers, with_stacks=with_stacks
        )
        self._preparation.prepare_accesses(self._segment, wanted)
        return prepared

    def _first_of(self, engine: Engine, prepared: Sequence[Prepared]) -> CompletedExecution | None:
        """Execute plans; the first one is asked for, and ``None`` if it has to be tried again."""
        ends = self._execute(engine, [each.segment for each in prepared])
        made = made_of(prepared, engine, ends)
        if len(prepared) > 1:
            self._ahead.keep(made[1:])
        if not made:
            return None
        if self._fibers.learn(made[0].segment, made[0].ended.hung):
            return made[0]
        # One that waits may have threads that fibers alone can use.
        self._launcher.orders.end_server()
        return None

    def _execute(self, engine: Engine, segments: Sequence[Segment]) -> list[tuple[Ended, Printed]]:
        """Execute what segments say; see :meth:`~bohrbug.runtime.posix.orders.Orders.execute`."""
        choice, orders, segment = self._choice, self._launcher.orders, segments[0]
        if engine is Engine.ANEW:
            end = self._launcher.run(segment)
            if not choice.is_settled:
                choice.settle(segment)
            return [end]
        is_safe = engine is Engine.FORK_SERVER and self._ahead.foresight_for(engine) is not None
        if not orders.serves(engine, is_safe) and not orders.serve(
            segment, engine, choice.stacks, is_safe
        ):
            choice.leave(engine, None, is_safe)
            return []
        server = orders.server
        assert server is not None
        served = orders.execute(segments)
        choice.take_in(server, segment, len(served))
        return served

    # -- does a process that is restored do the same again? ----------------------------

    def _refer_to(self, made: CompletedExecution) -> None:
        ended = made.ended
        if ended.code >= 0 and not ended.hung and not ended.interrupted:
            self._reference = Done.of(made.plan, made.engine, made.segment, made.printed)
            self._reference_rules = self._rules()

    def _rules(self) -> tuple[object, ...]:
        preparation = self._preparation
        return (preparation.rules, preparation.points.keys())

    def _refer_anew(self, plan: Plan) -> bool:
        """Start the program anew for a plan, as executions have other rules by now.

        Returns:
            False if that was no execution, so that nothing can be said now.
        """
        made = self._first_of(Engine.ANEW, [self._prepare(plan, self._fibers.in_use)])
        if made is not None:
            self._reference = None
            self._refer_to(made)
        return made is not None

    def check_engine(self) -> None:
        """See that a process that is restored does again what the first one did, if it is one."""
        if self._choice.current is not Engine.SNAPSHOT:
            return
        known = self._reference
        has_new_rules = self._rules() != self._reference_rules
        # What has turned out to be racy is a scheduling point by now, and the same plan has more
        # steps: that says nothing of the engine.
        if known is not None and has_new_rules and not self._refer_anew(known.plan):
            return
        reference = self._reference
        if reference is None:
            self._choice.drop(Engine.SNAPSHOT, "no execution is known that could be repeated")
            return
        prepared = self._prepare(reference.plan, self._fibers.in_use)
        made = self._first_of(Engine.SNAPSHOT, [prepared])
        if made is None:
            return
        self._reference = Done.of(reference.plan, Engine.SNAPSHOT, made.segment, made.printed)
        if not self._reference.is_like(reference):
            self._choice.drop(Engine.SNAPSHOT, "a repeated execution was not the same")
            self._launcher.orders.end_server()
