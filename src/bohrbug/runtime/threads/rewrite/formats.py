"""What ``"{0.name[key]}".format(...)`` reads: fields may lead on from what they are given."""

from __future__ import annotations

import _string  # type: ignore[import-not-found]
from collections.abc import Iterator
from typing import Any

from bohrbug.runtime.threads.rewrite import hooks
from bohrbug.runtime.threads.rewrite.attributes import read_kinds
from bohrbug.runtime.threads.rewrite.classes import instance_dict
from bohrbug.runtime.threads.rewrite.place import Place


def leads_on(text: Any) -> bool:
    """Whether a format may have fields with attributes or keys."""
    return type(text) is str and ("." in text or "[" in text)


def read(text: Any, arguments: tuple[Any, ...], place: Place) -> None:
    """Tell of the attributes and items that the fields of a format lead to.

    Parameters:
        text: the format.
        arguments: given by position.
        place: where.
    """
    if leads_on(text):
        for value, path in _fields(text, arguments):
            _follow(value, path, place)


def _fields(
    text: str, arguments: tuple[Any, ...]
) -> Iterator[tuple[Any, list[tuple[bool, str | int]]]]:
    try:
        fields = [field for _, field, _, _ in _string.formatter_parser(text) if field is not None]
        parts = [_string.formatter_field_name_split(field) for field in fields]
        paths = [(first, list(rest)) for first, rest in parts]
    except ValueError:
        # The call itself will say what is wrong with it.
        return
    count = 0
    for first, path in paths:
        number = first
        if first == "":
            number = count
            count += 1
        if type(number) is int and number < len(arguments):
            yield arguments[number], path


def _follow(value: Any, path: list[tuple[bool, str | int]], place: Place) -> None:
    for is_attribute, key in path:
        if is_attribute and type(key) is str:
            hooks.read_attribute(value, key, read_kinds(key), place)
            held: Any = instance_dict(value)
        else:
            hooks.read_item(value, key, place)
            held = value
        try:
            value = held[key] if type(held) in (dict, list) else None
        except LookupError:
            return
