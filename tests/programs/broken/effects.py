"""What code in C and trusted modules access: nobody guards it."""

from __future__ import annotations

import contextlib

from tests.programs import guarded


def rows_of_a_csv_writer() -> None:
    """A row of another task comes in between two rows."""
    guarded.rows_of_a_csv_writer(contextlib.nullcontext())


def rows_of_two_csv_writers() -> None:
    """Two writers over one stream: a row comes in between two of another task."""
    guarded.rows_of_two_csv_writers(contextlib.nullcontext())


def number_in_a_buffer() -> None:
    """A count in a buffer, read and written by functions of struct: one is lost."""
    guarded.number_in_a_buffer(contextlib.nullcontext())


def number_in_a_buffer_with_a_struct() -> None:
    """A count in a buffer, read and written by a Struct: one is lost."""
    guarded.number_in_a_buffer_with_a_struct(contextlib.nullcontext())


def parts_of_a_hash() -> None:
    """A part of another task gets into the middle of what is hashed."""
    guarded.parts_of_a_hash(contextlib.nullcontext())


def parts_to_compress() -> None:
    """A part of another task gets into the middle of what is compressed."""
    guarded.parts_to_compress(contextlib.nullcontext())


def json_of_a_dict() -> None:
    """The text has one of two changes."""
    guarded.json_of_a_dict(contextlib.nullcontext())


def json_of_a_dict_in_a_dict() -> None:
    """The text has one of two changes, further down."""
    guarded.json_of_a_dict_in_a_dict(contextlib.nullcontext())


def marshalled_dict() -> None:
    """What was marshalled has one of two changes."""
    guarded.marshalled_dict(contextlib.nullcontext())


def checksum_of_a_buffer() -> None:
    """The checksum is of a state in between."""
    guarded.checksum_of_a_buffer(contextlib.nullcontext())


def pickled_object() -> None:
    """What was pickled has one of two changes."""
    guarded.pickled_object(contextlib.nullcontext())


def copied_object() -> None:
    """The copy has one of two changes."""
    guarded.copied_object(contextlib.nullcontext())


def pickler_for_both() -> None:
    """Another task's object comes in between two."""
    guarded.pickler_for_both(contextlib.nullcontext())


def seeded_generator() -> None:
    """Another task seeds the generator before a number is drawn."""
    guarded.seeded_generator(contextlib.nullcontext())


def precision_of_a_context() -> None:
    """Another task sets the precision before a division."""
    guarded.precision_of_a_context(contextlib.nullcontext())


def text_of_an_element() -> None:
    """A count in the text of an element: one is lost."""
    guarded.text_of_an_element(contextlib.nullcontext())


def attribute_of_an_element() -> None:
    """A count in an attribute of an element: one is lost."""
    guarded.attribute_of_an_element(contextlib.nullcontext())


def child_of_an_element() -> None:
    """Both tasks find no child, and make one."""
    guarded.child_of_an_element(contextlib.nullcontext())


def matches_of_a_scanner() -> None:
    """Another task takes a match in between."""
    guarded.matches_of_a_scanner(contextlib.nullcontext())


def matches_of_an_iterator() -> None:
    """Another task takes a match in between two steps of an iterator."""
    guarded.matches_of_an_iterator(contextlib.nullcontext())


def rows_of_a_csv_reader() -> None:
    """Another task takes a row in between."""
    guarded.rows_of_a_csv_reader(contextlib.nullcontext())


def entries_of_a_folder() -> None:
    """Another task takes an entry in between."""
    guarded.entries_of_a_folder(contextlib.nullcontext())


def items_of_a_slice() -> None:
    """Another task takes an item in between."""
    guarded.items_of_a_slice(contextlib.nullcontext())


def limit_of_csv() -> None:
    """A limit is put back to what another task had set."""
    guarded.limit_of_csv(contextlib.nullcontext())


def limit_of_recursion() -> None:
    """The limit of recursion is put back to what another task had set."""
    guarded.limit_of_recursion(contextlib.nullcontext())


def umask() -> None:
    """The umask is put back to what another task had set."""
    guarded.umask(contextlib.nullcontext())


def locale_of_the_process() -> None:
    """The locale is put back to what another task had set."""
    guarded.locale_of_the_process(contextlib.nullcontext())


def text_over_bytes_in_memory() -> None:
    """Text of another task comes in between."""
    guarded.text_over_bytes_in_memory(contextlib.nullcontext())


def formatted_list() -> None:
    """The text has one of two changes of a container that is formatted."""
    guarded.formatted_list(contextlib.nullcontext())


def repr_of_a_namespace() -> None:
    """The text has one of two changes of a namespace."""
    guarded.repr_of_a_namespace(contextlib.nullcontext())


def attribute_behind_dots() -> None:
    """A count read through an attrgetter with dots: one is lost."""
    guarded.attribute_behind_dots(contextlib.nullcontext())


def decoder_halfway() -> None:
    """Another task's bytes come in the middle of a character."""
    guarded.decoder_halfway(contextlib.nullcontext())


def patched_attribute() -> None:
    """A patch puts back what another one has put in place."""
    guarded.patched_attribute(contextlib.nullcontext())


def patched_dict() -> None:
    """A patch puts back a dict that another one has patched."""
    guarded.patched_dict(contextlib.nullcontext())


def handler_that_is_passed_over() -> None:
    """A handler is removed while a message goes from one to the next: that is lost."""
    guarded.handler_that_is_passed_over(contextlib.nullcontext())


def level_put_back() -> None:
    """The level of a logger is put back to what another task had set."""
    guarded.level_put_back(contextlib.nullcontext())


def handlers_that_log_to_each_other() -> None:
    """Each task holds the lock of one handler, and waits for that of the other."""
    guarded.handlers_that_log_to_each_other(contextlib.nullcontext())


def handler_that_takes_a_lock_of_the_program() -> None:
    """One task logs under a lock that the handler, whose own lock another task holds, wants."""
    guarded.handler_that_takes_a_lock_of_the_program(contextlib.nullcontext())


def items_that_compare_under_a_lock() -> None:
    """A queue compares items under its own lock; another task asks for its size under theirs."""
    guarded.items_that_compare_under_a_lock(contextlib.nullcontext())


def late_registration_of_a_function() -> None:
    """``singledispatch`` keeps what it found before the other task registered something better."""
    guarded.late_registration_of_a_function(contextlib.nullcontext())


def environment_that_is_copied() -> None:
    """A variable is gone when its value is asked for."""
    guarded.environment_that_is_copied(contextlib.nullcontext())


def normal_numbers() -> None:
    """Both tasks get the number that the generator has kept."""
    guarded.normal_numbers(contextlib.nullcontext())


def default_timeout_of_sockets() -> None:
    """A socket is made with the default timeout that another task has set meanwhile."""
    guarded.default_timeout_of_sockets(contextlib.nullcontext())
