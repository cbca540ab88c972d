"""What classes are asked to do, with a lock."""

from __future__ import annotations

import threading

from tests.programs import guarded_classes


def locked_slots_swapped() -> None:
    """See ``guarded_classes.slots_swapped``: with a lock it is correct."""
    guarded_classes.slots_swapped(threading.Lock())


def locked_frozen_dataclass_replaced() -> None:
    """See ``guarded_classes.frozen_dataclass_replaced``: with a lock it is correct."""
    guarded_classes.frozen_dataclass_replaced(threading.Lock())


def locked_named_tuple_replaced() -> None:
    """See ``guarded_classes.named_tuple_replaced``: with a lock it is correct."""
    guarded_classes.named_tuple_replaced(threading.Lock())


def locked_enumeration_that_makes_members() -> None:
    """See ``guarded_classes.enumeration_that_makes_members``: with a lock it is correct."""
    guarded_classes.enumeration_that_makes_members(threading.Lock())


def locked_metaclass_of_a_singleton() -> None:
    """See ``guarded_classes.metaclass_of_a_singleton``: with a lock it is correct."""
    guarded_classes.metaclass_of_a_singleton(threading.Lock())


def locked_objects_counted_by_a_metaclass() -> None:
    """See ``guarded_classes.objects_counted_by_a_metaclass``: with a lock it is correct."""
    guarded_classes.objects_counted_by_a_metaclass(threading.Lock())


def locked_numbers_of_subclasses() -> None:
    """See ``guarded_classes.numbers_of_subclasses``: with a lock it is correct."""
    guarded_classes.numbers_of_subclasses(threading.Lock())


def locked_parameters_of_a_class() -> None:
    """See ``guarded_classes.parameters_of_a_class``: with a lock it is correct."""
    guarded_classes.parameters_of_a_class(threading.Lock())


def locked_versions_counted_by_setattr() -> None:
    """See ``guarded_classes.versions_counted_by_setattr``: with a lock it is correct."""
    guarded_classes.versions_counted_by_setattr(threading.Lock())


def locked_reads_counted_by_getattribute() -> None:
    """See ``guarded_classes.reads_counted_by_getattribute``: with a lock it is correct."""
    guarded_classes.reads_counted_by_getattribute(threading.Lock())


def locked_descriptor_with_weak_keys() -> None:
    """See ``guarded_classes.descriptor_with_weak_keys``: with a lock it is correct."""
    guarded_classes.descriptor_with_weak_keys(threading.Lock())


def locked_property_that_keeps_its_value() -> None:
    """See ``guarded_classes.property_that_keeps_its_value``: with a lock it is correct."""
    guarded_classes.property_that_keeps_its_value(threading.Lock())


def locked_addition_in_place() -> None:
    """See ``guarded_classes.addition_in_place``: with a lock it is correct."""
    guarded_classes.addition_in_place(threading.Lock())


def locked_truth_of_an_object() -> None:
    """See ``guarded_classes.truth_of_an_object``: with a lock it is correct."""
    guarded_classes.truth_of_an_object(threading.Lock())


def locked_sequence_by_getitem() -> None:
    """See ``guarded_classes.sequence_by_getitem``: with a lock it is correct."""
    guarded_classes.sequence_by_getitem(threading.Lock())


def locked_depth_of_a_context_manager() -> None:
    """See ``guarded_classes.depth_of_a_context_manager``: with a lock it is correct."""
    guarded_classes.depth_of_a_context_manager(threading.Lock())


def locked_objects_that_are_alive() -> None:
    """See ``guarded_classes.objects_that_are_alive``: with a lock it is correct."""
    guarded_classes.objects_that_are_alive(threading.Lock())


def locked_text_by_a_format() -> None:
    """See ``guarded_classes.text_by_a_format``: with a lock it is correct."""
    guarded_classes.text_by_a_format(threading.Lock())


def locked_place_by_an_index() -> None:
    """See ``guarded_classes.place_by_an_index``: with a lock it is correct."""
    guarded_classes.place_by_an_index(threading.Lock())


def locked_result_kept_by_a_call() -> None:
    """See ``guarded_classes.result_kept_by_a_call``: with a lock it is correct."""
    guarded_classes.result_kept_by_a_call(threading.Lock())


def locked_limits_in_a_chained_comparison() -> None:
    """See ``guarded_classes.limits_in_a_chained_comparison``: with a lock it is correct."""
    guarded_classes.limits_in_a_chained_comparison(threading.Lock())


def locked_list_unpacked_twice() -> None:
    """See ``guarded_classes.list_unpacked_twice``: with a lock it is correct."""
    guarded_classes.list_unpacked_twice(threading.Lock())


def locked_slice_assigned() -> None:
    """See ``guarded_classes.slice_assigned``: with a lock it is correct."""
    guarded_classes.slice_assigned(threading.Lock())


def locked_walrus_in_a_comprehension() -> None:
    """See ``guarded_classes.walrus_in_a_comprehension``: with a lock it is correct."""
    guarded_classes.walrus_in_a_comprehension(threading.Lock())


def locked_phase_matched() -> None:
    """See ``guarded_classes.phase_matched``: with a lock it is correct."""
    guarded_classes.phase_matched(threading.Lock())


def locked_expression_evaluated() -> None:
    """See ``guarded_classes.expression_evaluated``: with a lock it is correct."""
    guarded_classes.expression_evaluated(threading.Lock())


def locked_generic_function_registered() -> None:
    """See ``guarded_classes.generic_function_registered``: with a lock it is correct."""
    guarded_classes.generic_function_registered(threading.Lock())


def locked_cache_cleared() -> None:
    """See ``guarded_classes.cache_cleared``: with a lock it is correct."""
    guarded_classes.cache_cleared(threading.Lock())


def locked_deep_copy_of_two_fields() -> None:
    """See ``guarded_classes.deep_copy_of_two_fields``: with a lock it is correct."""
    guarded_classes.deep_copy_of_two_fields(threading.Lock())


def locked_generator_that_reads_as_it_goes() -> None:
    """See ``guarded_classes.generator_that_reads_as_it_goes``: with a lock it is correct."""
    guarded_classes.generator_that_reads_as_it_goes(threading.Lock())
