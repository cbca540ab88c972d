"""Which distributions are installed, told from the names of their folders.

To read the metadata of each takes a millisecond, and there may be hundreds.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

_SUFFIXES = (".dist-info", ".egg-info", ".egg-link", ".egg")


def distributions_in(folders: Iterable[str]) -> list[str]:
    """A word for each distribution, another one if it is another version.

    A distribution that was installed from a folder, an archive or a repository may have changed
    under the same version: the list of its files, with their digests, says whether it has.

    Parameters:
        folders: where they may be; files, which hold modules themselves, count with their contents.
    """
    found: set[str] = set()
    for folder in folders:
        if os.path.isfile(folder):
            found.add(f"{Path(folder).name} {_digest_of(Path(folder))}")
        else:
            found.update(_found_in(Path(folder or ".")))
    return sorted(found)


def _found_in(folder: Path) -> Iterator[str]:
    try:
        names = [name for name in os.listdir(folder) if name.endswith(_SUFFIXES)]
    except OSError:
        return
    for name in names:
        path = folder / name
        is_direct = name.endswith(".dist-info") and (path / "direct_url.json").exists()
        record = path / "RECORD"
        yield f"{name} {_digest_of(record)}" if is_direct else name


def _digest_of(file: Path) -> str:
    """The digest of what is in a file; "" if it can't be read."""
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError:
        return ""
