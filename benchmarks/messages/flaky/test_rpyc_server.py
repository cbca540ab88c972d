"""RPyC: a threaded server that two clients write to; the test expects the order of the names."""

import queue
import random
import threading
import time

import rpyc
from rpyc.utils.server import ThreadedServer


def write(port, name):
    time.sleep(random.random() * 0.004)
    connection = rpyc.connect("127.0.0.1", port)
    connection.root.write(name)
    connection.close()


def test_the_board_is_in_order():
    arrived = queue.Queue()

    class Board(rpyc.Service):
        def exposed_write(self, name):
            arrived.put(name)

    server = ThreadedServer(Board, hostname="127.0.0.1", port=0)
    thread = threading.Thread(target=server.start)
    thread.start()
    while not server.active:
        time.sleep(0.001)
    clients = [threading.Thread(target=write, args=(server.port, name)) for name in ("ada", "bob")]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    names = [arrived.get(), arrived.get()]
    server.close()
    thread.join()
    assert names == ["ada", "bob"]
