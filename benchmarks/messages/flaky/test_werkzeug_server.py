"""Werkzeug's threaded server and two clients with requests: who comes first to a turnstile."""

import queue
import random
import threading
import time

import requests
from werkzeug.serving import make_server
from werkzeug.wrappers import Request, Response


def test_the_first_visitor_is_the_first_served():
    visitors = queue.Queue()

    @Request.application
    def turnstile(request):
        visitors.put(request.args["name"])
        return Response("welcome")

    server = make_server("127.0.0.1", 0, turnstile, threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()

    def visit(name):
        time.sleep(random.random() * 0.005)
        requests.get(f"http://127.0.0.1:{server.port}/", params={"name": name}, timeout=20)

    clients = [threading.Thread(target=visit, args=(name,)) for name in ("ada", "bob")]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    server.shutdown()
    thread.join()
    server.server_close()
    assert visitors.get() == "ada"
