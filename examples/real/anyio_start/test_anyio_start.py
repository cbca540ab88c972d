"""anyio 4.3.0: a task group is cancelled if a call of its ``start`` is.

Promised: cancelling a scope cancels what runs in it, and nothing else.
Order: the new task calls ``started``, and ``start`` (_backends/_asyncio.py:782) is cancelled before
it runs again. So it cancels the new task, whose end counts as a failure of the group (716).
Reported: issue #685, pull request #710; fixed in 4.4.0.
"""

import asyncio

import anyio


def test_a_cancelled_start_leaves_the_others_alone() -> None:
    async def main() -> None:
        done, scopes = [], []

        async def work() -> None:
            for _ in range(3):
                await asyncio.sleep(0)
            done.append(True)

        async def serve(*, task_status: anyio.abc.TaskStatus) -> None:
            await asyncio.sleep(0)
            task_status.started()

        async with anyio.create_task_group() as group:
            group.start_soon(work)

            async def start() -> None:
                with anyio.CancelScope() as scope:
                    scopes.append(scope)
                    await group.start(serve)

            async with anyio.create_task_group() as inner:
                inner.start_soon(start)
                await asyncio.sleep(0)
                for scope in scopes:
                    scope.cancel()
        assert done

    asyncio.run(main())
