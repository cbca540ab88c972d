"""The program's own code before that of libraries: what is tested is likelier to be wrong.

A test of a web application conflicts at hundreds of places, all but a few of them in
libraries that many others have tested.  Who draws from all of them alike hardly ever draws one
of the few.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TypeVar

from bohrbug.model.operation import Site
from bohrbug.paths import is_library_file

OWN_SHARE = 0.5
"""The part of the draws that are made from the program's own code only."""

_Candidate = TypeVar("_Candidate")


def is_in_own_code(point: object) -> bool:
    """Whether a point is not known to be in the standard library or an installed package."""
    return not (isinstance(point, Site) and is_library_file(point.filename))


def own_or_all(
    own: Sequence[_Candidate], every: Sequence[_Candidate], random: Random
) -> Sequence[_Candidate]:
    """What to draw from.

    Parameters:
        own: the candidates in the program's own code.
        every: all candidates, those included.
        random: draws whether it is to be one of its own; asked only where that matters.
    """
    if 0 < len(own) < len(every) and random.random() < OWN_SHARE:
        return own
    return every
