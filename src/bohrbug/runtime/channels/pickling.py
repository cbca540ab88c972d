"""What is sent between processes, as bytes."""

from __future__ import annotations

from io import BytesIO
from multiprocessing.reduction import ForkingPickler
from typing import Any

_spare: list[tuple[BytesIO, ForkingPickler]] = []
"""Nobody else uses them: not a thread, and not an item's own ``__reduce__`` that sends, too."""


def pickled(thing: Any) -> bytes:
    """What ``ForkingPickler.dumps`` gives; making a pickler takes longer than what it does.

    Parameters:
        thing: what is sent.

    Raises:
        Exception: any, as pickling calls what the thing's class says.
    """
    if _spare:
        buffer, pickler = _spare.pop()
    else:
        buffer = BytesIO()
        pickler = ForkingPickler(buffer)
    # After an error they are not used again.
    pickler.dump(thing)
    data = buffer.getvalue()
    buffer.seek(0)
    buffer.truncate()
    pickler.clear_memo()
    _spare.append((buffer, pickler))
    return data
