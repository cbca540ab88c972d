"""However somebody looks at a container that changes, it is seen."""

from __future__ import annotations

import os
from zlib import crc32

import pytest

import bohrbug
from bohrbug import VerdictKind

from .looks import CONTAINERS, LOOKS, between, seen
from .together import together

PARTS = 1 if os.environ.get("BOHRBUG_TEST_ALL_LOOKS") else 6
"""One in so many looks at each container is tried, each time the same."""

NOT_SEEN = {("list in a list", "dict |= it"), ("list in a tuple", "dict |= it")}
"""What docs/explanation/limits.md says."""


def _may_come_between(container: str, look: str, only_there: str) -> VerdictKind:
    def test() -> None:
        it = CONTAINERS[container].make()
        looks: list[str] = []

        def change() -> None:
            CONTAINERS[container].first(it)
            CONTAINERS[container].second(it)

        together(change, lambda: looks.append(seen(LOOKS[look], it)))
        assert looks != [only_there]

    result = bohrbug.explore(test, strategy="dpor", executions=100, minimise=False, causes=0)
    return result.verdict.kind


@pytest.mark.parametrize("name", CONTAINERS)
def test_whatever_looks_at_a_container_is_seen(name: str) -> None:
    shown = {look: between(CONTAINERS[name], LOOKS[look]) for look in LOOKS}
    telling = [look for look, text in shown.items() if text and (name, look) not in NOT_SEEN]
    missed = [
        look
        for look in telling[crc32(name.encode()) % min(PARTS, len(telling)) :: PARTS]
        if _may_come_between(name, look, str(shown[look])) is not VerdictKind.FAILED
    ]
    assert not missed
