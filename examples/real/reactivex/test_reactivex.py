"""reactivex 6.1.0: an action that was disposed of before its time runs all the same.

Promised: to dispose of what ``AsyncIOThreadSafeScheduler.schedule_relative`` returns cancels the
action, from any thread.
Race: that the list of handles needs no lock is to hold as only the loop's thread pops them. But
``_on_self_loop_or_not_running`` (asynciothreadsafescheduler.py:159) is true in a thread that has no
loop, so that ``dispose`` pops them there. ``stage2``, in the loop, may have begun, and not yet have
added the handle of the timer (line 92): it is added to a list that nobody looks at any more.
Found by exploring the library's own test ``test_asyncio_threadsafe_schedule_action_cancel``.
"""

import asyncio
import threading

from reactivex.scheduler.eventloop import AsyncIOThreadSafeScheduler


def test_an_action_that_was_disposed_of_does_not_run() -> None:
    ran: list[object] = []

    async def main() -> None:
        scheduler = AsyncIOThreadSafeScheduler(asyncio.get_running_loop())

        def schedule() -> None:
            scheduled = scheduler.schedule_relative(1.5, lambda _, state: ran.append(state))
            scheduled.dispose()

        thread = threading.Thread(target=schedule)
        thread.start()
        await asyncio.sleep(2)
        thread.join()

    asyncio.run(main())
    assert ran == []
