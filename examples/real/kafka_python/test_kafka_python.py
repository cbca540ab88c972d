"""kafka-python 2.0.2: a callback that is added to a future while it succeeds is never called.

Race: ``Future.add_callback`` looks whether the future is done and then adds the callback;
``success`` says that it is done and then calls those that it has (future.py).
Reported: issue #2291, fixed by pull request #2549.
"""

import threading

from kafka.future import Future


def together(*functions) -> None:
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_the_callback_is_called() -> None:
    future = Future()
    called: list[int] = []
    together(lambda: future.success(1), lambda: future.add_callback(called.append))
    assert called == [1]
