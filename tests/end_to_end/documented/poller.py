import threading
import time


def timeout_is_a_choice():
    done = threading.Event()

    def work():
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    assert done.wait(timeout=5)
    thread.join()


def sleeps():
    done = []

    def work():
        done.append(1)

    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(1)
    assert done
    thread.join()
