"""Broken programs: containers that override what they inherit; ``__dict__``."""

from __future__ import annotations

import contextlib

from tests.programs import guarded_inheriting


def dict_that_overrides_subscripts() -> None:
    """Half of a pair is read through ``super().__getitem__``."""
    guarded_inheriting.dict_that_overrides_subscripts(contextlib.nullcontext())


def dict_read_by_its_class() -> None:
    """Half of a pair is read by ``dict.__getitem__``, of a class that overrides it."""
    guarded_inheriting.dict_read_by_its_class(contextlib.nullcontext())


def list_that_overrides_subscripts() -> None:
    """Half of a pair is read through ``super().__getitem__``."""
    guarded_inheriting.list_that_overrides_subscripts(contextlib.nullcontext())


def array_that_overrides_subscripts() -> None:
    """One count is lost."""
    guarded_inheriting.array_that_overrides_subscripts(contextlib.nullcontext())


def dict_that_overrides_contains() -> None:
    """Two tasks add what only one of them should."""
    guarded_inheriting.dict_that_overrides_contains(contextlib.nullcontext())


def dict_that_overrides_deletion() -> None:
    """The second one who deletes gets a KeyError."""
    guarded_inheriting.dict_that_overrides_deletion(contextlib.nullcontext())


def defaultdict_that_overrides_stores() -> None:
    """One count is lost."""
    guarded_inheriting.defaultdict_that_overrides_stores(contextlib.nullcontext())


def attributes_that_are_items() -> None:
    """One count is lost: attributes are items, by functions in C."""
    guarded_inheriting.attributes_that_are_items(contextlib.nullcontext())


def namespace_replaced() -> None:
    """One replacement of ``__dict__`` is lost."""
    guarded_inheriting.namespace_replaced(contextlib.nullcontext())


def namespace_of_several_objects() -> None:
    """One count is lost: all objects of the class share one ``__dict__``."""
    guarded_inheriting.namespace_of_several_objects(contextlib.nullcontext())


def namespace_emptied() -> None:
    """An attribute that was there is gone: AttributeError."""
    guarded_inheriting.namespace_emptied(contextlib.nullcontext())


def namespace_with_another_name() -> None:
    """One count is lost: an object's attribute is an item of a dict that has a name."""
    guarded_inheriting.namespace_with_another_name(contextlib.nullcontext())
