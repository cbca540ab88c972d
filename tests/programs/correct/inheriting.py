"""Containers that override what they inherit, and ``__dict__``, with a lock."""

from __future__ import annotations

import threading

from tests.programs import guarded_inheriting


def locked_dict_that_overrides_subscripts() -> None:
    """See ``guarded_inheriting.dict_that_overrides_subscripts``: with a lock it is correct."""
    guarded_inheriting.dict_that_overrides_subscripts(threading.Lock())


def locked_dict_read_by_its_class() -> None:
    """See ``guarded_inheriting.dict_read_by_its_class``: with a lock it is correct."""
    guarded_inheriting.dict_read_by_its_class(threading.Lock())


def locked_list_that_overrides_subscripts() -> None:
    """See ``guarded_inheriting.list_that_overrides_subscripts``: with a lock it is correct."""
    guarded_inheriting.list_that_overrides_subscripts(threading.Lock())


def locked_array_that_overrides_subscripts() -> None:
    """See ``guarded_inheriting.array_that_overrides_subscripts``: with a lock it is correct."""
    guarded_inheriting.array_that_overrides_subscripts(threading.Lock())


def locked_dict_that_overrides_contains() -> None:
    """See ``guarded_inheriting.dict_that_overrides_contains``: with a lock it is correct."""
    guarded_inheriting.dict_that_overrides_contains(threading.Lock())


def locked_dict_that_overrides_deletion() -> None:
    """See ``guarded_inheriting.dict_that_overrides_deletion``: with a lock it is correct."""
    guarded_inheriting.dict_that_overrides_deletion(threading.Lock())


def locked_defaultdict_that_overrides_stores() -> None:
    """See ``guarded_inheriting.defaultdict_that_overrides_stores``: with a lock it is correct."""
    guarded_inheriting.defaultdict_that_overrides_stores(threading.Lock())


def locked_attributes_that_are_items() -> None:
    """See ``guarded_inheriting.attributes_that_are_items``: with a lock it is correct."""
    guarded_inheriting.attributes_that_are_items(threading.Lock())


def locked_namespace_replaced() -> None:
    """See ``guarded_inheriting.namespace_replaced``: with a lock it is correct."""
    guarded_inheriting.namespace_replaced(threading.Lock())


def locked_namespace_of_several_objects() -> None:
    """See ``guarded_inheriting.namespace_of_several_objects``: with a lock it is correct."""
    guarded_inheriting.namespace_of_several_objects(threading.Lock())


def locked_namespace_emptied() -> None:
    """See ``guarded_inheriting.namespace_emptied``: with a lock it is correct."""
    guarded_inheriting.namespace_emptied(threading.Lock())


def locked_namespace_with_another_name() -> None:
    """See ``guarded_inheriting.namespace_with_another_name``: with a lock it is correct."""
    guarded_inheriting.namespace_with_another_name(threading.Lock())
