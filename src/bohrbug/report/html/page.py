"""From a document to one HTML file that needs nothing else.

What a program calls its things, prints, and has in its source is text of others: the document is
JSON in a script element that is data, in which no ``<`` is left, and the front end puts it into the
page as text only.  A content security policy lets nothing run but the script of this file, and
nothing be loaded from anywhere.
"""

from __future__ import annotations

import base64
import hashlib
import json
from functools import lru_cache
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from bohrbug import __version__
from bohrbug.paths import replace_file
from bohrbug.report.html.document import Document, Index, plain

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="Bohrbug {version}">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<noscript>This report needs JavaScript. The same in text: bohrbug explain FILE</noscript>
<div id="report"></div>
<script type="application/json" id="document">{data}</script>
<script>{script}</script>
</body>
</html>
"""


@lru_cache(maxsize=1)
def _assets() -> tuple[str, str]:
    """The script and the style sheet, as they were built from ``frontend/``."""
    folder = files("bohrbug.report.html").joinpath("assets")
    return (
        folder.joinpath("report.js").read_text(encoding="utf-8"),
        folder.joinpath("report.css").read_text(encoding="utf-8"),
    )


def _hash(content: str) -> str:
    digest = hashlib.sha256(content.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def as_data(value: Any) -> str:
    """Plain data as JSON that is safe in a script element, whatever its strings hold.

    All that is no ASCII is escaped, U+2028 and lone surrogates included; and so are the
    characters with which markup begins or ends: ``</script>`` and ``<!--`` can't come about.
    """
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), check_circular=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def page_of(document: Document | Index) -> str:
    """The page of a document."""
    script, style = _assets()
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src {_hash(script)}",
            f"style-src {_hash(style)}",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    return _PAGE.format(
        policy=policy,
        version=escape(__version__),
        title=escape(_title(document), quote=False).encode("ascii", "xmlcharrefreplace").decode(),
        style=style,
        data=as_data(plain(document)),
        script=script,
    )


def _title(document: Document | Index) -> str:
    if isinstance(document, Index):
        title = document.title
    elif document.failures:
        title = f"{document.failures[0].headline} - {document.test}"
    else:
        headline = "" if document.explored is None else document.explored.headline
        title = f"{headline} - {document.test}"
    return title.encode("utf-8", "replace").decode("utf-8")


def write_page(document: Document | Index, path: Path) -> None:
    """Write the page of a document, in place of the file there may be; folders are made.

    Parameters:
        document: what it shows.
        path: of the file.

    Raises:
        OSError: it can't be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, page_of(document).encode("ascii"))
