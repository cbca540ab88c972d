"""APScheduler 3.11.3: shutting a scheduler down while it looks after a job raises in its thread.

Promised (``BaseScheduler.shutdown``): it "does not interrupt any currently running jobs", and nothing
of an error in the scheduler's own thread.
Race: ``shutdown`` sets the state to stopped (schedulers/base.py:234) without the lock of the job
stores; ``_process_jobs``, which has just submitted a job that is due for the last time, then
calls ``remove_job``, which because of that state looks for it among the pending jobs only (703)
and raises JobLookupError.
Reported: issue #104 of the project has the same for an earlier version, with ``update_job``.
"""

import threading

from apscheduler.schedulers.background import BackgroundScheduler


def test_a_scheduler_is_shut_down_after_its_job() -> None:
    errors: list[object] = []
    done = threading.Event()
    before = threading.excepthook
    threading.excepthook = lambda given: errors.append(given.exc_value)
    try:
        scheduler = BackgroundScheduler()
        scheduler.add_job(done.set)
        scheduler.start()
        done.wait()
        scheduler.shutdown()
    finally:
        threading.excepthook = before

    assert not errors
