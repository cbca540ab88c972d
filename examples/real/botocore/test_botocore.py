"""botocore 1.29.0: two threads that make a client of one session get a KeyError.

Race: ``ComponentLocator.get_component`` looks whether a component is still to be made, makes it,
and then deletes what makes it (session.py), which another thread has deleted already.
Reported: boto3 issue #1592 (KeyError: 'endpoint_resolver', 'credential_provider').
"""

import threading

from botocore.session import ComponentLocator


def together(*functions) -> None:
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_two_threads_ask_for_a_component() -> None:
    locator = ComponentLocator()
    locator.lazy_register_component("endpoint_resolver", object)
    together(*[lambda: locator.get_component("endpoint_resolver")] * 2)
