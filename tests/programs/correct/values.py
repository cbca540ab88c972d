"""Parts of functions, contexts of numbers, and caches, under a lock."""

from __future__ import annotations

import threading

from tests.programs import guarded_values


def locked_quotient_in_a_shared_context() -> None:
    """See ``guarded_values.quotient_in_a_shared_context``: with a lock it is correct."""
    guarded_values.quotient_in_a_shared_context(threading.Lock())


def locked_product_in_a_shared_context() -> None:
    """See ``guarded_values.product_in_a_shared_context``: with a lock it is correct."""
    guarded_values.product_in_a_shared_context(threading.Lock())


def locked_sign_in_a_shared_context() -> None:
    """See ``guarded_values.sign_in_a_shared_context``: with a lock it is correct."""
    guarded_values.sign_in_a_shared_context(threading.Lock())


def locked_number_rounded_in_a_shared_context() -> None:
    """See ``guarded_values.number_rounded_in_a_shared_context``: with a lock it is correct."""
    guarded_values.number_rounded_in_a_shared_context(threading.Lock())


def locked_amount_in_a_shared_context() -> None:
    """See ``guarded_values.amount_in_a_shared_context``: with a lock it is correct."""
    guarded_values.amount_in_a_shared_context(threading.Lock())


def locked_sum_in_a_shared_context() -> None:
    """See ``guarded_values.sum_in_a_shared_context``: with a lock it is correct."""
    guarded_values.sum_in_a_shared_context(threading.Lock())


def locked_root_in_a_shared_context() -> None:
    """See ``guarded_values.root_in_a_shared_context``: with a lock it is correct."""
    guarded_values.root_in_a_shared_context(threading.Lock())


def locked_context_of_a_loop() -> None:
    """See ``guarded_values.context_of_a_loop``: with a lock it is correct."""
    guarded_values.context_of_a_loop(threading.Lock())


def locked_signature_of_a_function() -> None:
    """See ``guarded_values.signature_of_a_function``: with a lock it is correct."""
    guarded_values.signature_of_a_function(threading.Lock())


def locked_signature_of_an_attribute() -> None:
    """See ``guarded_values.signature_of_an_attribute``: with a lock it is correct."""
    guarded_values.signature_of_an_attribute(threading.Lock())


def locked_annotations_by_inspect() -> None:
    """See ``guarded_values.annotations_by_inspect``: with a lock it is correct."""
    guarded_values.annotations_by_inspect(threading.Lock())


def locked_annotations_by_typing() -> None:
    """See ``guarded_values.annotations_by_typing``: with a lock it is correct."""
    guarded_values.annotations_by_typing(threading.Lock())


def locked_text_of_a_function() -> None:
    """See ``guarded_values.text_of_a_function``: with a lock it is correct."""
    guarded_values.text_of_a_function(threading.Lock())


def locked_method_for_each_class() -> None:
    """See ``guarded_values.method_for_each_class``: with a lock it is correct."""
    guarded_values.method_for_each_class(threading.Lock())


def locked_function_bound_by_hand() -> None:
    """See ``guarded_values.function_bound_by_hand``: with a lock it is correct."""
    guarded_values.function_bound_by_hand(threading.Lock())


def locked_cache_of_patterns() -> None:
    """See ``guarded_values.cache_of_patterns``: with a lock it is correct."""
    guarded_values.cache_of_patterns(threading.Lock())


def locked_number_of_an_eventfd() -> None:
    """See ``guarded_values.number_of_an_eventfd``: with a lock it is correct."""
    guarded_values.number_of_an_eventfd(threading.Lock())


def locked_namespace_through_its_dict() -> None:
    """See ``guarded_values.namespace_through_its_dict``: with a lock it is correct."""
    guarded_values.namespace_through_its_dict(threading.Lock())


def locked_exception_through_its_dict() -> None:
    """See ``guarded_values.exception_through_its_dict``: with a lock it is correct."""
    guarded_values.exception_through_its_dict(threading.Lock())


def locked_items_sorted_by_an_item_of_theirs() -> None:
    """See ``guarded_values.items_sorted_by_an_item_of_theirs``: with a lock it is correct."""
    guarded_values.items_sorted_by_an_item_of_theirs(threading.Lock())


def locked_list_sorted_by_an_item_of_each() -> None:
    """See ``guarded_values.list_sorted_by_an_item_of_each``: with a lock it is correct."""
    guarded_values.list_sorted_by_an_item_of_each(threading.Lock())


def locked_smallest_by_an_item() -> None:
    """See ``guarded_values.smallest_by_an_item``: with a lock it is correct."""
    guarded_values.smallest_by_an_item(threading.Lock())


def locked_names_sorted_by_a_dict() -> None:
    """See ``guarded_values.names_sorted_by_a_dict``: with a lock it is correct."""
    guarded_values.names_sorted_by_a_dict(threading.Lock())
