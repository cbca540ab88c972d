"""prompt-toolkit 3.0.11: after a task that loads the history is cancelled nobody can load it.

Promised: ``load`` gives the lines of the history.
Order: a task is cancelled while a thread of the executor acquires the lock for it (history.py:161);
it has not come to the ``try`` that would release it.
Reported: the changes of 3.0.12.
"""

import asyncio
from collections.abc import Iterable

from prompt_toolkit.history import History, ThreadedHistory


class Lines(History):
    """Two lines."""

    def load_history_strings(self) -> Iterable[str]:
        yield "one"
        yield "two"

    def store_string(self, string: str) -> None:
        pass


def test_the_history_is_loaded_after_a_cancellation() -> None:
    async def main() -> None:
        history = ThreadedHistory(Lines())

        async def load() -> list[str]:
            return [line async for line in history.load()]

        first = asyncio.create_task(load())
        await asyncio.sleep(0)
        first.cancel()
        assert await load() == ["one", "two"]

    asyncio.run(main())
