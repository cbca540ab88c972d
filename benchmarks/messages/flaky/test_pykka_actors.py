"""Pykka: two actors report to a third; the test expects the order in which they were asked."""

import random
import time

import pykka


class Ledger(pykka.ThreadingActor):
    def __init__(self):
        super().__init__()
        self.entries = []

    def on_receive(self, message):
        if message == "entries":
            return self.entries
        self.entries.append(message)
        return None


class Reporter(pykka.ThreadingActor):
    def __init__(self, name, ledger):
        super().__init__()
        self.name = name
        self.ledger = ledger

    def on_receive(self, message):
        time.sleep(random.random() * 0.002)
        self.ledger.tell((self.name, message))


def test_reports_arrive_in_the_order_of_the_questions():
    ledger = Ledger.start()
    reporters = [Reporter.start(name, ledger) for name in ("first", "second")]
    try:
        for number in range(3):
            futures = [reporter.ask(number, block=False) for reporter in reporters]
            pykka.get_all(futures)
        names = [name for name, _ in ledger.ask("entries")]
        assert names == ["first", "second"] * 3
    finally:
        pykka.ActorRegistry.stop_all()
