"""A worker that may sleep through the only call."""

import threading


class Mailbox:
    def __init__(self):
        self.ready = threading.Condition()
        self.letters = []

    def take(self):
        if not self.letters:
            with self.ready:
                self.ready.wait()
        return self.letters.pop()

    def post(self, letter):
        self.letters.append(letter)
        with self.ready:
            self.ready.notify()


def main():
    box = Mailbox()
    reader = threading.Thread(target=box.take)
    reader.start()
    box.post("hello")
    reader.join()


main()
