"""``ThreadPoolExecutor``: how many workers it starts."""

from __future__ import annotations

from concurrent.futures import thread

from bohrbug.runtime.channels.growing import watch
from bohrbug.runtime.threads.patches import Patches

patches = Patches()
watch(
    patches,
    thread.ThreadPoolExecutor,
    "_adjust_thread_count",
    "_idle_semaphore",
    "_threads",
    "concurrent.futures.ThreadPoolExecutor",
)
