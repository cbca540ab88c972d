"""Parts of functions, contexts of numbers, and caches: nobody guards them."""

from __future__ import annotations

import contextlib

from tests.programs import guarded_values


def quotient_in_a_shared_context() -> None:
    """An operator raises a flag in the context that both tasks have set."""
    guarded_values.quotient_in_a_shared_context(contextlib.nullcontext())


def product_in_a_shared_context() -> None:
    """So does one that assigns."""
    guarded_values.product_in_a_shared_context(contextlib.nullcontext())


def sign_in_a_shared_context() -> None:
    """And one of a single number."""
    guarded_values.sign_in_a_shared_context(contextlib.nullcontext())


def number_rounded_in_a_shared_context() -> None:
    """A plus sign rounds."""
    guarded_values.number_rounded_in_a_shared_context(contextlib.nullcontext())


def amount_in_a_shared_context() -> None:
    """So does a function of the language."""
    guarded_values.amount_in_a_shared_context(contextlib.nullcontext())


def sum_in_a_shared_context() -> None:
    """The numbers are in a list."""
    guarded_values.sum_in_a_shared_context(contextlib.nullcontext())


def root_in_a_shared_context() -> None:
    """A method of a number takes the context, too."""
    guarded_values.root_in_a_shared_context(contextlib.nullcontext())


def context_of_a_loop() -> None:
    """The tasks of an event loop have copied a context that holds one and the same of numbers."""
    guarded_values.context_of_a_loop(contextlib.nullcontext())


def signature_of_a_function() -> None:
    """Another default is found."""
    guarded_values.signature_of_a_function(contextlib.nullcontext())


def signature_of_an_attribute() -> None:
    """Another signature is found."""
    guarded_values.signature_of_an_attribute(contextlib.nullcontext())


def annotations_by_inspect() -> None:
    """Another annotation is found."""
    guarded_values.annotations_by_inspect(contextlib.nullcontext())


def annotations_by_typing() -> None:
    """Another annotation is found."""
    guarded_values.annotations_by_typing(contextlib.nullcontext())


def text_of_a_function() -> None:
    """Two tasks add to what a function says of itself."""
    guarded_values.text_of_a_function(contextlib.nullcontext())


def method_for_each_class() -> None:
    """The methods are chosen by the class of an argument, and made anew in each call."""
    guarded_values.method_for_each_class(contextlib.nullcontext())


def function_bound_by_hand() -> None:
    """A function is bound, or called, through its attributes."""
    guarded_values.function_bound_by_hand(contextlib.nullcontext())


def cache_of_patterns() -> None:
    """Both compile a pattern that is not in the cache, or no longer."""
    guarded_values.cache_of_patterns(contextlib.nullcontext())


def number_of_an_eventfd() -> None:
    """Whoever comes in lets two in, where one was to come in."""
    guarded_values.number_of_an_eventfd(contextlib.nullcontext())


def namespace_through_its_dict() -> None:
    """What can't be referenced weakly has a dict all the same."""
    guarded_values.namespace_through_its_dict(contextlib.nullcontext())


def exception_through_its_dict() -> None:
    """So have exceptions."""
    guarded_values.exception_through_its_dict(contextlib.nullcontext())


def items_sorted_by_an_item_of_theirs() -> None:
    """Code in C gets at the items by code in C."""
    guarded_values.items_sorted_by_an_item_of_theirs(contextlib.nullcontext())


def list_sorted_by_an_item_of_each() -> None:
    """So does a method."""
    guarded_values.list_sorted_by_an_item_of_each(contextlib.nullcontext())


def smallest_by_an_item() -> None:
    """So does what goes through all."""
    guarded_values.smallest_by_an_item(contextlib.nullcontext())


def names_sorted_by_a_dict() -> None:
    """The method of a dict says what comes first."""
    guarded_values.names_sorted_by_a_dict(contextlib.nullcontext())
