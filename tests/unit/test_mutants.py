"""The list of mutants fits the source.

No mutant survives this, so tools/mutants leaves it out.
"""

from __future__ import annotations

import importlib.util
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent.parent


def tool(root: Path) -> ModuleType:
    """tools/mutants of a checkout, as a module."""
    path = str(root / "tools" / "mutants")
    spec = importlib.util.spec_from_loader("mutants", SourceFileLoader("mutants", path))
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    # A dataclass looks its module up.
    sys.modules["mutants"] = module
    dont, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        assert spec.loader is not None
        spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = dont
        del sys.modules["mutants"]
    return module


MUTANTS = tool(ROOT).mutants()


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_each_text_stands_once_in_the_source(mutant: Any) -> None:
    assert mutant.problem() == ""
    assert mutant.rule.endswith(".")


def test_each_has_a_name_of_its_own() -> None:
    names = [mutant.name for mutant in MUTANTS]
    assert len(set(names)) == len(names)
