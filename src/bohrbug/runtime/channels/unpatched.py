"""What ``select`` offers, as it is without interposers; ``selectors`` may not be loaded yet."""

from __future__ import annotations

import select
from typing import Any

READ, WRITE = 1, 4
"""``POLLIN`` and ``POLLOUT``, which not every system has; those of epoll are the same."""

real_select = select.select
real_poll: Any = getattr(select, "poll", None)
real_epoll: Any = getattr(select, "epoll", None)
