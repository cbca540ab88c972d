"""``ProcessPoolExecutor``: how many workers it starts."""

from __future__ import annotations

from concurrent.futures import process

from bohrbug.runtime.channels.growing import watch
from bohrbug.runtime.threads.patches import Patches

patches = Patches()
watch(
    patches,
    process.ProcessPoolExecutor,
    "_adjust_process_count",
    "_idle_worker_semaphore",
    "_processes",
    "concurrent.futures.ProcessPoolExecutor",
)
