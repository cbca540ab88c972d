"""Depth-first search along one path of nodes that know what is left to explore at them."""

from __future__ import annotations

from typing import Generic, TypeVar

from bohrbug.model.plan import Plan

Node = TypeVar("Node")


class Path(Generic[Node]):
    """The deepest node with something to explore comes first; then what is left elsewhere."""

    _plan: Plan | None
    _nodes: list[Node | None]
    """By depth; ``None`` where nothing is known."""

    def _plan_at(self, depth: int, node: Node) -> Plan | None:
        """The next plan that branches off at a node; ``None`` if nothing is left there."""
        raise NotImplementedError

    def _go_on_elsewhere(self) -> bool:
        """The path is at its end: take another, if there is one."""
        raise NotImplementedError

    def next_plan(self) -> Plan | None:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        if self._plan is None:
            self._plan = self._next_plan()
        return self._plan

    def _next_plan(self) -> Plan | None:
        while True:
            nodes = self._nodes
            while nodes:
                node = nodes[-1]
                plan = None if node is None else self._plan_at(len(nodes) - 1, node)
                if plan is not None:
                    return plan
                nodes.pop()
            if not self._go_on_elsewhere():
                return None
