"""Litmus tests of x86, by the names that herd and the papers on x86-TSO give them.

What each is about is an outcome, in the words of ``programs/litmus.c``: what the loads of each
thread see, and then x, y and z at the end, with a dot for what does not matter.  Whether it is
allowed is what the literature says: Owens, Sarkar and Sewell (TPHOLs 2009), Sewell, Sarkar, Owens,
Zappa Nardelli and Myreen (CACM 2010), and the manuals of Intel and AMD whose examples they take up
(iwp2.*, amd*).
"""

from __future__ import annotations

from typing import NamedTuple


class Litmus(NamedTuple):
    """A litmus test.

    Parameters:
        threads: what each thread does.
        outcome: what it is about.
        allowed: whether that may be.
    """

    threads: tuple[str, ...]
    outcome: str
    allowed: bool


LITMUS = {
    "SB": Litmus(("x=1 y", "y=1 x"), "0 0 ...", True),
    "SB+mfences": Litmus(("x=1 mfence y", "y=1 mfence x"), "0 0 ...", False),
    "SB+mfence+po": Litmus(("x=1 mfence y", "y=1 x"), "0 0 ...", True),
    "SB+xchgs": Litmus(("xchg:x=1 y", "xchg:y=1 x"), "00 00 ...", False),
    "SB+rfi-pos": Litmus(("x=1 x y", "y=1 y x"), "10 10 ...", True),
    "amd10": Litmus(("x=1 mfence x y", "y=1 mfence y x"), "10 10 ...", False),
    "amd3": Litmus(("x=1 x=2 y", "y=1 y=2 x"), "1 1 ...", True),
    "MP": Litmus(("x=1 y=1", "y x"), " 10 ...", False),
    "LB": Litmus(("x y=1", "y x=1"), "1 1 ...", False),
    "R": Litmus(("x=1 y=1", "y=2 x"), " 0 .2.", True),
    "R+mfence+po": Litmus(("x=1 mfence y=1", "y=2 x"), " 0 .2.", True),
    "R+po+mfence": Litmus(("x=1 y=1", "y=2 mfence x"), " 0 .2.", False),
    "S": Litmus(("x=2 y=1", "y x=1"), " 1 2..", False),
    "2+2W": Litmus(("x=1 y=2", "y=1 x=2"), "  11.", False),
    "IRIW": Litmus(("x=1", "y=1", "x y", "y x"), "  10 10 ...", False),
    "WRC": Litmus(("x=1", "x y=1", "y x"), " 1 10 ...", False),
    "RWC": Litmus(("x=1", "x y", "y=1 x"), " 10 0 ...", True),
    "RWC+mfence": Litmus(("x=1", "x y", "y=1 mfence x"), " 10 0 ...", False),
    "CoRR": Litmus(("x=1", "x x"), " 10 ...", False),
    "CoWW": Litmus(("x=1 x=2", "x"), " . 1..", False),
    "CoWR": Litmus(("x=1 x", "x=2"), "2  1..", False),
    "CoRW": Litmus(("x x=1", "x=2"), "2  2..", False),
    "n4b": Litmus(("x x=1", "x x=2"), "2 1 ...", False),
    "n5": Litmus(("x=1 x", "x=2 x"), "2 1 ...", False),
    "n6": Litmus(("x=1 x y", "y=2 x=2"), "10  1..", True),
    "n7": Litmus(("x=1 x y", "y=1", "y x"), "10  10 ...", True),
    "iwp2.3.b": Litmus(("x=1 x", "y=1 y"), "0 . ...", False),
    "iwp2.6": Litmus(("x=1", "x=2", "x x", "x x"), "  12 21 ...", False),
    "iwp2.8.a": Litmus(("xchg:x=1", "xchg:y=1", "x y", "y x"), "0 0 10 10 ...", False),
    "iwp2.8.b": Litmus(("xchg:x=1 y", "y=1 mfence x"), "00 0 ...", False),
}
