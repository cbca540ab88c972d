"""pykka 4.5.0: stopping an actor blocks for ever.

Promised: ``ActorRef.stop`` returns whether the actor was alive, whoever else stops it.
Race: ``ActorRef.ask`` tests ``is_alive()`` and then puts its message into the inbox (_ref.py:160
to 168). An actor that is stopped in between empties its inbox only once (_actor.py:280), before the
message is there: nobody answers it, and ``stop`` waits for ever.
Found by exploring the library's own test ``test_actor_can_call_stop_on_self_multiple_times``,
whose teardown stops an actor that is stopping itself.
"""

import threading

from pykka import ThreadingActor


class Worker(ThreadingActor):
    pass


def test_two_threads_stop_an_actor() -> None:
    actor = Worker.start()
    answers: list[bool] = []

    def stop() -> None:
        answers.append(actor.stop())

    threads = [threading.Thread(target=stop) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert answers.count(True) >= 1
