import threading

seen = []
lock = threading.Lock()


def work():
    def task():
        with lock:
            seen.append(1)
        if len(seen) % 3:
            with lock:
                pass

    threads = [threading.Thread(target=task) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
