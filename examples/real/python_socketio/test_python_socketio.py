"""python-socketio 5.16.3: a client that has entered a room is not in the room.

Promised: ``Server.enter_room`` adds the client to the room until it leaves or disconnects.
Race: ``BaseManager.basic_enter_room`` tests whether the room exists (base_manager.py:117), creates
it (118) and adds the client (121) without a lock, ``basic_leave_room`` deletes the last client
(125) and then the room (126-127). Two first entries replace each other's room; an entry between
the test for emptiness and the deletion is deleted with the room.
Reported: found by reading the source.
"""

import threading
from collections.abc import Callable

import socketio


def connect_two_clients() -> tuple[socketio.Server, str, str]:
    server = socketio.Server(async_mode="threading")
    first = server.manager.connect("engine-1", "/")
    second = server.manager.connect("engine-2", "/")
    return server, first, second


def run_in_two_threads(first: Callable[[], None], second: Callable[[], None]) -> None:
    threads = [threading.Thread(target=first), threading.Thread(target=second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_both_clients_are_in_the_room_they_entered() -> None:
    server, first, second = connect_two_clients()

    run_in_two_threads(
        lambda: server.enter_room(first, "chess"), lambda: server.enter_room(second, "chess")
    )

    members = {client for client, _ in server.manager.get_participants("/", "chess")}
    assert members == {first, second}


def test_entering_while_the_last_member_leaves() -> None:
    server, first, second = connect_two_clients()
    server.enter_room(first, "chess")

    run_in_two_threads(
        lambda: server.leave_room(first, "chess"), lambda: server.enter_room(second, "chess")
    )

    members = {client for client, _ in server.manager.get_participants("/", "chess")}
    assert members == {second}
