"""What nearly all programs do: run functions in a thread each, and wait for them."""

from __future__ import annotations

import threading
from collections.abc import Callable


def together(*functions: Callable[[], object]) -> None:
    """Run each function in a thread of its own and wait for all of them."""
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
