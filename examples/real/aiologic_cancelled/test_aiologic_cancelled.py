"""aiologic 0.14.0: after a task that waited for a lock was cancelled nobody gets the lock any more.

Promised: a lock that threads and tasks of an event loop share can be acquired when it is free.
Race: where the lock is handed to a task that is just being cancelled, it is to be handed on, by a
method that does not exist; the error is lost with the task.
Reported: the changes of 0.15.0, in which it is fixed.
"""

import asyncio
import threading

import aiologic


def test_a_thread_and_a_task_that_is_cancelled() -> None:
    lock = aiologic.Lock()

    def use() -> None:
        with lock:
            pass

    async def use_in_a_loop() -> None:
        async with lock:
            pass

    async def cancel() -> None:
        task = asyncio.create_task(use_in_a_loop())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    threads = [
        threading.Thread(target=use),
        threading.Thread(target=lambda: asyncio.run(cancel())),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    use()
