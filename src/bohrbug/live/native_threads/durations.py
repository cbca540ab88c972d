"""How long windows and delays last, whichever kind of program has them."""

from __future__ import annotations

LENGTH = 0.01
"""Seconds of a window, at most."""

LONGEST_AMBUSH = 0.1
"""Seconds for which a trap waits for somebody to come to one of a few places; nobody is delayed
before."""

MOST_TARGETS = 3
"""How many places these are."""

MOST_CHANGES = 3
"""Change points of a window's priorities; how many there are is drawn."""

FIRST_GUESS = 200
"""Cue points of a window, before there was any."""

LOOK_EVERY = 0.005
"""Seconds between two looks of whoever opens windows."""

LONGEST_DELAY = 0.005
"""Seconds for which a thread gives way, at most, before it goes on although another is above it."""

SLICE = 0.0005
"""Seconds after which a thread that gives way looks again."""

GRACE = 0.002
"""Seconds for which a thread gives way to one that is not seen meanwhile. As it sleeps, the other
one could run, with the GIL, too: so that one is taken to be blocked until it is seen again."""

GONE_SECONDS = 1.0
"""A thread that was not seen for so long is not given way to."""

PAUSE = (0.001, 0.010)
"""Between how many seconds a trap lasts."""
