"""What a finalizer does with its object comes after all that others have done with it."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import bohrbug


class Counted:
    def __init__(self) -> None:
        self.uses = 0

    def __del__(self) -> None:
        self.uses += 1


class Derived(Counted):
    def __del__(self) -> None:
        super().__del__()


class WithSlots:
    __slots__ = ("uses",)

    def __init__(self) -> None:
        self.uses = 0

    def __del__(self) -> None:
        self.uses += 1


class InOneStep(Counted):
    """An attribute of the class is read with it."""

    uses = 0

    def __del__(self) -> None:
        if self.uses:
            pass


def races_of(test: Any) -> set[str]:
    result = bohrbug.explore(test, executions=60)
    assert not result.failures
    return {race.label for race in result.races}


@pytest.mark.parametrize("class_", [Counted, Derived, WithSlots, InOneStep])
def test_a_finalizer_races_with_nobody_who_has_let_go_of_its_object(class_: Any) -> None:
    finalized_by = set()

    class Thing(class_):  # type: ignore[misc]
        def __del__(self) -> None:
            super().__del__()
            finalized_by.add(threading.current_thread() is threading.main_thread())

    def test() -> None:
        thing = Thing()
        given = [thing]
        may_let_go = threading.Event()

        def hold() -> None:
            held = given.pop()
            may_let_go.wait()
            del held

        thread = threading.Thread(target=hold)
        thread.start()
        may_let_go.set()
        thing.uses = 1
        del thing
        thread.join()

    assert races_of(test) == set()
    assert False in finalized_by


def test_a_finalizer_that_is_called_like_any_function_races() -> None:
    def as_a_method() -> None:
        thing = Counted()
        thread = threading.Thread(target=thing.__del__)
        thread.start()
        thing.uses = 1
        thread.join()

    def by_its_name() -> None:
        thing = Counted()
        thread = threading.Thread(target=lambda: thing.__del__())
        thread.start()
        thing.uses = 1
        thread.join()

    assert races_of(as_a_method) == {"Counted.uses"}
    assert races_of(by_its_name) == {"Counted.uses"}


def test_what_others_still_have_races_with_a_finalizer() -> None:
    class Holder:
        def __init__(self, part: Counted) -> None:
            self.part = part

        def __del__(self) -> None:
            self.part.uses += 1

    def test() -> None:
        part = Counted()
        holder = [Holder(part)]
        thread = threading.Thread(target=holder.clear)
        thread.start()
        part.uses = 5
        thread.join()

    assert races_of(test) == {"Counted.uses"}
