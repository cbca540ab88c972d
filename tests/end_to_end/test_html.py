"""Reports as HTML files, as the command line and pytest write them."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from .conftest import Folder
from .programs import DEADLOCK, LOCKED, LOST_UPDATE

SCRIPT = LOST_UPDATE + "\nif __name__ == '__main__':\n    test_add()\n"


def document(path: Path) -> dict[str, Any]:
    """What a page shows."""
    found = re.search(r'id="document">(.*?)</script>', path.read_text(), re.DOTALL)
    assert found is not None
    data = json.loads(found[1])
    assert isinstance(data, dict)
    return data


def values_at(page: dict[str, Any], step: int) -> dict[str, str]:
    sights = page["sights"]
    return dict(sights["sets"][sights["values"][str(step)]])


def test_run_writes_what_it_found(folder: Folder) -> None:
    folder.write("counter.py", SCRIPT)

    found = folder.bohrbug("run", "--html", "out/page.html", "counter.py")

    assert found.code == 1, found.err
    assert "report: out/page.html" in found.err
    data = document(folder.path / "out" / "page.html")
    (page,) = data["failures"]
    assert data["test"] == "counter.py"
    assert page["headline"] in found.out
    assert page["cause"][0]["words"] == "It fails if and only if"
    assert page["printed"].strip() == "the counter says 1"
    assert page["commands"][0] in found.out
    assert data["explored"]["kind"] == "failed"
    words = " ".join(found.out.split())
    for line in page["cause"]:
        assert line["words"] in words

    # The values in sight, and where the tasks stood.
    last = page["moments"][-1]
    task = page["tasks"][last["task"]]["id"]
    assert task.startswith("0.")
    stack = page["sights"]["stacks"][page["sights"]["at"][last["step"]]]
    assert page["places"][stack[0]][:2] == page["places"][last["place"]][:2]
    assert values_at(page, last["step"])


def test_values_are_those_of_the_moment(folder: Folder) -> None:
    folder.write(
        "program.py",
        """
        import threading

        class Box:
            def __init__(self):
                self.value = 0

            def __repr__(self):
                self.value += 100
                return "changed by being looked at"

            def add(self, amount):
                seen = self.value
                self.value = seen + amount

        box = Box()
        threads = [threading.Thread(target=box.add, args=(amount,)) for amount in (1, 2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert box.value == 3, box.value
        """,
    )

    found = folder.bohrbug("run", "--html", "page.html", "program.py")

    assert found.code == 1, found.err
    (page,) = document(folder.path / "page.html")["failures"]
    writes = [moment for moment in page["moments"] if moment["words"] == "writes Box.value"]
    first, second = (values_at(page, moment["step"]) for moment in writes)
    assert first["self"] == "Box(value=0)"
    assert first["seen"] == second["seen"] == "0"
    # The write of the other one is there when the second one comes to its own.
    assert second["self"] == f"Box(value={first['amount']})"


def test_a_run_without_a_failure_has_a_page_of_its_verdict(folder: Folder) -> None:
    folder.write("counter.py", LOCKED + "\ntest_add()\n")

    found = folder.bohrbug("run", "--html", "page.html", "counter.py")

    assert found.code == 0, found.err
    data = document(folder.path / "page.html")
    assert data["failures"] == []
    assert data["explored"]["headline"] in found.out


def test_a_page_that_cant_be_written_is_told(folder: Folder) -> None:
    folder.write("counter.py", SCRIPT)
    folder.write("file", "")

    found = folder.bohrbug("run", "--html", "file/page.html", "counter.py")

    assert found.code == 1
    assert "bohrbug: no report was written: file/page.html: " in found.err

    explained = folder.bohrbug("explain", "--html", "file/page.html", str(folder.reproduction()))

    # There is no verdict that its exit code could tell.
    assert explained.code == 2
    assert "bohrbug: no report was written: file/page.html: " in explained.err


def test_replay_and_explain_write_the_same_failure(folder: Folder) -> None:
    folder.write("counter.py", SCRIPT)
    folder.bohrbug("run", "counter.py")
    file = str(folder.reproduction())

    replayed = folder.bohrbug("replay", "--html", "replayed.html", file)
    explained = folder.bohrbug("explain", "--html", "explained.html", file)

    assert (replayed.code, explained.code) == (1, 0), replayed.err + explained.err
    one = document(folder.path / "replayed.html")
    other = document(folder.path / "explained.html")
    assert one["notes"][0].startswith("reproduced in 1 of 1 replay: AssertionError")
    assert one["failures"][0]["steps"] == other["failures"][0]["steps"]
    # Explaining executes nothing, so nothing is in sight.
    assert one["failures"][0]["sights"]["values"]
    assert other["failures"][0]["sights"]["at"] == []


def test_a_replay_of_something_else_has_no_page(folder: Folder) -> None:
    folder.write("counter.py", SCRIPT)
    folder.bohrbug("run", "counter.py")
    folder.write("counter.py", LOCKED + "\nif __name__ == '__main__':\n    test_add()\n")

    replayed = folder.bohrbug("replay", "--html", "page.html", str(folder.reproduction()))

    assert replayed.code == 0, replayed.err
    assert "no report was written: page.html: it did not fail as before" in replayed.err
    assert not (folder.path / "page.html").exists()


SUITE = (
    LOST_UPDATE
    + DEADLOCK.replace("test_block", "test_deadlock")
    + "\ndef test_alone():\n    pass\n"
)


def test_pytest_writes_an_index_and_pages(folder: Folder) -> None:
    folder.write("test_suite.py", SUITE)

    done = folder.pytest("--bohrbug", "--bohrbug-html", "pages", "test_suite.py")

    assert done.code == 1, done.out
    pages = folder.path / "pages"
    assert f"HTML report: {pages / 'index.html'}" in done.out
    index = document(pages / "index.html")
    rows = {row["test"].partition("::")[2]: row for row in index["rows"]}
    assert rows["test_alone"]["verdict"] == "holds"
    assert rows["test_alone"]["page"] == ""
    failed = [row for row in rows.values() if row["verdict"] == "failed"]
    assert len(failed) == 2
    for row in failed:
        data = document(pages / row["page"])
        assert data["test"] == row["test"]
        assert data["index"] == "index.html"
        assert data["failures"][0]["sights"]["values"]
        assert data["failures"][0]["commands"][0].startswith("bohrbug replay ")


def test_workers_of_pytest_write_pages_too(folder: Folder) -> None:
    folder.write("test_suite.py", SUITE)

    done = folder.pytest("--bohrbug", "--bohrbug-html", "pages", "-n", "2", "test_suite.py")

    assert done.code == 1, done.out
    index = document(folder.path / "pages" / "index.html")
    assert sum(bool(row["page"]) for row in index["rows"]) == 2
    for row in index["rows"]:
        assert not row["page"] or (folder.path / "pages" / row["page"]).is_file()


def test_what_is_reported_of_a_test_does_not_depend_on_its_page(folder: Folder) -> None:
    folder.write("test_suite.py", LOST_UPDATE)
    arguments = ("--bohrbug", "--bohrbug-no-memory", "test_suite.py")

    plain = folder.pytest(*arguments)
    with_page = folder.pytest(*arguments, "--bohrbug-html", "pages")

    def told(text: str) -> list[str]:
        lines = [re.sub(r"[\d.,]+ (s|per)\b", "", line) for line in text.splitlines()]
        return [line for line in lines if "HTML report" not in line and "=====" not in line]

    assert told(plain.out) == told(with_page.out)


def test_a_replay_in_pytest_has_a_page(folder: Folder) -> None:
    folder.write("test_suite.py", LOST_UPDATE)
    folder.pytest("--bohrbug", "test_suite.py")
    file = str(folder.reproduction())

    replayed = folder.bohrbug("replay", "--html", "page.html", file)

    assert replayed.code == 1, replayed.out + replayed.err
    (page,) = document(folder.path / "page.html")["failures"]
    assert page["sights"]["values"]
    refused = folder.pytest(f"--bohrbug-replay={file}", "--bohrbug-html=pages")
    assert refused.code != 0
    assert "bohrbug replay --html PAGE FILE" in refused.err


def test_values_of_coroutines_are_those_of_the_task(folder: Folder) -> None:
    folder.write(
        "program.py",
        """
        import asyncio

        class Seats:
            def __init__(self):
                self.free = 1
                self.sold = []

            async def book(self, who):
                if self.free > 0:
                    await asyncio.sleep(0)
                    self.free -= 1
                    self.sold.append(who)

        async def late(seats, who):
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            await seats.book(who)

        async def main():
            seats = Seats()
            await asyncio.gather(seats.book("Ada"), late(seats, "Bob"))
            assert seats.free == 0

        asyncio.run(main())
        """,
    )

    found = folder.bohrbug("run", "--html", "page.html", "program.py")

    assert found.code == 1, found.err
    (page,) = document(folder.path / "page.html")["failures"]
    # Both are past the test when one of them books.
    last = [moment for moment in page["moments"] if moment["step"] is not None][-1]
    assert values_at(page, last["step"]) == {"self": "Seats(free=1, sold=[])", "who": "'Ada'"}
    stack = page["sights"]["stacks"][page["sights"]["at"][last["step"]]]
    assert page["places"][stack[0]][2] == "Seats.book"


FLAKY = """
import queue, random, threading, time

box = queue.Queue()

def send(word):
    time.sleep(random.random() / 50)
    box.put(word)

for word in ("pay", "ship"):
    threading.Thread(target=send, args=(word,)).start()
assert box.get() == "pay"
"""


def test_message_logs_and_where_they_part(folder: Folder) -> None:
    folder.write("flaky.py", FLAKY)
    flaky = ("--", sys.executable, str(folder.path / "flaky.py"))
    folder.bohrbug("record", "-o", "pass", "--until", "pass", *flaky)
    folder.bohrbug("record", "-o", "fail", "--until", "fail", *flaky)

    shown = folder.bohrbug("messages", "--html", "log.html", "pass")
    parted = folder.bohrbug("messages", "diff", "--html", "diff.html", "pass", "fail", *flaky)

    assert (shown.code, parted.code) == (0, 1), shown.err + parted.err
    (page,) = document(folder.path / "log.html")["failures"]
    assert page["headline"] in shown.out
    assert page["passed"]
    steps = page["steps"]
    words = [
        steps["words"].get(str(index), steps["table"][operation][1])
        for index, operation in enumerate(steps["operations"])
    ]
    ((sent, received),) = steps["messages"]
    assert words[sent] == "send Queue 0/0"
    assert words[received] == "recv Queue 0/0 #1"
    assert page["tasks"][steps["tasks"][received]]["id"] == "0"

    data = document(folder.path / "diff.html")
    failing, passing = data["failures"]
    assert (failing["passed"], passing["passed"]) == (False, True)
    assert failing["sentence"] in parted.out
    here, there = failing["moments"][0]["words"].split("\n")
    assert here == "event 1: recv on queue.Queue 0/0: received #1 of 0.2"
    assert there == "pass: recv on queue.Queue 0/0: received #1 of 0.1"
    assert data["notes"][0].startswith("The exchange that decides: task 0, event 1")
