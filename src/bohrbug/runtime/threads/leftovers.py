"""What modules keep of an execution, which is forgotten at its end.

Most executions leave nothing in most of these containers: looking costs less than to clear them.
"""

from __future__ import annotations

from typing import Any

_containers: list[dict[Any, Any] | list[Any]] = []


def forgotten_afterwards(*containers: dict[Any, Any] | list[Any]) -> None:
    """Clear these after each execution; nobody may exchange them for others."""
    _containers.extend(containers)


def forget_all() -> None:
    """At the end of an execution."""
    for container in _containers:
        if container:
            container.clear()
