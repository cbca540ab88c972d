"""Live rounds: copies of a running program try what could come next.

What a service calls to become ready to be attached to is :func:`start`.
"""

from __future__ import annotations

import sys

__all__ = ["failed", "start", "stop"]


def start() -> None:
    """Take control of this process, so that ``bohrbug live --attach PID`` can make rounds in it.

    To be called early in the main thread of a service, before it starts threads and before a
    function that runs has put a lock into a variable of its own.  From then on all threads are
    tasks of one kernel thread, and nothing else is done until somebody attaches.

    Raises:
        ServiceError: a ``RuntimeError``: it was called already; the process is under control;
            threads run already; this is no main thread; or the system lacks what is needed.
    """
    # Loaded only by those who want it.
    from bohrbug.live.service import start_service

    start_service(sys._getframe(1))


def stop() -> None:
    """Give control back; to be called by the main thread, when the threads since have ended.

    Who is attached is told what has come of it.  Not needed before the end of the process.

    Raises:
        ServiceError: a ``RuntimeError``: there is nothing to stop, or threads are alive.
    """
    from bohrbug.live.service import stop_service

    stop_service()


def failed(error: BaseException) -> None:
    """Say that an exception is a failure, although it will leave no thread.

    A server catches what its handlers raise.  Where it does, this tells who is attached; nothing
    happens if nobody is, or if :func:`start` was not called.

    Parameters:
        error: the exception.
    """
    service_module = sys.modules.get("bohrbug.live.service")
    service = None if service_module is None else service_module.running()
    if service is not None:
        service.failed(error)
