"""How Sphinx makes a site of these pages: ``sphinx-build -W -b html docs build/site``.

The pages are plain Markdown that can be read without it.  The navigation is that of ``index.md``:
each of its sections is a part, and the pages it links to are listed in their order, so that there
is nothing here to keep in step.

Where the environment variable ``BOHRBUG_GALLERY`` names the folder that ``tools/gallery`` has made,
its reports become part of the site.
"""

from __future__ import annotations

import html
import os
import re
import shutil
from pathlib import Path

from sphinx.application import Sphinx

from bohrbug import __version__

project = "Bohrbug"
author = "the authors of Bohrbug"
release = version = __version__

extensions = ["myst_parser"]
myst_heading_anchors = 6
# A page that no part of the index links to, a link to nothing, or to a heading that is not there,
# is a warning; with -W each of them fails.
# What the pages show is no source in one of Sphinx's languages unless they say so.
highlight_language = "text"

html_theme = "furo"
html_title = "Bohrbug"
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_show_sphinx = False

_GALLERY = os.environ.get("BOHRBUG_GALLERY")
GALLERY = Path(_GALLERY).resolve() if _GALLERY else None

PART = re.compile(r"^## (.+)$", re.MULTILINE)
PAGE = re.compile(r"\]\(([^():#\s]+)\.md\)")


def navigation(index: str) -> str:
    """The navigation that an index describes, as Sphinx wants to have it.

    Args:
        index: the index in Markdown: a heading of the second level for each part, with links to
            its pages below.
    """
    _, *parts = PART.split(index)
    trees = []
    for heading, text in zip(parts[::2], parts[1::2], strict=True):
        pages = "\n".join(dict.fromkeys(PAGE.findall(text)))
        trees.append(f"```{{toctree}}\n:hidden:\n:caption: {heading}\n\n{pages}\n```\n")
    return "\n" + "\n".join(trees)


BUG = re.compile(
    r"^\| (?P<library>[^|]+) \| (?P<version>[^|]+) \| (?P<breaks>[^|]+) \| (?P<kind>[^|]+) \|"
    r" [^|]+ \| `(?P<folder>\w+)/(?P<file>\w+\.py)(?:::(?P<test>\w+))?` \|",
    re.MULTILINE,
)
"""A bug in the tables of ``bugs.md``, and the test that shows it."""


def table_of_reports(bugs: str, gallery: Path) -> str:
    """The bugs of which there are reports, with links to these.

    Args:
        bugs: the page with the tables of bugs.
        gallery: a folder with a folder of reports for each folder of tests.

    Returns:
        A table in Markdown, with links as HTML, since the reports are no pages of the site.
    """
    rows = ["", "| library | version | what breaks | kind | |", "|---|---|---|---|---|"]
    for bug in BUG.finditer(bugs):
        pages = sorted(gallery.glob(f"{bug['folder']}/*{bug['file']}-{bug['test'] or '*'}-*.html"))
        links = [
            f'<a href="gallery/{html.escape(page.relative_to(gallery).as_posix())}">report</a>'
            for page in pages
        ]
        if links:
            said = (bug["library"], bug["version"], bug["breaks"], bug["kind"], ", ".join(links))
            rows.append(f"| {' | '.join(said)} |")
    others = [
        f'<a href="gallery/{path.parent.name}/index.html">{path.parent.name}</a>'
        for path in sorted(gallery.glob("*/index.html"))
        if path.parent.name not in {bug["folder"] for bug in BUG.finditer(bugs)}
    ]
    if others:
        rows += ["", f"Several bugs each: {', '.join(others)}."]
    return "\n".join([*rows, ""])


def _complete(app: Sphinx, name: str, source: list[str]) -> None:
    if name == "index":
        source[0] += navigation(source[0])
    elif name == "gallery" and GALLERY is not None:
        source[0] += table_of_reports((Path(app.srcdir) / "bugs.md").read_text("utf-8"), GALLERY)


def _outdated(*_: object) -> list[str]:
    return ["gallery"]  # read again in each build: it depends on more than its source


def _add_reports(app: Sphinx, error: Exception | None) -> None:
    if GALLERY is not None and error is None:
        shutil.copytree(GALLERY, Path(app.outdir) / "gallery", dirs_exist_ok=True)


def setup(app: Sphinx) -> None:
    """Called by Sphinx before it reads pages."""
    app.connect("source-read", _complete)
    app.connect("env-get-outdated", _outdated)
    app.connect("build-finished", _add_reports)
