"""The few signs that reports draw with, and their stand-ins where only ASCII can be shown."""

from __future__ import annotations

import re
from dataclasses import dataclass

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@dataclass(frozen=True, slots=True)
class Glyphs:
    """Signs to draw with; every one is a single cell wide unless it is a word.

    Parameters:
        encoding: of the output; text that it can't hold is shown escaped.
    """

    encoding: str
    rule: str
    bar: str
    light_rule: str
    dots: str
    folded: str
    failed: str
    passed: str
    unknown: str
    preempted: str
    timeout: str
    waits: str
    corner_top: str
    corner_bottom: str
    arrow_right: str
    arrow_left: str
    arrow_down: str
    ellipsis: str
    dash: str

    def clean(self, text: str) -> str:
        """Text of the tested program, made safe to print: no control characters, encodable."""
        text = _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text.replace("\t", "    "))
        return text.encode(self.encoding, "backslashreplace").decode(self.encoding)


def _unicode(encoding: str) -> Glyphs:
    return Glyphs(
        encoding=encoding,
        rule="━",
        bar="│",
        light_rule="─",
        dots="┄",
        folded="⋮",
        failed="✗",
        passed="✓",
        unknown="?",
        preempted="✂",
        timeout="⏱",
        waits="…",
        corner_top="╭",
        corner_bottom="╰",
        arrow_right="▶",
        arrow_left="◀",
        arrow_down="▼",
        ellipsis="…",
        dash="·",
    )


def _ascii(encoding: str) -> Glyphs:
    return Glyphs(
        encoding=encoding,
        rule="=",
        bar="|",
        light_rule="-",
        dots="-",
        folded=":",
        failed="X",
        passed="+",
        unknown="?",
        preempted="*",
        timeout="*",
        waits="...",
        corner_top=".",
        corner_bottom="`",
        arrow_right=">",
        arrow_left="<",
        arrow_down="v",
        ellipsis="...",
        dash="-",
    )


def glyphs_for(encoding: str | None) -> Glyphs:
    """Signs that an output of this encoding can show.

    Parameters:
        encoding: a codec name such as ``utf-8``; ``None`` is taken as ASCII.
    """
    name = encoding or "ascii"
    try:
        candidate = _unicode(name)
        for sign in (candidate.rule, candidate.preempted, candidate.corner_top):
            sign.encode(name)
    except UnicodeEncodeError:
        return _ascii(name)
    except LookupError:
        return _ascii("ascii")
    return candidate
