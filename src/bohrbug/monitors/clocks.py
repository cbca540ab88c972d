"""What each task of an execution knows of the others: vector clocks made of epochs.

Epochs are unique over all tasks of an execution.  A synchronisation ends the
current epoch of the task that publishes its clock, and a published clock is
an immutable snapshot, so that publishing costs the same for any number of tasks;
only learning from another task takes time in proportion to it.
"""

from __future__ import annotations

from bohrbug.runtime.threads.monitoring import ClockHolder

TAG_BITS = 56
"""Addresses are shorter; with the index of one of 128 tasks in front they are a C ``long long``."""


class Clocks:
    """The happens-before order of one execution, for whoever watches its accesses.

    Tasks are small ints, in order of their creation; a task that was not
    announced is concurrent with all others.

    Attributes:
        epochs: the current one of each task; read at each access.
        tags: what makes a key of a task and an address: the task's index above :data:`TAG_BITS`.
    """

    __slots__ = ("_clocks", "_last_epoch", "epochs", "tags")

    def __init__(self) -> None:
        self.epochs: list[int] = []
        self.tags: list[int] = []
        # What each task knows of the others.  A list is never changed once it is
        # in here; its entry for the task itself is of no meaning.
        self._clocks: list[list[int]] = []
        self._last_epoch = 0
        self.add_tasks(1)

    def add_tasks(self, number: int) -> None:
        """Make room for tasks with indices below ``number``."""
        for index in range(len(self.epochs), number):
            self._last_epoch += 1
            self.epochs.append(self._last_epoch)
            self.tags.append(index << TAG_BITS)
            self._clocks.append([])

    def spawn(self, parent_index: int, child_index: int) -> None:
        """A task was created: all that its parent did so far happens before it.

        Parameters:
            parent_index: the task that creates.
            child_index: the task created.
        """
        self.add_tasks(max(parent_index, child_index) + 1)
        self._clocks[child_index] = _after(
            self._clocks[child_index],
            self._clocks[parent_index],
            parent_index,
            self.epochs[parent_index],
        )
        self._last_epoch = self.epochs[parent_index] = self._last_epoch + 1

    def synchronise(self, task_index: int, clock_holder: ClockHolder, is_write: bool) -> None:
        """A task does an operation on a synchronisation resource.

        It comes after all earlier writing operations on the resource; a writing
        one comes before all later ones.  An operation that only reads
        comes before nothing: it leaves no trace by which another task could
        learn of it.

        Parameters:
            task_index: who does it.
            clock_holder: the resource; its clock belongs to this object.
            is_write: whether the operation changes the state of the resource.
        """
        epochs = self.epochs
        if task_index >= len(epochs):
            self.add_tasks(task_index + 1)
        clock = self._clocks[task_index]
        published = clock_holder.clock
        if published is not None:
            writer, epoch, known = published
            # Who has reached the writer's epoch has seen all that the writer had seen.
            if writer != task_index and (writer >= len(clock) or clock[writer] < epoch):
                clock = self._clocks[task_index] = _after(clock, known, writer, epoch)
        if is_write:
            clock_holder.clock = (task_index, epochs[task_index], clock)
            self._last_epoch = epochs[task_index] = self._last_epoch + 1

    def is_after(self, task_index: int, other_index: int, epoch: int) -> bool:
        """Whether what a task does now comes after what another did in one of its epochs."""
        clock = self._clocks[task_index]
        return other_index < len(clock) and epoch <= clock[other_index]


def _after(clock: list[int], other: list[int], task: int, epoch: int) -> list[int]:
    """The clock that has learnt all of ``other``, and of ``task`` up to ``epoch``."""
    longer, shorter = (clock, other) if len(clock) >= len(other) else (other, clock)
    joined = [a if a > b else b for a, b in zip(longer, shorter, strict=False)]
    joined += longer[len(shorter) :]
    if task >= len(joined):
        joined += [0] * (task + 1 - len(joined))
    if epoch > joined[task]:
        joined[task] = epoch
    return joined
