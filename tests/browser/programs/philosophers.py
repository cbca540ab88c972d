"""Three philosophers, three forks."""

import threading

forks = [threading.Lock() for _ in range(3)]


class Philosopher:
    def __init__(self, left, right):
        self.left = left
        self.right = right
        self.meals = 0

    def dine(self):
        with self.left:
            with self.right:
                self.meals += 1


def main():
    left_fork, middle_fork, right_fork = forks
    guests = [
        Philosopher(left_fork, middle_fork),
        Philosopher(middle_fork, right_fork),
        Philosopher(right_fork, left_fork),
    ]
    threads = [threading.Thread(target=guest.dine) for guest in guests]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


main()
