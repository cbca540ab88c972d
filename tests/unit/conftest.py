"""Fixtures of several test files."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bohrbug.runtime.channels.installation import install, restore
from bohrbug.runtime.channels.streams import local
from bohrbug.runtime.threads.rewrite import set_sink
from tests.unit.rewriting import REWRITER


@pytest.fixture
def restored_code() -> Iterator[None]:
    """What a test lets rewrite is as it was afterwards."""
    yield
    set_sink(None)
    REWRITER.restore()


@pytest.fixture
def channels_in_place() -> Iterator[None]:
    """As at the start of a command: before the program takes functions by name."""
    install()
    yield
    restore()
    assert local.stream is None
