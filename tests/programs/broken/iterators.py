"""Code in C that takes several items of a generator that two tasks have: nobody guards it."""

from __future__ import annotations

import contextlib

from tests.programs import guarded_iterators


def slice_of_a_generator() -> None:
    """Another task takes the second item, or finds the generator running."""
    guarded_iterators.slice_of_a_generator(contextlib.nullcontext())


def generator_zipped_with_itself() -> None:
    """Another task comes in between, or finds the generator running."""
    guarded_iterators.generator_zipped_with_itself(contextlib.nullcontext())


def generator_zipped_in_a_loop() -> None:
    """Another task comes in between, or finds the generator running."""
    guarded_iterators.generator_zipped_in_a_loop(contextlib.nullcontext())


def sums_of_a_generator() -> None:
    """Another task comes in between, or finds the generator running."""
    guarded_iterators.sums_of_a_generator(contextlib.nullcontext())


def sorted_items_of_a_generator() -> None:
    """Another task comes in between, or finds the generator running."""
    guarded_iterators.sorted_items_of_a_generator(contextlib.nullcontext())


def list_filled_from_a_generator() -> None:
    """Another task comes in between, or finds the generator running."""
    guarded_iterators.list_filled_from_a_generator(contextlib.nullcontext())


def dict_filled_from_a_generator() -> None:
    """Another task comes in between, or finds the generator running."""
    guarded_iterators.dict_filled_from_a_generator(contextlib.nullcontext())


def function_of_two_items_of_a_generator() -> None:
    """Another task comes in between, or finds the generator running."""
    guarded_iterators.function_of_two_items_of_a_generator(contextlib.nullcontext())


def generator_that_is_reduced() -> None:
    """Another task comes in between, or finds the generator running."""
    guarded_iterators.generator_that_is_reduced(contextlib.nullcontext())


def generator_in_a_chain() -> None:
    """Another task comes in between, or finds the generator running."""
    guarded_iterators.generator_in_a_chain(contextlib.nullcontext())


def items_of_a_generator_counted() -> None:
    """Another task comes in between, or finds the generator running."""
    guarded_iterators.items_of_a_generator_counted(contextlib.nullcontext())


def generator_unpacked() -> None:
    """Another task comes in between, or finds the generator running."""
    guarded_iterators.generator_unpacked(contextlib.nullcontext())


def generator_given_as_arguments() -> None:
    """Another task comes in between, or finds the generator running."""
    guarded_iterators.generator_given_as_arguments(contextlib.nullcontext())


def largest_items_of_a_generator() -> None:
    """Another task comes in between, or finds the generator running."""
    guarded_iterators.largest_items_of_a_generator(contextlib.nullcontext())
