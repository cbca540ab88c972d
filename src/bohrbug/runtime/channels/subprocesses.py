"""``subprocess``: Python programs that are started take part, with the id of a child."""

from __future__ import annotations

import os
import subprocess
from typing import Any

from bohrbug.runtime.channels.joining import environment_for
from bohrbug.runtime.channels.threads import spawner
from bohrbug.runtime.threads.patches import Patches

patches = Patches()

_init = subprocess.Popen.__init__
_ENV = 10
"""The place of ``env`` among the arguments after ``self``."""


@patches.method(subprocess.Popen, "__init__")
def _start(self: Any, *args: Any, **kwargs: Any) -> None:
    stream = spawner()
    if stream is not None:
        given = args[_ENV] if len(args) > _ENV else kwargs.get("env")
        environment = environment_for(
            stream.session.options, os.environ if given is None else given, stream.next_child()
        )
        if len(args) > _ENV:
            args = (*args[:_ENV], environment, *args[_ENV + 1 :])
        else:
            kwargs["env"] = environment
    _init(self, *args, **kwargs)
