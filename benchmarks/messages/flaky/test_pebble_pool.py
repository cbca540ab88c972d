"""Pebble: a pool of processes; the test expects the results in the order of submission."""

import random
import time
from concurrent.futures import as_completed

from pebble import ProcessPool


def work(number):
    time.sleep(random.random() * 0.02)
    return number


def test_results_come_in_order():
    with ProcessPool(max_workers=3) as pool:
        futures = [pool.submit(work, None, number) for number in range(3)]
        results = [future.result() for future in as_completed(futures)]
    assert results[-1] == 2
