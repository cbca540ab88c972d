"""Where the modules of a process lie in memory, as the kernel tells."""

from __future__ import annotations

import re
from functools import cache

from bohrbug.runtime.posix.elf import has_fixed_addresses
from bohrbug.runtime.posix.symbols import Mapping, Symbols

_LINE = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) \S+ ([0-9a-f]+) \S+ \d+ *(.*)$")


def mapping_of(maps: str, symbols: Symbols) -> Mapping:
    """What lies where in a process.

    Parameters:
        maps: the text of its ``/proc/PID/maps``.
        symbols: the modules seen so far.
    """
    ranges: dict[str, tuple[int, int, int]] = {}
    last = ""
    for line in maps.splitlines():
        match = _LINE.match(line)
        if match is None:
            # The text may be cut.
            continue
        start, end, offset = (int(word, 16) for word in match.groups()[:3])
        path = match[4]
        if path.startswith("/"):
            base, first, _ = ranges.get(path, (start - offset, start, end))
            ranges[path] = (base, first, end)
            last = path
        elif not path and last and ranges[last][2] == start:
            # Variables without a value in the file.
            base, first, _ = ranges[last]
            ranges[last] = (base, first, end)
        else:
            last = ""
    return Mapping(
        symbols,
        [
            (0 if _is_fixed(path) else base, first, end, path)
            for path, (base, first, end) in ranges.items()
        ],
    )


@cache
def _is_fixed(path: str) -> bool:
    return has_fixed_addresses(path)
