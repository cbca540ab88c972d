"""HTML reports as a headless Chromium shows them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bohrbug.exploration.progress import Progress
from bohrbug.exploration.result import Result, Verdict, VerdictKind
from bohrbug.exploration.sights import Sight, Sights
from bohrbug.model.outcome import Frame
from bohrbug.report.html.document import Index, IndexRow
from bohrbug.report.html.making import failure_document, result_document
from bohrbug.report.html.message_log import diff_document
from bohrbug.runtime.channels.events import (
    ChannelId,
    Event,
    Kind,
    Log,
    MessageId,
    Outcome,
    Status,
)
from bohrbug.runtime.channels.orders import partings
from tests.unit import report_samples as samples
from tests.unit.report_pages import HOSTILE, hostile_failure, long_failure
from tests.unit.test_report_html import race_failure

from .conftest import Open

ESSENTIAL = 4
"""The step of the lost update that begins with its one preemption."""


def lost_update() -> object:
    failure = samples.lost_update()
    frame = Frame(failure.outcome.stack[0].site)
    sights = Sights({3: Sight((frame,), (("self", "Account(balance=0)"),))})
    return failure_document(replace(failure, reproduction=Path("x.json")), "t", sights=sights)


# -- the first screen -----------------------------------------------------------------------


def is_on_first_screen(shown: object, selector: str) -> bool:
    boxes = shown.page.locator(selector).all()  # type: ignore[attr-defined]
    assert boxes
    return all(
        box is not None and box["y"] >= 0 and box["y"] + box["height"] <= 800
        for box in (each.bounding_box() for each in boxes)
    )


def test_the_lines_at_fault_and_their_order_are_on_the_first_screen(show: Open) -> None:
    shown = show(lost_update())

    assert shown.text("h1") == "AssertionError: assert 1 == 2"
    assert is_on_first_screen(shown, ".moment")
    moments = [each.inner_text().split("\n") for each in shown.page.locator(".moment").all()]
    assert [(each[0], each[1], each[2]) for each in moments[:3]] == [
        ("1", "t = self.balance", "0.1reads Account.balance"),
        ("2", "self.balance = t + 1", "0.2writes Account.balance"),
        ("3", "self.balance = t + 1", "0.1writes Account.balance"),
    ]
    assert "AssertionError: assert 1 == 2" in moments[3]
    assert is_on_first_screen(shown, ".sentence")
    assert shown.page.locator(".row").first.bounding_box()["y"] < 800


def test_a_deadlock_has_its_graph_on_the_first_screen(show: Open) -> None:
    shown = show(failure_document(samples.lock_cycle(), "t"))

    assert is_on_first_screen(shown, ".graph")
    assert is_on_first_screen(shown, ".moment")
    assert shown.page.locator(".graph-node").count() == 2
    label = shown.page.locator(".graph").get_attribute("aria-label")
    assert "holds Lock" in label
    assert "which waits for" in label


def test_both_sides_of_a_race_are_on_the_first_screen(show: Open) -> None:
    shown = show(failure_document(race_failure(), "t"))

    assert is_on_first_screen(shown, ".moment")
    assert shown.page.locator(".moment").count() == 2
    assert "self.balance = t + 1" in shown.text(".moment >> nth=0")
    assert "t = self.balance" in shown.text(".moment >> nth=1")
    assert shown.page.locator(".side-card").count() == 2


def test_the_step_to_begin_with_is_on_the_first_screen(show: Open) -> None:
    shown = show(failure_document(samples.many_tasks(), "t"))
    shown.settle()

    assert shown.step > 100
    assert is_on_first_screen(shown, ".row.is-current")
    # Of a task that begins the place is shown where it goes on.
    shown.page.locator(".row", has_text="begins").first.click()
    assert "t = self.balance" in shown.text(".line.is-here")


# -- stepping, jumping, filtering --------------------------------------------------------------


def test_keys_step_and_everything_follows(show: Open) -> None:
    shown = show(lost_update())
    assert shown.step == 3
    assert "self.balance" in shown.text(".line.is-here")
    assert "Account(balance=0)" in shown.text(".values")

    shown.press("ArrowRight", "ArrowRight", "ArrowRight")
    shown.settle()

    assert shown.step == 6
    assert "write Account.balance" in shown.text(".row.is-current")
    assert "self.balance = t + 1" in shown.text(".line.is-here")
    assert "None were recorded" in shown.text(".values")
    assert "Step 6 of 13" in shown.text("[aria-live]")
    assert shown.page.locator("[role=slider]").get_attribute("aria-valuenow") == "6"

    shown.press("ArrowLeft", "j", "k", "k")
    assert shown.step == 4
    shown.press("End")
    assert shown.step == 13
    shown.settle()
    assert "AssertionError" in shown.text(".row.is-current")
    shown.press("ArrowRight", "Home", "ArrowLeft")
    assert shown.step == 0


def test_keys_jump_to_preemptions(show: Open) -> None:
    shown = show(lost_update())
    shown.press("Home", "n")
    assert shown.step == ESSENTIAL
    shown.press("n")
    assert shown.step == ESSENTIAL
    shown.press("End", "p")
    assert shown.step == ESSENTIAL
    shown.settle()
    assert "0.1 preempted before write Account.balance" in shown.text(".row.is-mark")


def test_moments_and_rows_are_pressed(show: Open) -> None:
    shown = show(lost_update())
    shown.page.locator(".moment button").nth(2).click()
    assert shown.step == 8
    shown.page.locator(".row", has_text="ends").first.click()
    assert shown.step == 7
    shown.page.locator("button[aria-label^='First']").click()
    assert shown.step == 0


def test_playing_goes_on_to_the_end(show: Open) -> None:
    shown = show(lost_update())
    shown.page.locator(".speed").select_option("3")
    shown.page.locator("body").click(position={"x": 5, "y": 300})
    shown.press(" ")
    shown.wait_for("[aria-live]", "The end: AssertionError: assert 1 == 2")
    assert shown.step == 13


def test_steps_are_filtered(show: Open) -> None:
    shown = show(lost_update())
    shown.press("/")
    shown.page.keyboard.type("write Account")
    shown.wait_for(".found", "2 of 13")
    shown.settle()
    rows = [each.inner_text() for each in shown.page.locator(".row:not(.is-mark)").all()]
    assert len(rows) == 3
    assert sum("write Account.balance" in row for row in rows) == 2

    shown.press("Escape")
    shown.settle()
    assert shown.page.locator(".row:not(.is-mark)").count() == 14
    # An arrow key in the box moves its cursor, and steps nothing.
    before = shown.step
    shown.press("/")
    shown.page.keyboard.type("0.2")
    shown.press("ArrowLeft")
    assert shown.step == before
    shown.wait_for(".found", "6 of 13")


def test_only_what_matters(show: Open, tmp_path: Path) -> None:
    shown = show(failure_document(long_failure(400, tmp_path / "long.py"), "t"))
    shown.press("o")
    shown.settle()
    found, _, count = shown.text(".found").partition(" of ")
    assert int(found) < 60 < int(count)


def test_keys_are_told(show: Open) -> None:
    shown = show(lost_update())
    shown.press("?")
    assert shown.page.locator("dialog[open]").count() == 1
    assert "play or pause" in shown.text("dialog")
    shown.page.locator("dialog button").click()
    assert shown.page.locator("dialog[open]").count() == 0


def test_several_failures_are_chosen_from(show: Open) -> None:
    failures = [samples.lost_update(), samples.lock_cycle()]
    result = Result("t", Verdict(VerdictKind.FAILED, reason="found"), failures)
    shown = show(result_document(result))
    shown.page.locator(".choose").select_option(index=1)
    assert shown.text("h1") == "Deadlock: 2 tasks wait for each other"
    assert "Failed: 2 distinct failures" in shown.text(".sections")


def test_what_was_explored(show: Open) -> None:
    result = Result("t", Verdict(VerdictKind.FAILED, reason="found"), [samples.lost_update()])
    result.executions, result.seconds = 40, 2.0
    history = [Progress(10 * n, None, n / 2, int(n > 2), n // 2, "") for n in range(1, 4)]
    shown = show(result_document(result, history))

    label = shown.page.locator(".curve").get_attribute("aria-label")
    assert label == "40 executions in 2 s; 1 failure; 0 data races"
    # The first race, and the failure.
    assert shown.page.locator(".curve .dot").count() == 2
    assert shown.page.locator(".curve .dot.is-failure").count() == 1
    steps = samples.lost_update().trace
    decisions = sum(len(steps.options(step)) > 1 for step in range(len(steps)))
    assert shown.page.locator(".tree-node").count() == decisions
    shown.page.locator(".tree-node.is-marked").click()
    assert shown.step == ESSENTIAL


def test_a_result_without_a_failure(show: Open) -> None:
    result = Result("t", Verdict(VerdictKind.NO_FAILURE_FOUND, reason="the budget was spent"))
    shown = show(result_document(result))
    assert shown.text("h1") == "No failure found"
    assert "the budget was spent" in shown.text("main")


# -- light, dark, narrow ----------------------------------------------------------------------


def background(shown: object) -> list[int]:
    script = "getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g).map(Number)"
    found = shown.page.evaluate(script)  # type: ignore[attr-defined]
    assert isinstance(found, list)
    return found


def test_dark_and_light_follow_the_system_until_chosen(show: Open) -> None:
    assert min(background(show(lost_update()))) > 200
    dark = show(lost_update(), color_scheme="dark")
    assert max(background(dark)) < 60
    dark.press("t")
    assert min(background(dark)) > 200
    dark.press("t")
    assert max(background(dark)) < 60


CONTRAST = """
() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const behind = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) {
      const colour = rgba(getComputedStyle(at).backgroundColor);
      layers.push(colour);
      if (colour[3] === 1) break;
    }
    return layers.reverse().reduce((under, over) =>
      [0, 1, 2].map((i) => over[i] * over[3] + under[i] * (1 - over[3])), [255, 255, 255]);
  };
  const light = (colour) => {
    const [r, g, b] = colour.map((part) => {
      const share = part / 255;
      return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const poor = [];
  for (const element of document.querySelectorAll("main *, header *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!own || element.closest("svg, .hidden, option")) continue;
    const text = light(rgba(getComputedStyle(element).color));
    const ground = light(behind(element));
    const ratio = (Math.max(text, ground) + 0.05) / (Math.min(text, ground) + 0.05);
    const words = element.textContent.slice(0, 40);
    if (ratio < 4.5) poor.push(`${element.className}: ${words} ${ratio}`);
  }
  return poor;
}
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast(show: Open, scheme: str) -> None:
    """As the accessibility guidelines ask for: at least 4.5 to 1."""
    for document in (lost_update(), failure_document(samples.lock_cycle(), "t")):
        shown = show(document, color_scheme=scheme)
        assert shown.page.evaluate(CONTRAST) == []


def test_everything_that_acts_has_a_name(show: Open) -> None:
    shown = show(lost_update())
    script = """
    () => [...document.querySelectorAll("button, input, select, [role]:is(svg, [tabindex])")]
      .filter((each) => !(each.getAttribute("aria-label") || each.textContent.trim()
        || each.labels?.length))
      .map((each) => each.outerHTML)
    """
    assert shown.page.evaluate(script) == []
    assert shown.page.locator("html[lang]").count() == 1
    assert shown.page.locator("h1").count() == 1


def test_a_phone_shows_it_without_scrolling_sideways(show: Open) -> None:
    sideways = "document.documentElement.scrollWidth"
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True}
    row = IndexRow(f"test_{'x' * 60}", "failed", f"failed: {'y' * 60}", "a.html", 3, 0.5, 2)
    index = show(Index("Tests explored", [row], "1 test"), **phone)
    assert index.page.evaluate(sideways) <= 390
    table = index.page.locator("table")
    assert table.evaluate("table => table.scrollWidth <= table.parentElement.clientWidth")
    for document in (lost_update(), failure_document(samples.lock_cycle(), "t")):
        shown = show(document, **phone)
        assert shown.page.evaluate(sideways) <= 390
        assert shown.page.locator(".moment").first.bounding_box()["y"] < 844
        before = shown.step
        shown.page.locator("button[aria-label^='One step on']").tap()
        assert shown.step == before + 1


# -- long, and hostile -------------------------------------------------------------------------


def test_a_hundred_thousand_steps_are_drawn_as_far_as_they_are_in_view(
    show: Open, tmp_path: Path
) -> None:
    failure = long_failure(100_000, tmp_path / "long.py")
    shown = show(failure_document(failure, "t"))
    count = len(failure.trace)
    assert shown.page.locator(".row").count() < 100
    assert shown.step >= count - 12

    shown.press("Home")
    shown.settle()
    assert "start task 0.1" in shown.text(".row.is-current")
    shown.page.locator(".step-number").fill("50000")
    shown.page.locator(".step-number").press("Enter")
    shown.settle()
    assert shown.step == 50_000
    assert "50000" in shown.text(".row.is-current")
    assert shown.page.locator(".row").count() < 100
    shown.press("Escape")
    shown.page.locator(".lanes-scroller").focus()
    shown.press("n")
    shown.settle()
    assert shown.page.locator(".row.is-current").count() == 1
    shown.press("/")
    shown.page.keyboard.type("total")
    shown.wait_for(".found", f"4 of {count:,}")


def test_nothing_that_a_program_names_is_run(show: Open, tmp_path: Path) -> None:
    document = failure_document(
        hostile_failure(tmp_path / "hostile.py"), HOSTILE, printed=HOSTILE, notes=[HOSTILE]
    )
    shown = show(document)
    for _ in range(4):
        shown.press("ArrowRight")
    shown.press("Home")
    shown.settle()

    assert shown.page.evaluate("window.hurt") is None
    assert shown.page.locator("img").count() == 0
    assert shown.text("h1") == HOSTILE.splitlines()[0]
    assert "onerror" in shown.text(".source-body")


def test_a_hostile_index(show: Open) -> None:
    rows = [IndexRow(HOSTILE, "failed", HOSTILE, "javascript:window.hurt=1", 1, 0.1, 2)]
    shown = show(Index(HOSTILE, rows, HOSTILE))
    assert shown.page.locator("tbody a").get_attribute("href").startswith("./javascript%3A")
    assert shown.page.evaluate("window.hurt") is None
    assert shown.page.locator("img").count() == 0


def test_a_message_log(show: Open) -> None:
    sent = Event(Kind.SEND, ChannelId("0", 0), "queue.Queue", Outcome(Status.SENT))
    got = sent._replace(kind=Kind.RECV, outcome=Outcome(Status.RECEIVED, MessageId("0.1", 0)))
    late = got._replace(outcome=Outcome(Status.EMPTY))
    logs = [
        Log({"0": [event], "0.1": [sent]}, {}, {"passed": event is got}) for event in (got, late)
    ]
    document = diff_document((logs[0], logs[1]), ("pass", "fail"), partings(*logs), ["It decides"])
    shown = show(document)

    assert shown.text("h1") == "fail: 2 events of 2 tasks"
    assert shown.text(".note") == "It decides"
    assert "pass: recv on queue.Queue 0/0: received #1 of 0.1" in shown.text(".moment")
    assert not shown.page.locator(".source").is_visible()
    shown.page.locator(".choose").select_option(index=1)
    assert shown.text("h1") == "pass: 2 events of 2 tasks"
    shown.settle()
    assert "recv Queue 0/0 #1" in shown.text(".row.is-current")


# -- the index ---------------------------------------------------------------------------------


def test_the_index_is_filtered_and_sorted(show: Open) -> None:
    rows = [
        IndexRow("test_b", "holds", "holds: all 3 schedules", "", 3, 0.5, 2),
        IndexRow("test_a", "failed", "failed: AssertionError", "test_a.html", 9, 0.1, 2),
        IndexRow("test_c", "not explored", "no Python function", "", 0, 0.0, 0),
    ]
    shown = show(Index("Tests explored", rows, "3 tests"))

    def tests() -> list[str]:
        return [each.inner_text() for each in shown.page.locator(".test-name").all()]

    assert tests() == ["test_a", "test_b", "test_c"]
    assert shown.page.locator("tbody a").get_attribute("href") == "./test_a.html"
    shown.page.get_by_role("button", name="Executions").click()
    assert tests() == ["test_c", "test_b", "test_a"]
    shown.page.get_by_role("button", name="Executions").click()
    assert tests() == ["test_a", "test_b", "test_c"]
    shown.page.get_by_role("button", name="holds").click()
    assert tests() == ["test_b"]
    shown.page.get_by_role("button", name="holds").click()
    shown.press("/")
    shown.page.keyboard.type("python")
    assert tests() == ["test_c"]
