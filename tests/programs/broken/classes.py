"""What classes are asked to do: nobody guards it."""

from __future__ import annotations

import contextlib

from tests.programs import guarded_classes


def slots_swapped() -> None:
    """A swap is lost."""
    guarded_classes.slots_swapped(contextlib.nullcontext())


def frozen_dataclass_replaced() -> None:
    """One replacement is lost."""
    guarded_classes.frozen_dataclass_replaced(contextlib.nullcontext())


def named_tuple_replaced() -> None:
    """One replacement is lost."""
    guarded_classes.named_tuple_replaced(contextlib.nullcontext())


def enumeration_that_makes_members() -> None:
    """Both find that the member is missing."""
    guarded_classes.enumeration_that_makes_members(contextlib.nullcontext())


def metaclass_of_a_singleton() -> None:
    """Both find no object of the class."""
    guarded_classes.metaclass_of_a_singleton(contextlib.nullcontext())


def objects_counted_by_a_metaclass() -> None:
    """An object is not counted."""
    guarded_classes.objects_counted_by_a_metaclass(contextlib.nullcontext())


def numbers_of_subclasses() -> None:
    """Two classes get one number."""
    guarded_classes.numbers_of_subclasses(contextlib.nullcontext())


def parameters_of_a_class() -> None:
    """Both make the class for one parameter."""
    guarded_classes.parameters_of_a_class(contextlib.nullcontext())


def versions_counted_by_setattr() -> None:
    """A change is not counted."""
    guarded_classes.versions_counted_by_setattr(contextlib.nullcontext())


def reads_counted_by_getattribute() -> None:
    """A read is not counted."""
    guarded_classes.reads_counted_by_getattribute(contextlib.nullcontext())


def descriptor_with_weak_keys() -> None:
    """One of two increments is lost."""
    guarded_classes.descriptor_with_weak_keys(contextlib.nullcontext())


def property_that_keeps_its_value() -> None:
    """Both compute it."""
    guarded_classes.property_that_keeps_its_value(contextlib.nullcontext())


def addition_in_place() -> None:
    """One of two additions is lost."""
    guarded_classes.addition_in_place(contextlib.nullcontext())


def truth_of_an_object() -> None:
    """What was there is gone."""
    guarded_classes.truth_of_an_object(contextlib.nullcontext())


def sequence_by_getitem() -> None:
    """Half of the items are new."""
    guarded_classes.sequence_by_getitem(contextlib.nullcontext())


def depth_of_a_context_manager() -> None:
    """One of them is not counted."""
    guarded_classes.depth_of_a_context_manager(contextlib.nullcontext())


def objects_that_are_alive() -> None:
    """An object that has died is not counted."""
    guarded_classes.objects_that_are_alive(contextlib.nullcontext())


def text_by_a_format() -> None:
    """Two texts have one number."""
    guarded_classes.text_by_a_format(contextlib.nullcontext())


def place_by_an_index() -> None:
    """Both take one place."""
    guarded_classes.place_by_an_index(contextlib.nullcontext())


def result_kept_by_a_call() -> None:
    """Both compute it."""
    guarded_classes.result_kept_by_a_call(contextlib.nullcontext())


def limits_in_a_chained_comparison() -> None:
    """One limit is new, the other one is not."""
    guarded_classes.limits_in_a_chained_comparison(contextlib.nullcontext())


def list_unpacked_twice() -> None:
    """The second half is longer."""
    guarded_classes.list_unpacked_twice(contextlib.nullcontext())


def slice_assigned() -> None:
    """One of two increments is lost."""
    guarded_classes.slice_assigned(contextlib.nullcontext())


def walrus_in_a_comprehension() -> None:
    """One sum is built upon what was before the other one."""
    guarded_classes.walrus_in_a_comprehension(contextlib.nullcontext())


def phase_matched() -> None:
    """Both find the first phase."""
    guarded_classes.phase_matched(contextlib.nullcontext())


def expression_evaluated() -> None:
    """One of two increments is lost."""
    guarded_classes.expression_evaluated(contextlib.nullcontext())


def generic_function_registered() -> None:
    """Another implementation is called the second time."""
    guarded_classes.generic_function_registered(contextlib.nullcontext())


def cache_cleared() -> None:
    """What was just kept is gone."""
    guarded_classes.cache_cleared(contextlib.nullcontext())


def deep_copy_of_two_fields() -> None:
    """One field is new, the other one is not."""
    guarded_classes.deep_copy_of_two_fields(contextlib.nullcontext())


def generator_that_reads_as_it_goes() -> None:
    """One half is new, the other one is not."""
    guarded_classes.generator_that_reads_as_it_goes(contextlib.nullcontext())
