"""A headless Chromium, for the tests of what a browser makes of an HTML report."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bohrbug.report.html.document import Document, Index
from bohrbug.report.html.page import write_page

REQUIRED = "BOHRBUG_REQUIRE_BROWSER"
"""Set where tests must not be skipped for want of a browser."""


def _missing() -> str:
    """What is missing for these tests, or nothing."""
    if importlib.util.find_spec("playwright") is None:
        return "playwright is not installed: pip install -e '.[browser]'"
    if _chromium() is None:
        return "there is no Chromium: apt-get install chromium"
    return ""


def _chromium() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser")


# Not longer than a module: while Playwright is there, an event loop runs in this thread, which
# tests of event loops can't have.
@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    missing = _missing()
    if missing:
        if os.environ.get(REQUIRED):
            pytest.fail(missing)
        pytest.skip(missing)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # Containers often run as root, where Chromium has no sandbox.
        found = playwright.chromium.launch(executable_path=_chromium(), args=["--no-sandbox"])
        yield found
        found.close()


class Shown:
    """A page in a browser.

    Parameters:
        page: of Playwright.
        errors: what went wrong in it; grows.
        requests: what it asked for, beside itself; grows.
    """

    def __init__(self, page: Any, errors: list[str], requests: list[str]) -> None:
        self.page = page
        self.errors = errors
        self.requests = requests

    @property
    def step(self) -> int:
        """The step that is shown."""
        return int(self.page.locator(".stage").get_attribute("data-step"))

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def text(self, selector: str) -> str:
        return str(self.page.locator(selector).first.inner_text())

    def wait_for(self, selector: str, text: str) -> None:
        """Wait until an element says so; the policy of the page forbids a script that looks."""
        from playwright.sync_api import expect

        expect(self.page.locator(selector)).to_have_text(text)

    def settle(self) -> None:
        """Wait until what was asked for is drawn."""
        self.page.evaluate(
            "() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))"
        )


Open = Callable[..., Shown]


@pytest.fixture
def show(browser: Any, tmp_path: Path) -> Iterator[Open]:
    """Opens a document in a browser; at the end nothing may have gone wrong in it."""
    contexts = []
    shown: list[Shown] = []

    def open_document(document: Document | Index, **options: Any) -> Shown:
        path = tmp_path / f"page-{len(contexts)}.html"
        write_page(document, path)
        context = browser.new_context(
            **{"viewport": {"width": 1280, "height": 800}, "reduced_motion": "reduce", **options}
        )
        contexts.append(context)
        page = context.new_page()
        errors: list[str] = []
        requests: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
        page.on("request", lambda request: requests.append(request.url))
        page.goto(path.as_uri())
        found = Shown(page, errors, requests)
        found.settle()
        shown.append(found)
        return found

    yield open_document
    for each in shown:
        assert each.errors == []
        # Nothing is loaded but the page itself.
        assert len(each.requests) == 1
    for context in contexts:
        context.close()
