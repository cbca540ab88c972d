"""What a data race looks like: heuristics on the source of its two accesses.

DataCollider (Erickson, Musuvathi, Burckhardt and Olynyk, OSDI 2010) found that nine of ten
data races in the Windows kernel did no harm, half of them in counters for statistics,
which it tells from reference counts by their only ever going up.  It reports all
races and puts those last that look benign, but not double-checked locking, which is hard to
tell, nor idempotent writes, which more often than not led to a bug.  The same is done here,
with the syntax tree in the place of machine code.  "Looks like" is all that can be said of it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from bohrbug.model.outcome import Race, RacePattern
from bohrbug.monitors.access_source import (
    AccessSource,
    access_source,
    mentions,
    variable_name,
)
from bohrbug.paths import is_standard_file


def may_matter_at_first(race: Race) -> bool:
    """Whether a race is worth a word that only the first execution of a test has.

    It is not where the standard library fills a cache of its own, or where it looks benign.

    Parameters:
        race: the race.
    """
    pattern = pattern_of(race)
    if pattern.is_often_benign or pattern is RacePattern.IDEMPOTENT_WRITE:
        return False
    files = {access.operation.place[0].co_filename for access in (race.first, race.second)}
    return not all(map(is_standard_file, files))


def pattern_of(race: Race) -> RacePattern:
    """What a race looks like.

    Parameters:
        race: with places in code objects, as it comes from the detector.
    """
    first, second = race.first.operation, race.second.operation
    return _pattern_at(first.place, first.kind.is_write, second.place, second.kind.is_write)


@lru_cache(maxsize=256)
def _pattern_at(
    first: Any, first_is_write: bool, second: Any, second_is_write: bool
) -> RacePattern:
    # Tests of a suite meet the same races, and looking at a syntax tree takes milliseconds.
    return classify(access_source(first, first_is_write), access_source(second, second_is_write))


def classify(first: AccessSource | None, second: AccessSource | None) -> RacePattern:
    """What a race looks like.

    Parameters:
        first, second: its two accesses; ``None`` where the source is not known.
    """
    if first is None or second is None:
        return RacePattern.UNCLASSIFIED
    both = (first, second)
    if any(is_double_checked(access) for access in both):
        return RacePattern.DOUBLE_CHECKED_LOCKING
    updates = [is_update(access) for access in both]
    if any(updates) and _only_counts(first) and _only_counts(second):
        return RacePattern.LOSSY_COUNTER
    if all(updates) or any(
        update and other.is_write for update, other in zip(updates, reversed(both), strict=True)
    ):
        return RacePattern.LOST_UPDATE
    if any(is_checked_then_written(access) for access in both):
        return RacePattern.CHECK_THEN_ACT
    if first.is_write and second.is_write and writes_the_same(first, second):
        return RacePattern.IDEMPOTENT_WRITE
    if all(is_container_call(access) for access in both):
        return RacePattern.ATOMIC_CONTAINER_CALL
    if first.is_write != second.is_write:
        return RacePattern.PUBLICATION
    return RacePattern.UNCLASSIFIED


# -- writes of a variable in a function --------------------------------------------


_CHANGING = frozenset(
    {
        "add",
        "append",
        "appendleft",
        "clear",
        "discard",
        "extend",
        "insert",
        "move_to_end",
        "pop",
        "popitem",
        "popleft",
        "remove",
        "setdefault",
        "update",
    }
)
"""Methods by which built-in containers are changed."""


def _targets(statement: ast.AST) -> list[ast.expr]:
    match statement:
        case ast.Assign(targets=targets):
            return [
                element
                for target in targets
                for element in (target.elts if isinstance(target, ast.Tuple) else [target])
            ]
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
            return [target]
        case ast.Delete(targets=targets):
            return targets
        case ast.NamedExpr(target=target):
            return [target]
    return []


def _writes(root: ast.AST, variable: str) -> Iterator[ast.AST]:
    """The statements and calls within a node that write a variable."""
    for node in ast.walk(root):
        assigned = any(variable_name(target) == variable for target in _targets(node))
        if assigned or (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in _CHANGING
            and variable_name(node.func.value) == variable
        ):
            yield node


def _value(write: ast.AST) -> ast.expr | None:
    """What a statement assigns."""
    if isinstance(write, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.NamedExpr):
        return write.value
    return None


# -- read, modify, write -------------------------------------------------------------


def _locals_read_from(function: ast.AST, variable: str) -> set[str]:
    """The local names that are given the value of a variable somewhere in a function."""
    return {
        target.id
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and mentions(node.value, variable)
        for target in _targets(node)
        if isinstance(target, ast.Name)
    }


def _is_update_statement(write: ast.AST, variable: str, copies: set[str]) -> bool:
    if isinstance(write, ast.AugAssign):
        return True
    value = _value(write)
    if value is None:
        return False
    if mentions(value, variable):
        return True
    names = {n.id for n in ast.walk(value) if isinstance(n, ast.Name)}
    return bool(names & copies) and not isinstance(value, ast.Name)


def is_update(access: AccessSource) -> bool:
    """Whether an access is part of reading a variable, computing with it and writing it back.

    ``x += 1``, ``x = x + 1``, or ``old = x`` and later ``x = old + 1`` in the same function.
    """
    statement = access.statement
    if statement is None:
        return False
    copies = _locals_read_from(access.function, access.variable)
    if access.is_write:
        writes = _writes(statement, access.variable)
        return any(_is_update_statement(write, access.variable, copies) for write in writes)
    if any(variable_name(target) == access.variable for target in _targets(statement)):
        return True
    own = {target.id for target in _targets(statement) if isinstance(target, ast.Name)}
    return bool(own) and any(
        _is_update_statement(write, access.variable, own & copies)
        and not isinstance(write, ast.AugAssign)
        for write in _writes(access.function, access.variable)
    )


def _only_counts(access: AccessSource) -> bool:
    """Whether everything in the file that writes the variable sets it to a constant or adds one.

    DataCollider's heuristic: a counter for statistics only ever goes up.
    """
    increments = 0
    for write in _writes(access.tree.tree, access.variable):
        match write:
            case ast.AugAssign(op=ast.Add(), value=ast.Constant(value=int(step))) if step > 0:
                increments += 1
            case ast.Assign(value=ast.Constant()) | ast.AnnAssign(value=ast.Constant()):
                pass
            case _:
                return False
    return increments > 0


# -- check, then act -----------------------------------------------------------------


def _guards(access: AccessSource) -> Iterator[ast.If | ast.While]:
    """The tests in the function of an access that look at its variable and lead to a write of it.

    The write is in the branch or, where the branch leaves the function, behind it; what
    is tested may be a copy of the variable, made shortly before.
    """
    function, variable = access.function, access.variable
    copies = _locals_read_from(function, variable)
    for node in ast.walk(function):
        if not isinstance(node, ast.If | ast.While):
            continue
        looked_at = mentions(node.test, variable) or bool(
            copies & {n.id for n in ast.walk(node.test) if isinstance(n, ast.Name)}
        )
        if not looked_at:
            continue
        inside = any(True for part in (*node.body, *node.orelse) for _ in _writes(part, variable))
        leaves = isinstance(node, ast.If) and isinstance(
            node.body[-1], ast.Return | ast.Raise | ast.Continue
        )
        behind = leaves and any(
            getattr(write, "lineno", 0) > (node.end_lineno or node.lineno)
            for write in _writes(function, variable)
        )
        if inside or behind:
            yield node


def _handles_missing(access: AccessSource) -> bool:
    """Whether a look that fails leads to a write: ``try: d[k]``, ``except KeyError: d[k] = 1``."""
    for ancestor in access.tree.ancestors(access.node):
        if isinstance(ancestor, ast.Try) and any(
            True for handler in ancestor.handlers for _ in _writes(handler, access.variable)
        ):
            return True
    return False


def is_checked_then_written(access: AccessSource) -> bool:
    """Whether an access belongs to a test and a write that depends on its answer."""
    if _handles_missing(access):
        return True
    ancestors = {access.node, *access.tree.ancestors(access.node)}
    for guard in _guards(access):
        if access.is_write or guard.test in ancestors or access.node is guard.test:
            return True
        # The copy that is tested.
        statement = access.statement
        if isinstance(statement, ast.Assign) and statement.lineno <= guard.lineno:
            return True
    return False


def is_double_checked(access: AccessSource) -> bool:
    """Whether an access belongs to a test that is made again within a ``with`` in its branch."""
    ancestors = {access.node, *access.tree.ancestors(access.node)}
    for guard in _guards(access):
        for node in ast.walk(guard):
            if (
                node is not guard
                and isinstance(node, ast.With)
                and any(
                    isinstance(inner, ast.If) and mentions(inner.test, access.variable)
                    for inner in ast.walk(node)
                )
                and (guard.test in ancestors or guard in ancestors)
            ):
                return True
    return False


# -- the rest ------------------------------------------------------------------------


def writes_the_same(first: AccessSource, second: AccessSource) -> bool:
    """Whether two writes assign the same constant."""
    values = []
    for access in (first, second):
        statement = access.statement
        value = None if statement is None else _value(statement)
        if isinstance(statement, ast.AugAssign) or not isinstance(value, ast.Constant):
            return False
        values.append((type(value.value), value.value))
    return values[0] == values[1]


def is_container_call(access: AccessSource) -> bool:
    """Whether an access is one method call, subscript, ``in`` or ``len`` of a container."""
    node = access.node
    match node:
        case ast.Subscript():
            return True
        case ast.Call(func=ast.Attribute()):
            return True
        case ast.Call(func=ast.Name(id="len")):
            return True
        case ast.Compare(ops=[ast.In() | ast.NotIn()]):
            return True
    return False
