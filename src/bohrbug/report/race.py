"""Data races: both accesses, with their stacks and the locks that were held."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from bohrbug.model.operation import Site
from bohrbug.model.outcome import Access, Race
from bohrbug.model.site import site_of
from bohrbug.report.naming import Names
from bohrbug.report.sources import source_line
from bohrbug.report.stack import draw_stack
from bohrbug.report.style import HEADING, QUIET, WARNED, Paper


def race_sites(races: Sequence[Race]) -> list[Site]:
    """All places that races mention."""
    found: list[Site] = []
    for race in races:
        for access in (race.first, race.second):
            site = site_of(access.operation.place)
            if site is not None:
                found.append(site)
            found.extend(frame.site for frame in access.stack)
            found.extend(held.acquired for held in access.holding if held.acquired is not None)
    return found


def _draw_access(paper: Paper, access: Access, names: Names, order: str) -> None:
    site = site_of(access.operation.place)
    text = paper.prose(f"{order}: task {names.task(access.task)} {access.operation.kind.name}s it ")
    if site is not None:
        text.append_text(paper.prose(f"at {names.place(site)}"))
    paper.paragraph(text, 4, 6)
    held = [
        f"{names.short_resource(item.resource)}"
        + (f" (taken at {names.place(item.acquired)})" if item.acquired is not None else "")
        for item in access.holding
    ]
    locks = f"holding {', '.join(held)}" if held else "holding no lock"
    paper.paragraph(paper.text(locks, QUIET), 6)
    if access.stack:
        draw_stack(paper, access.stack, names, indent=6)
    elif site is not None:
        line = Text("      ") + paper.text(f"{names.place(site)}  ", QUIET)
        paper.put(line + paper.text(source_line(site)))


def draw_race(paper: Paper, race: Race, names: Names) -> None:
    """Print one race."""
    times = f", seen {race.count:,} times" if race.count > 1 else ""
    both = race.first.operation.kind.is_write and race.second.operation.kind.is_write
    words = "two writes" if both else "a read and a write"
    title = paper.text("  Race", WARNED) + paper.text(f" on {race.label}", HEADING)
    paper.put(title + paper.text(f"  ({words}{times})", QUIET))
    _draw_access(paper, race.first, names, "one")
    _draw_access(paper, race.second, names, "the other")
    common = {held.resource for held in race.first.holding} & {
        held.resource for held in race.second.holding
    }
    if (race.first.holding or race.second.holding) and not common:
        paper.paragraph(paper.text("No lock is held at both accesses.", QUIET), 4)
