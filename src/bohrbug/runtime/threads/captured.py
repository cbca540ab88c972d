"""What pytest captures of the running test, and whether that looks at it; the plugin says so."""

from __future__ import annotations

import logging
from typing import Any


class Captured:
    """While a test runs.

    Attributes:
        handler: keeps log records for ``caplog``, at which the test looks.
        streams: keep output for pytest alone, at which the test does not look.
    """

    handler: logging.Handler | None = None
    streams: tuple[object, ...] = ()


def keeps_text_for_the_test(stream: Any) -> bool:
    """Whether the test may see what was written to a stream, and in which order."""
    return hasattr(type(stream), "getvalue") and not any(
        stream is each for each in Captured.streams
    )
