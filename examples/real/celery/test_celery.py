"""celery 5.7.0: with tasks that are executed eagerly in two threads, no result can be got any more.

Expected: a result that is there already (``EagerResult``) can be got outside of a task.
Race: while a task is executed eagerly, results must not be waited for, which is one flag of the
module for all threads: ``denied_join_result`` keeps what it was (result.py:54), sets it, and puts
it back (59). If the second thread keeps it while the first one has set it, and puts it back last,
it stays set for ever: ``get`` then always raises "Never call result.get() within a task!".
Reported: issue #6072 has the symptom; the rest by reading the source.
"""

import threading

from celery import Celery
from celery.result import allow_join_result

app = Celery("shop", broker="memory://", backend="cache+memory://")
app.conf.task_always_eager = True


@app.task
def price(number: int) -> int:
    return 2 * number


def test_results_can_be_got_after_the_tasks() -> None:
    # Whatever an earlier execution has left: here nobody waits for a result within a task.
    with allow_join_result():
        threads = [threading.Thread(target=price.delay, args=(number,)) for number in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert price.delay(3).get() == 6
