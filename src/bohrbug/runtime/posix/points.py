"""Numbers that name resources in a plan; ``shim/points.c`` makes the same ones of its own."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from bohrbug.model.operation import Point, ResourceId

_OF_TASK, _OF_STATIC, _OF_DYNAMIC = 1, 2, 3
_MASK = (1 << 64) - 1
_TASK = re.compile(r"[0-9.]+")
_DYNAMIC = re.compile(r"([0-9.]+):(\d+)\.")
_STATIC = re.compile(r"0:(.*)\+([0-9a-f]+)(?:#(\d+))?", re.DOTALL)


def _mixed(key: int, value: int) -> int:
    z = (key ^ value) * 0x9E3779B97F4A7C15 & _MASK
    return z ^ z >> 29


def _key_of_task(task: str) -> int:
    key = _OF_TASK
    for number in task.split(".")[1:]:
        key = _mixed(key, int(number))
    return key


def _key_of_name(name: str) -> int:
    """FNV-1a."""
    key = 0xCBF29CE484222325
    for byte in name.encode("utf-8", "surrogateescape"):
        key = (key ^ byte) * 0x100000001B3 & _MASK
    return key


@lru_cache(maxsize=1 << 16)
def key_of(resource: ResourceId) -> int | None:
    """The number of a resource; ``None`` for an id that is not of a native program."""
    if _TASK.fullmatch(resource):
        return _key_of_task(resource)
    if match := _DYNAMIC.match(resource):
        return _mixed(_mixed(_OF_DYNAMIC, _key_of_task(match[1])), int(match[2]))
    if match := _STATIC.fullmatch(resource):
        key = _mixed(_mixed(_OF_STATIC, _key_of_name(match[1])), int(match[2], 16))
        return _mixed(key, int(match[3] or 0))
    return None


def keys_of(points: Iterable[Point]) -> set[int]:
    """The numbers of points; those of native programs are resources."""
    found = (key_of(point) for point in points if isinstance(point, str))
    return {key for key in found if key is not None}
