"""paho-mqtt 1.3.1: two messages published at the same time get the same message id.

Promised: ``publish`` returns the id under which ``on_publish`` will later report the message, and
messages in flight have different ids (the MQTT standard requires it).
Race: ``Client._mid_generate`` increments ``_last_mid`` (client.py:1969) and returns it by reading
it again (1972), without a lock, and ``publish`` (1084) calls it without one.
Reported: issue #236 of the project ("Callbacks from multi-threaded publishes could get lost because
message id generation is not locked"), fixed with a lock.
"""

import threading

from paho.mqtt.client import Client


def test_messages_have_different_ids() -> None:
    client = Client()
    ids: list[int] = []

    def publish(payload: str) -> None:
        ids.append(client.publish("topic", payload, qos=1).mid)

    threads = [threading.Thread(target=publish, args=(text,)) for text in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(ids) == [1, 2]
