"""requests-mock 1.7.0: after two threads have used a mocker, requests stays mocked.

Race: for the time of a request the mocker replaces ``Session.get_adapter`` of all sessions and
puts back what it found (mocker.py). A second thread finds, and puts back, the replacement.
Reported: pull request #183 (the same race of one session, in later versions).
"""

import threading

import requests
import requests_mock


def together(*functions) -> None:
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_requests_is_as_before() -> None:
    original = requests.Session.get_adapter
    seen: list[str] = []
    try:
        with requests_mock.Mocker() as mocker:
            mocker.get("http://example.com/", text="page")
            together(*[lambda: seen.append(requests.get("http://example.com/").text)] * 2)
        assert seen == ["page", "page"]
        assert requests.Session.get_adapter is original
    finally:
        requests.Session.get_adapter = original
