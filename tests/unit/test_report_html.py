"""The documents of HTML reports, and the files that they are put into."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from bohrbug.exploration.progress import Progress
from bohrbug.exploration.result import Failure, Result, Verdict, VerdictKind
from bohrbug.exploration.sights import Sight, Sights
from bohrbug.model.outcome import Access, Frame, Outcome, OutcomeKind
from bohrbug.report.html.document import (
    BLOCKED,
    COULD_RUN,
    ENDED,
    NOWHERE,
    Index,
    IndexRow,
    plain,
)
from bohrbug.report.html.failure import failure_page
from bohrbug.report.html.making import failure_document, result_document
from bohrbug.report.html.page import as_data, page_of, write_page
from bohrbug.report.html.steps import states_of
from bohrbug.report.html.tables import LONGEST_LINE, Tables
from bohrbug.report.naming import Names
from bohrbug.report.text import failure_text
from tests.unit import report_samples as samples
from tests.unit.report_pages import HOSTILE, hostile_failure, long_failure


def data_of(page: str) -> dict[str, Any]:
    """The document in a page, as a browser finds it: its script ends at the first ``</script``."""
    start = page.index('<script type="application/json" id="document">')
    content = page[page.index(">", start) + 1 :]
    found = json.loads(content[: re.search("</script", content, re.I).start()])  # type: ignore[union-attr]
    assert isinstance(found, dict)
    return found


class Scripts(HTMLParser):
    """Collects the elements of a page, and what is in its scripts and style sheets."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.contents: list[tuple[str, str]] = []
        self.policy = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        known = dict(attrs)
        assert not any(name.startswith("on") or name in ("src", "href") for name in known)
        if known.get("http-equiv") == "Content-Security-Policy":
            self.policy = known["content"] or ""

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1] in ("script", "style") and data.strip():
            self.contents.append((self.tags[-1], data))


# -- the document --------------------------------------------------------------------------


def test_steps_in_columns() -> None:
    failure = samples.lost_update()
    page = failure_page(failure)
    steps = page.steps

    assert [page.tasks[task].id for task in steps.tasks] == failure.trace.tasks
    words = [steps.table[operation][1] for operation in steps.operations]
    assert words[:5] == [
        "start task 0.1",
        "start task 0.2",
        "begins",
        "read Account.balance",
        "begins",
    ]
    places = [steps.table[operation][2] for operation in steps.operations]
    assert places[2] == NOWHERE
    file, line, function, name = page.places[places[3]]
    assert (page.files[file].name, function) == ("bank.py", "Account.deposit")
    assert name == f"bank.py:{line}"
    first, lines = page.files[file].parts[0]
    assert lines[line - first].strip() == "t = self.balance"
    assert steps.preemptions == steps.essential == [4]
    task, before, _ = steps.before[4]
    assert (page.tasks[task].id, before) == ("0.1", "0.1 preempted before write Account.balance")
    assert steps.options[0] == 1
    assert steps.options[3] == 2


def test_the_words_are_those_of_the_text_report() -> None:
    failure = samples.lost_update()
    page = failure_page(failure, commands=["bohrbug replay FILE"], executions=9, seconds=1.5)
    text = " ".join(failure_text(failure, width=2000, executions=9, seconds=1.5).split())

    for words in (page.headline, page.where, page.found, page.sentence, page.interpreter):
        assert words
        assert words in text
    assert page.reproduced == "reproduced in 3 of 3 replays"
    assert " ".join(page.traceback.split()) in text


def test_moments_are_the_operations_at_fault_in_their_order() -> None:
    page = failure_page(samples.lost_update())

    assert [(m.step, page.tasks[m.task].id, m.words) for m in page.moments] == [
        (3, "0.1", "reads Account.balance"),
        (6, "0.2", "writes Account.balance"),
        (8, "0.1", "writes Account.balance"),
    ]
    assert page.steps.pairs == [(3, 6), (6, 8)]


def test_a_blocked_task_is_blocked_until_it_can_go_on() -> None:
    failure = samples.lost_update()
    states = states_of(failure.trace)

    assert states == {
        # The main thread waits for the others from its join on.
        "0": [0, COULD_RUN, 2, BLOCKED, 10, COULD_RUN, 13, ENDED],
        "0.1": [1, COULD_RUN, 10, ENDED],
        "0.2": [2, COULD_RUN, 8, ENDED],
    }


def test_tasks_of_a_deadlock_stay_blocked() -> None:
    failure = samples.lock_cycle()
    states = states_of(failure.trace)

    assert [states[task][-1] for task in ("0", "0.1", "0.2")] == [BLOCKED] * 3


def test_the_cycle_of_a_deadlock() -> None:
    page = failure_page(samples.lock_cycle())
    deadlock = page.deadlock

    assert deadlock is not None
    assert "which waits for" in deadlock.sentence
    assert [page.tasks[each.task].id for each in deadlock.cycle] == ["0.1", "0.2"]
    assert [page.tasks[each.holder].id for each in deadlock.cycle] == ["0.2", "0.1"]
    assert all(page.places[each.waits_at][3].startswith("bank.py:") for each in deadlock.cycle)
    assert all("taken at bank.py:" in each.held for each in deadlock.cycle)
    assert deadlock.others == [
        "Task 0 (MainThread, test_transfer) waits for the end of task 0.1 (bank.py:41)."
    ]


def test_a_lost_notify_has_no_cycle() -> None:
    page = failure_page(samples.lost_notify())

    assert page.deadlock is not None
    assert page.deadlock.cycle == []
    assert any("nobody is left who could notify it" in words for words in page.deadlock.others)


def race_failure() -> Failure:
    """A data race that is the failure, seen in an execution with a step before each access."""
    failure = samples.lost_update()
    race = samples.balance_race()

    def at(access: Access, step: int) -> Access:
        return replace(access, step=step)

    race = replace(race, first=at(race.first, 4), second=at(race.second, 6))
    outcome = Outcome(OutcomeKind.RACE, task="0.2", race=race, stack=(race.second.stack[0],))
    return replace(failure, outcome=outcome, trace=failure.trace.with_outcome(outcome))


def test_both_sides_of_a_race() -> None:
    page = failure_page(race_failure())

    assert page.race is not None
    first, second = page.race.sides
    assert "writes it at bank.py:" in first.words
    assert first.held == "holding Lock audit (taken at bank.py:12)"
    assert "reads it at bank.py:" in second.words
    assert [moment.near for moment in page.moments] == [3, 5]
    assert page.moments[0].words.startswith("writes Account.balance, holding")


@pytest.mark.parametrize("sample", samples.SAMPLES.values(), ids=samples.SAMPLES)
def test_every_sample_has_a_page(sample: Callable[[], Failure]) -> None:
    failure = sample()
    document = failure_document(failure, "test")
    found = data_of(page_of(document))

    assert found == json.loads(json.dumps(plain(document)))
    page = found["failures"][0]
    count = len(failure.trace)
    assert len(page["steps"]["tasks"]) == len(page["steps"]["operations"]) == count
    assert len(page["steps"]["states"]) == len(page["tasks"])
    for states in page["steps"]["states"]:
        assert states[::2] == sorted(set(states[::2]))
    for index, moment in enumerate(page["moments"]):
        assert moment["place"] < len(page["places"]), index


def test_sights_are_told_with_the_program_alone() -> None:
    failure = samples.lost_update()
    site = failure.outcome.stack[0].site
    outer = site._replace(line=1, function="<module>")
    inside = site._replace(filename=str(Path(failure_page.__code__.co_filename)))
    sight = Sight((Frame(outer), Frame(site), Frame(inside)), (("x", "1"),))
    page = failure_page(failure, sights=Sights({3: sight, 5: sight}))

    assert page.sights.at[2] == NOWHERE
    at = page.sights.at[3]
    assert at == page.sights.at[5]
    place, outer_at = page.sights.stacks[at]
    assert page.places[place][1] == site.line
    assert page.places[page.sights.stacks[outer_at][0]][2] == "<module>"
    assert page.sights.values == {3: 0, 5: 0}
    assert page.sights.sets == [[("x", "1")]]


def test_a_long_file_is_shown_around_its_places_and_long_lines_are_cut(tmp_path: Path) -> None:
    path = tmp_path / "long.py"
    path.write_text("x = 1\n" * 400 + f"y = '{'a' * 5000}'\n" + "z = 1\n" * 400)
    failure = samples.lost_update()
    tables = Tables(Names(failure.trace), ["0"])
    site = failure.outcome.stack[0].site._replace(filename=str(path), line=401)
    tables.place(site)
    tables.place(site._replace(line=3))

    (file,) = tables.files()
    assert [(first, len(lines)) for first, lines in file.parts] == [(1, 23), (381, 41)]
    assert len(file.parts[1][1][20]) == LONGEST_LINE + 1


def test_the_document_of_a_result() -> None:
    failure = samples.lost_update()
    result = Result("test_x", Verdict(VerdictKind.FAILED, reason="a failure was found"), [failure])
    result.executions, result.seconds = 7, 1.25
    history = [Progress(count, None, count / 8, 0, 0, "") for count in range(1, 1000)]
    document = result_document(result, history, printed="hello")

    assert document.explored is not None
    assert document.explored.headline == "Failed: 1 distinct failure"
    assert len(document.explored.history) <= 301
    assert document.explored.history[-1] == (1.25, 7, 1, 0)
    assert document.failures[0].printed == "hello"
    assert document.failures[0].counted


# -- the file --------------------------------------------------------------------------------


def test_nothing_of_a_program_is_markup(tmp_path: Path) -> None:
    document = failure_document(
        hostile_failure(tmp_path / "hostile.py"), HOSTILE, printed=HOSTILE, notes=[HOSTILE]
    )
    page = page_of(document)

    assert data_of(page)["test"] == HOSTILE
    parser = Scripts()
    parser.feed(page)
    assert parser.tags.count("script") == 2
    assert "img" not in parser.tags
    assert page.isascii()
    content = next(text for tag, text in parser.contents if text.startswith("{"))
    assert not re.search("[<>&\u2028]", content)


def test_lone_surrogates_do_not_break_the_file(tmp_path: Path) -> None:
    failure = samples.lost_update()
    document = failure_document(failure, "test\udcff.py")
    write_page(document, tmp_path / "page.html")

    assert data_of((tmp_path / "page.html").read_text())["test"] == "test\udcff.py"


def test_the_policy_lets_only_the_script_of_the_file_run() -> None:
    page = page_of(failure_document(samples.lost_update(), "test"))
    parser = Scripts()
    parser.feed(page)
    rules = dict(rule.strip().split(" ", 1) for rule in parser.policy.split(";"))

    def hash_of(content: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"

    scripts = [text for tag, text in parser.contents if tag == "script" and text[0] != "{"]
    styles = [text for tag, text in parser.contents if tag == "style"]
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == hash_of(scripts[0])
    assert rules["style-src"] == hash_of(styles[0])
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", page)


@pytest.mark.parametrize("text", ["</script>", "<!--", "]]>", "\u2028\u2029", "&lt;"])
def test_data_survive_as_they_are(text: str) -> None:
    data = as_data({"text": text})

    assert not re.search("[<>&\u2028\u2029]", data)
    assert json.loads(data) == {"text": text}


def test_an_index(tmp_path: Path) -> None:
    rows = [IndexRow("test_x", "holds", "holds: all 3 schedules", "", 3, 0.1, 2)]
    path = tmp_path / "pages" / "index.html"
    write_page(Index("Tests explored", rows, "1 test"), path)

    assert data_of(path.read_text())["rows"][0]["line"] == "holds: all 3 schedules"
    assert not list(path.parent.glob("*.partial"))


def test_pages_stay_small(tmp_path: Path) -> None:
    short = page_of(failure_document(long_failure(200, tmp_path / "a.py"), "test"))
    long = page_of(failure_document(long_failure(100_000, tmp_path / "b.py"), "test"))

    assert len(short) < 300_000
    assert len(long) < 5_000_000


# -- the front end ----------------------------------------------------------------------------


def test_the_front_end_was_built_from_its_sources() -> None:
    """``cd frontend && npm ci && npm run build`` builds it."""
    root = Path(__file__).parents[2]
    folder = root / "frontend"
    digest = hashlib.sha256()
    for path in sorted([*(folder / "src").iterdir(), folder / "package-lock.json"]):
        digest.update(path.read_bytes().replace(b"\r\n", b"\n"))
    built = root / "src" / "bohrbug" / "report" / "html" / "assets" / "sources.sha256"
    assert built.read_text().strip() == digest.hexdigest()
