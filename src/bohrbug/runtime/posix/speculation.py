"""Letting a waiting program make executions before anybody asks for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bohrbug.model.plan import Plan
from bohrbug.runtime.posix.ahead import Ahead
from bohrbug.runtime.posix.completed import CompletedExecution, Prepared, made_of
from bohrbug.runtime.posix.engines import Choice, Engine
from bohrbug.runtime.posix.fibers import Fibers
from bohrbug.runtime.posix.orders import Orders
from bohrbug.runtime.posix.preparing import Preparation
from bohrbug.runtime.posix.segment import SMALL, Segment
from bohrbug.runtime.protocol import Foresight


class SpeculativeRunner:
    """Lets a waiting program make executions before anybody asks for them.

    Which ones there are, and where, is kept by :class:`~bohrbug.runtime.posix.ahead.Ahead`.

    Parameters:
        orders: for that program.
        choice: of the engine.
        fibers: whether there are any.
        preparation: of segments.
        small: segments for nothing else.
    """

    def __init__(
        self,
        orders: Orders,
        choice: Choice,
        fibers: Fibers,
        preparation: Preparation,
        small: Sequence[Segment],
    ) -> None:
        self._orders = orders
        self._choice = choice
        self._fibers = fibers
        self._preparation = preparation
        self._ahead = Ahead(small)
        self.foresight: Foresight | None = None
        """Tells what will be asked for."""

    def foresight_for(self, engine: Engine) -> Foresight | None:
        """What tells what else to make, if an engine can make more than what is asked for."""
        preparation = self._preparation
        if preparation.learnt.has_hooks or preparation.settings.max_steps > SMALL.steps:
            # Each execution may show scheduling points for the next, or may need more room.
            return None
        safe_forks = engine is Engine.FORK_SERVER and not self._choice.leaves_something
        return self.foresight if engine is Engine.SNAPSHOT or safe_forks else None

    def take(self, plan: Plan, engine: Engine) -> CompletedExecution | None:
        """The execution of a plan, if it was made; meanwhile others are.

        Parameters:
            plan: the plan.
            engine: for what is not made yet.
        """
        ahead, rules = self._ahead, self._rules(engine)
        if ahead.awaits(plan, rules):
            self._collect(goes_on=ahead.is_by(rules))
        self._look(plan, engine, rules)
        made = ahead.take(plan, rules)
        if made is None or self._fibers.learn(made.segment, made.ended.hung):
            return made
        return None

    def _look(self, plan: Plan, engine: Engine, rules: object) -> None:
        """Let the waiting program go on while what it has made is looked at."""
        orders, ahead = self._orders, self._ahead
        foresight = self.foresight_for(engine)
        if foresight is None or not orders.serves(engine):
            return
        places = ahead.places_beyond(plan, rules, foresight)
        if places:
            ahead.get_ready(self._prepare(places))
        segments = ahead.segments_of_next
        if segments and not ahead.is_under_way:
            orders.order(segments, is_awaited=False)
            ahead.begin()

    def prepare_behind(self, plan: Plan, engine: Engine) -> list[Prepared]:
        """What to make at one order with a plan that :meth:`take` did not have.

        Parameters:
            plan: the plan.
            engine: that makes it.
        """
        foresight = self.foresight_for(engine)
        return [] if foresight is None else self._prepare(self._ahead.places(plan, foresight))

    def keep(self, made: Iterable[CompletedExecution]) -> None:
        """Keep what was made behind a plan."""
        self._ahead.keep(made, self._orders.waited)

    def stop(self) -> None:
        """Wait for what is under way; then nothing is, and the waiting program is free."""
        self._collect(goes_on=False)

    def _collect(self, *, goes_on: bool) -> None:
        """Wait for what is under way and nobody has asked for; then nothing is, or what is next."""
        orders, ahead = self._orders, self._ahead
        if not goes_on:
            ahead.stop()
        prepared = ahead.end()
        if prepared:
            server = orders.server
            assert server is not None
            ends = orders.collect(ahead.segments_of_next)
            if orders.has_orders:
                ahead.begin()
            self._choice.take_in(server, prepared[0].segment, len(ends))
            ahead.keep(made_of(prepared, server.engine, ends), orders.waited)

    def _prepare(self, places: Iterable[tuple[Plan, Segment]]) -> list[Prepared]:
        prepare, fibers = self._preparation.prepare, self._fibers.in_use
        return [prepare(segment, plan, fibers=fibers) for plan, segment in places]

    def _rules(self, engine: Engine) -> tuple[object, ...]:
        """What executions depend on beside their plans; on their engine, as it may be unsafe."""
        return (engine, self._fibers.in_use, *self._preparation.rules)
