"""The patches of this package; each module of it adds its own."""

from __future__ import annotations

from bohrbug.runtime.threads.late_patches import LatePatches

patches = LatePatches()
"""Those of sockets, pipes and ``select``."""
