"""Paths as messages show them."""

from __future__ import annotations

import os


def display_path(filename: str) -> str:
    """A path as a person at this prompt would write it: relative where it lies below."""
    if filename.startswith("<"):
        return filename
    try:
        relative = os.path.relpath(filename)
    except ValueError:  # another drive (Windows)
        return filename
    # A compiler joins its folder and what it was given: /a/b/../c.
    return os.path.normpath(filename) if relative.startswith(os.pardir) else relative
