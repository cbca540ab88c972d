"""pycountry 18.2.23: looking a country up while another thread does so for the first time fails.

Race: ``Database._load`` says that it has loaded before it has (db.py), so that a second thread
finds no country, or only some; two that load at once disturb each other.
Reported: fixed in a later version, which has a lock there.
"""

import threading

import pycountry


def together(*functions) -> None:
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_both_threads_find_it() -> None:
    countries = type(pycountry.countries)(pycountry.countries.filename)
    seen: list[str] = []
    together(*[lambda: seen.append(countries.get(alpha_2="DE").name)] * 2)
    assert seen == ["Germany", "Germany"]
