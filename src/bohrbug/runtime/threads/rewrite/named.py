"""Variables that are no objects of the program: files, descriptors, lives."""

from __future__ import annotations


class Named:
    """Something that is accessed as a whole.

    Parameters:
        label: how reports call it.
    """

    __slots__ = ("__weakref__", "label")

    def __init__(self, label: str) -> None:
        self.label = label
