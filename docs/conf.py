"""How Sphinx makes a site of these pages: ``sphinx-build -W -b html docs build/site``.

The pages are plain Markdown that can be read without it.  The navigation is that of ``index.md``:
each of its sections is a part, and the pages it links to are listed in their order, so that there
is nothing here to keep in step.
"""

from __future__ import annotations

import re

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


def _complete(_app: Sphinx, name: str, source: list[str]) -> None:
    if name == "index":
        source[0] += navigation(source[0])


def setup(app: Sphinx) -> None:
    """Called by Sphinx before it reads pages."""
    app.connect("source-read", _complete)
