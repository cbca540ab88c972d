"""pyfakefs replaces the file functions in all modules; ours go on with those of the system.

What it replaced here would call it again: it opens files itself, through what stands for ``open``.
"""

from __future__ import annotations

import sys

_OURS = "bohrbug"
_PATCHES = "pyfakefs.fake_filesystem_unittest"


def leave_our_modules_alone() -> None:
    """Let pyfakefs, if it is there, pass over the modules of ours that have been imported."""
    module = sys.modules.get(_PATCHES)
    if module is None:
        return
    patcher = module.Patcher
    ours = {
        each for name, each in sys.modules.items() if name == _OURS or name.startswith(f"{_OURS}.")
    }
    if not ours <= patcher.SKIPMODULES:
        patcher.SKIPMODULES |= ours
        # It may have found some of them before.
        patcher.clear_fs_cache()
