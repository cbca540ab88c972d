"""Reports of tests with tasks that sleep."""

from __future__ import annotations

import threading
import time

import bohrbug
from bohrbug.report.text import failure_text


def too_early() -> None:
    box: list[int] = []
    thread = threading.Thread(target=lambda: box.append(1))
    thread.start()
    time.sleep(1)
    assert box
    thread.join()


def test_a_task_whose_turn_is_later_does_not_wait_for_a_variable() -> None:
    """Fairness lets the other go first; the one that slept could read."""
    (failure,) = bohrbug.explore(too_early, timeouts="early").failures
    text = failure_text(failure)
    assert "read list box" in text
    assert "waits for list box" not in text
