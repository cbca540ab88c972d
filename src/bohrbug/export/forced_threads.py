"""Forces one order of turns on the threads of a test, with the standard library alone.

This module is no part of what Bohrbug does: its source is copied into the tests that
``bohrbug export`` writes, and has to be readable there by somebody who knows nothing of Bohrbug.
"""

from __future__ import annotations

import dis
import linecache
import sys
import threading
import time
import traceback
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, NamedTuple

# --8<-- copied from here


class At(NamedTuple):
    """A turn begins where its thread is about to execute this instruction."""

    file: str  # the end of its path
    line: int
    text: str  # of that line; where the file was edited, the nearest line of that text counts
    columns: tuple[int, int]  # where its source text begins and ends, from 0
    instruction: str
    times: int = 1  # on which arrival there since the last turn of this thread


START = "start"  # a turn begins where its thread begins,
END = "end"  # or when it is about to end,
WOKEN = "woken"  # or in Condition.wait, when it is notified but has not got the lock back yet,
INSIDE = "inside"  # or in the middle of a call, where it waits by itself

LIMIT = 10.0  # seconds that a turn may take to begin, and a timeout to fire
WAITING = 0.05  # seconds after which a thread is seen to wait where it is expected to,
STUCK = 1.0  # and where it is not


class NotForced(Exception):
    """The threads did not follow the order of turns."""


class Deadlock(Exception):
    """The threads wait for ever."""


def line_of(at: At, filename: str) -> int:
    """Where the line is now; 0 if it is not in this file."""
    lines = [line.strip() for line in linecache.getlines(filename)]
    same = [number for number, text in enumerate(lines, 1) if text == at.text]
    return min(same, key=lambda number: abs(number - at.line), default=0)


def errors_are_looked_at() -> bool:
    """Whether the test itself is told of exceptions that leave threads."""
    hook = getattr(threading.excepthook, "func", threading.excepthook)
    ordinary = ("threading", "_thread", "_pytest.")  # Python's, and pytest's
    return not (getattr(hook, "__module__", "") or "").startswith(ordinary)


class Forced:
    """Lets threads take turns: each pauses where its next turn begins until it is its turn.

    The test's thread is "0", the first thread that it starts "0.1", the first that this one starts
    "0.1.1".  A turn ends where the thread's next one begins, at its end, or when it has to wait.
    """

    def __init__(
        self, order: list[tuple[Any, ...]], patience: float = LIMIT, beside: tuple[str, ...] = ()
    ) -> None:
        self.order: list[tuple[str, Any]] = [
            (name, At(*begin) if isinstance(begin, tuple) else begin) for name, begin, *_ in order
        ]
        self.timeouts = {index for index, row in enumerate(order) if "timeout" in row[2:]}
        self.patience = patience  # seconds without any movement after which there is a deadlock
        self.beside = beside  # these threads go on while the others wait for ever
        self.turn = 0  # whose turn it is: an index into the order
        self.begun = False  # whether that thread has got to where its turn begins
        self.lock = threading.Lock()
        self.coming: dict[str, list[int]] = {}  # the turns that each thread has yet to take
        for index, (name, _) in enumerate(self.order):
            self.coming.setdefault(name, []).append(index)
        self.arrivals: dict[str, int] = {}
        self.names: dict[int, str] = {}  # of threads, by their identifiers
        self.threads: dict[str, threading.Thread] = {}
        self.started: dict[str, int] = {}  # how many threads each has started
        self.places: dict[CodeType, dict[int, set[object]]] = {}
        self.errors: list[BaseException] = []
        self.pausing: set[str] = set()
        self.ended: set[str] = set()
        self.over = not order  # nobody pauses any more

    # -- in the threads of the test --

    def arrive(self, name: str) -> None:
        """Pause the calling thread, which is where its next turn begins, until it is its turn."""
        index = self.next_of(name)
        self.coming[name] = [later for later in self.coming[name] if later > index]
        self.arrivals[name] = 0
        self.pass_on(name)
        self.pausing.add(name)
        while self.turn != index and not self.over:
            _sleep(0.0005)
        self.pausing.discard(name)
        self.begun = True

    def next_of(self, name: str) -> int:
        """The next turn for which this thread has to pause; -1 if there is none."""
        coming = (index for index in self.coming.get(name, ()) if self.order[index][1] != INSIDE)
        return next(coming, -1)

    def is_to_begin(self, name: str, begin: str) -> bool:
        """Whether this is where the next turn of this thread begins."""
        index = self.next_of(name)
        return index >= 0 and self.order[index][1] == begin

    def pass_on(self, name: str) -> None:
        """It is the next one's turn, if it was this thread's."""
        with self.lock:
            if self.begun and self.turn < len(self.order) and self.order[self.turn][0] == name:
                self.turn, self.begun = self.turn + 1, False
                self.over = self.over or self.turn == len(self.order)
                self.begun = not self.over and self.order[self.turn][1] == INSIDE

    def trace(self, frame: FrameType, event: str, _arg: object) -> Any:
        """What sys.settrace calls: before each instruction of the functions in the order."""
        places = self.places.get(frame.f_code)
        if places is None:
            places = self.places[frame.f_code] = self.places_in(frame.f_code)
        if not places or self.over:
            return None
        frame.f_trace_opcodes = True
        name = self.names[threading.get_ident()]
        if event in ("call", "opcode") and self.next_of(name) >= 0:
            begin = self.order[self.next_of(name)][1]
            # A function is traced once it has done its first instruction.
            is_entry = isinstance(begin, At) and begin.instruction == "RESUME"
            if begin in places.get(frame.f_lasti, ()) and is_entry == (event == "call"):
                self.arrivals[name] = self.arrivals.get(name, 0) + 1
                if begin == WOKEN or self.arrivals[name] == begin.times:
                    self.arrive(name)
        return self.trace

    def places_in(self, code: CodeType) -> dict[int, set[object]]:
        """Where turns begin in a function: by the offset of the instruction."""
        found: dict[int, set[object]] = {}
        steps = [(each, each.positions) for each in dis.get_instructions(code) if each.positions]
        if code is threading.Condition.wait.__code__:
            for each, _ in steps:
                if each.argval == "_acquire_restore":
                    found.setdefault(each.offset, set()).add(WOKEN)
        path = code.co_filename.replace("\\", "/")
        for at in {begin for _, begin in self.order if isinstance(begin, At)}:
            if path != at.file and not path.endswith("/" + at.file):
                continue
            line = line_of(at, code.co_filename)
            there = [(each, where) for each, where in steps if where and where.lineno == line]
            # Other versions of Python have other columns, and other instructions.
            alike = [each for each, _ in there if each.opname == at.instruction]
            exact = [
                each
                for each, where in there
                if each in alike and (where.col_offset, where.end_col_offset) == at.columns
            ]
            for each in exact or alike or [each for each, _ in there[:1]]:
                found.setdefault(each.offset, set()).add(at)
        return found

    def body(self, name: str, run: Callable[[], object]) -> None:
        """What each thread does: what it would have done, in turns."""
        self.names[threading.get_ident()] = name
        try:
            if self.is_to_begin(name, START):
                self.arrive(name)
            sys.settrace(self.trace)
            run()
        except SystemExit as error:
            if name == "0" and error.code not in (None, 0):
                self.errors.append(error)
        except BaseException as error:
            if name != "0" and errors_are_looked_at():
                raise
            self.errors.append(error)
        finally:
            sys.settrace(None)
            if self.is_to_begin(name, END):
                self.arrive(name)
            self.ended.add(name)
            self.pass_on(name)

    def start(self, thread: threading.Thread) -> None:
        """In the place of Thread.start: the thread gets a name."""
        parent = self.names.get(threading.get_ident())
        if parent is not None:
            self.started[parent] = self.started.get(parent, 0) + 1
            name, run = f"{parent}.{self.started[parent]}", thread.run
            self.threads[name] = thread
            thread.run = lambda: self.body(name, run)  # type: ignore[method-assign]
            if not thread.ident and not thread.daemon:
                thread.daemon = True  # the process can end although it may be deadlocked
        _start(thread)

    # -- in the thread that watches --

    def run(self, test: Callable[[], object]) -> None:
        """Run a test in a thread of its own, with its threads in turns; raise what it raises."""
        root = threading.Thread(target=self.body, args=("0", test), daemon=True)
        self.threads["0"] = root
        # A function becomes a method; an attribute of this object would not.
        forced: Any = lambda thread: self.start(thread)  # noqa: E731
        threading.Thread.start = forced  # type: ignore[method-assign]
        try:
            root.start()
            self.watch()
        finally:
            self.over = True
            threading.Thread.start = _start  # type: ignore[method-assign]
            pools = sys.modules.get("concurrent.futures.thread")
            if pools is not None:
                pools._threads_queues.clear()  # else the process waits for their threads to end
        if self.errors:
            root.join(1.0)
            raise self.errors[0]
        if self.turn < len(self.order):
            raise NotForced("the test has ended, but " + self.standing())

    def watch(self) -> None:
        """Wait until all threads have ended, one has failed, or nothing moves any more."""
        before, since = None, time.monotonic()
        while not self.errors and any(thread.is_alive() for thread in list(self.threads.values())):
            _sleep(0.002)
            now = (self.turn, self.begun, self.positions())
            if now != before:
                before, since = now, time.monotonic()
            still = time.monotonic() - since
            if self.over:
                if still > self.patience:
                    raise Deadlock(self.stacks("these threads wait for ever"))
                continue
            name, begin = self.order[self.turn]
            later = [self.order[index][1] for index in self.coming[name] if index > self.turn]
            may_wait = not later or later[0] in (WOKEN, INSIDE)
            is_done = begin == INSIDE and (name in self.pausing or name in self.ended)
            enough = LIMIT if self.turn in self.timeouts else WAITING if may_wait else STUCK
            if self.begun and (is_done or still > enough):
                self.pass_on(name)
            elif still > LIMIT or (not self.begun and still > WAITING and name in self.ended):
                raise NotForced(self.stacks(self.standing()))

    def positions(self) -> list[object]:
        """Where the threads are that do not pause."""
        frames = sys._current_frames()
        threads = list(self.threads.items())
        if self.over:
            each = [thread for key, thread in threads if key not in self.beside]
        else:
            each = [thread for key, thread in threads if key == self.order[self.turn][0]]
        found = [frames.get(thread.ident or 0) for thread in each if thread.is_alive()]
        return [(id(frame), frame.f_lasti) for frame in found if frame is not None]

    def standing(self) -> str:
        """Which turn it is, for people."""
        name, begin = self.order[self.turn]
        where = (
            f"{begin.file}:{begin.line} ({begin.instruction})" if isinstance(begin, At) else begin
        )
        state = "did not come to the end of" if self.begun else "did not get to the beginning of"
        return f"thread {name} {state} turn {self.turn + 1}, at {where}"

    def stacks(self, words: str) -> str:
        """These words, and where each thread stands."""
        frames = sys._current_frames()
        for name, thread in list(self.threads.items()):
            if thread.is_alive() and thread.ident in frames:
                stack = traceback.format_stack(frames[thread.ident])
                own = [entry for entry in stack if __file__ not in entry]
                words += f"\n\nThread {name} ({thread.name}):\n{''.join(own).rstrip()}"
        return words


_sleep, _start = time.sleep, threading.Thread.start
