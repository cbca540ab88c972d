"""The documentation: its links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.documentation import PAGES, ROOT

LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """What the headings of a page are called in links, as on GitHub."""
    headings = re.findall(r"^#+ (.*)$", CODE.sub("", page.read_text("utf-8")), re.MULTILINE)
    words = (re.sub(r"\[([^]]*)]\([^)]*\)", r"\1", heading).lower() for heading in headings)
    return {re.sub(r"[^\w\- ]", "", heading).strip().replace(" ", "-") for heading in words}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_a_page_and_a_heading(page: Path) -> None:
    for link in LINK.findall(CODE.sub("", page.read_text("utf-8"))):
        if link.startswith("https://"):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link
