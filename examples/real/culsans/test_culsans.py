"""culsans 0.8.0: an item is lost with a task of trio that is cancelled while it gets it.

Promised: what was put into a queue is in it until somebody gets it.
Order: ``async_get`` (_queues.py:231) takes the item, and then lets others run once, as trio wants
it; if the task is cancelled there, it raises the cancellation, and nobody has the item.
Reported: the changes of 0.9.0, where it is fixed.
"""

import culsans
import trio


def test_no_item_is_lost_with_a_cancelled_reader() -> None:
    async def main() -> None:
        queue = culsans.Queue().async_q
        got = []

        async def get(scope: trio.CancelScope) -> None:
            with scope:
                got.append(await queue.get())

        async with trio.open_nursery() as nursery:
            scope = trio.CancelScope()
            nursery.start_soon(get, scope)
            await queue.put("item")
            await trio.sleep(0)
            scope.cancel()
        assert len(got) + queue.qsize() == 1

    trio.run(main)
