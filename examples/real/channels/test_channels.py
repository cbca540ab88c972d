"""channels 4.3.2: sending to a group while another thread leaves it raises RuntimeError.

Promised: consumers in threads use the layer in memory by ``async_to_sync``.
Race: ``InMemoryChannelLayer.group_send`` iterates over the group (layers.py:397), which
``group_add`` and ``group_discard`` change.
Source: reading the source.
"""

import threading

from asgiref.sync import async_to_sync
from channels.layers import InMemoryChannelLayer
from django.conf import settings

if not settings.configured:
    settings.configure()


def test_sending_to_a_group_while_somebody_leaves_it() -> None:
    layer = InMemoryChannelLayer()
    for member in "ab":
        async_to_sync(layer.group_add)("group", member)
    errors: list[RuntimeError] = []

    def send() -> None:
        try:
            async_to_sync(layer.group_send)("group", {"type": "hello"})
        except RuntimeError as error:
            errors.append(error)

    def leave() -> None:
        async_to_sync(layer.group_discard)("group", "a")

    threads = [threading.Thread(target=function) for function in (send, leave)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
