"""When a loop that never waits is taken to spin."""

from __future__ import annotations

from collections.abc import Coroutine, Generator
from itertools import cycle
from typing import Any

from bohrbug.runtime.threads.loops.spinning import BUSY_TURNS, IDLE_TURNS, MOST_TURNS, Spinning


class Pause:
    def __await__(self) -> Generator[None]:
        yield


async def gives_way() -> None:
    while True:
        await Pause()


async def counts() -> None:
    times = 0
    while True:
        times += 1
        await Pause()


PAUSES = cycle([Pause(), Pause()])


async def gives_way_elsewhere() -> None:
    while True:
        await next(PAUSES)


async def looks_at_the_time() -> None:
    time = 0.5
    while True:
        time += 0.25
        await Pause()


def turns_until_it_spins(*coroutines: Coroutine[Any, None, None]) -> int:
    """In each turn each of the tasks makes a step."""
    spinning = Spinning()
    turns = 1
    while not spinning.turns():
        turns += 1
        for number, coroutine in enumerate(coroutines):
            if spinning.matters:
                spinning.steps(str(number), coroutine)
            coroutine.send(None)
    for coroutine in coroutines:
        coroutine.close()
    return turns


def test_who_only_gives_way_spins() -> None:
    soon = BUSY_TURNS + 2 * IDLE_TURNS
    assert turns_until_it_spins(gives_way()) <= soon
    assert turns_until_it_spins(gives_way(), gives_way()) <= soon


def test_where_an_awaitable_without_state_is_makes_no_difference() -> None:
    assert turns_until_it_spins(gives_way_elsewhere()) <= BUSY_TURNS + 2 * IDLE_TURNS


def test_who_compares_times_spins() -> None:
    assert turns_until_it_spins(looks_at_the_time()) <= BUSY_TURNS + 2 * IDLE_TURNS


def test_who_comes_further_does_not_spin_for_long() -> None:
    assert turns_until_it_spins(counts()) == MOST_TURNS
    assert turns_until_it_spins(gives_way(), counts()) == MOST_TURNS


def test_a_callback_stands_nowhere() -> None:
    spinning = Spinning()
    while not spinning.turns():
        spinning.steps("0", None)


def test_a_pause_begins_it_anew() -> None:
    spinning = Spinning()
    for _ in range(BUSY_TURNS):
        assert not spinning.turns()
    spinning.pauses()
    for _ in range(BUSY_TURNS):
        assert not spinning.turns()
